import { presentsOwnGrant } from "../../lib/clients/presented-grant";
import { parametersFromObject } from "../../lib/protocol/parameters";
import { formatToken } from "../../lib/protocol/token-value";
import { now } from "../host/asked";
import { loggedStorage } from "../host/call-log";
import { authorizationRecord, issuerRecord, storeGrants } from "../records/records";

const authorizationId = "A".repeat(22);
const token = formatToken(authorizationId, "r".repeat(43));
const none = formatToken("B".repeat(22), "r".repeat(43));
const madeUp = formatToken(authorizationId, "x".repeat(43));

const both = ["code", "refresh_token"];

interface Given {
  readonly fields?: Record<string, string>;
  readonly grantParameters?: readonly string[];
  readonly clientId?: string;
  readonly authMethodId?: string;
}

/** What is said of a request, where Alice has approved `web`, and which authorizations were looked up. */
async function ask({ fields = {}, grantParameters = ["code"], clientId = "web", authMethodId }: Given) {
  const { storage, calls } = loggedStorage();
  await storage.authorizations.create(authorizationRecord(), now);
  await storeGrants(storage, { text: token, now });
  calls.length = 0;
  const answer = await presentsOwnGrant(storage, {
    issuer: issuerRecord({}, authMethodId),
    parameters: parametersFromObject(fields),
    grantParameters,
    clientId,
    now,
  });
  return { answer, calls };
}

describe("a request that shows a code or a refresh token of its client (RFC 6749 §4.1.3, §6)", () => {
  it.each<[string, Given, boolean]>([
    ["a code of the client", { fields: { code: token } }, true],
    ["a code of another client", { fields: { code: token }, clientId: "other" }, false],
    ["a code of another issuer", { fields: { code: token }, authMethodId: "otp" }, false],
    ["a code that nobody was given", { fields: { code: none } }, false],
    ["a code that is made up around the id of the authorization", { fields: { code: madeUp } }, false],
    [
      "a refresh token that is made up around that id",
      { fields: { refresh_token: madeUp }, grantParameters: both },
      false,
    ],
    ["a refresh token to be revoked", { fields: { token }, grantParameters: ["token"] }, true],
    ["a refresh token", { fields: { refresh_token: token }, grantParameters: both }, true],
    [
      "what is no code beside a refresh token",
      { fields: { code: "undefined", refresh_token: token }, grantParameters: both },
      true,
    ],
  ])("has been approved before, or not: %s", async (_, given, expected) => {
    const { answer, calls } = await ask(given);
    expect(answer).toBe(expected);
    expect(calls).toHaveLength(2);
  });

  it.each<[string, Record<string, string>, boolean]>([
    ["the first", { code: token, refresh_token: none }, true],
    ["the second", { code: none, refresh_token: token }, true],
    ["neither", { code: none, refresh_token: none }, false],
  ])("shows two, of which it was given %s", async (_, fields, expected) => {
    const { answer, calls } = await ask({ fields, grantParameters: both });
    expect(answer).toBe(expected);
    expect(calls).toHaveLength(4);
  });

  it.each<[string, Given]>([
    ["nothing", {}],
    ["what is no code", { fields: { code: "undefined" } }],
    ["a code where none may be", { fields: { code: token }, grantParameters: [] }],
    ["a code in another parameter", { fields: { token } }],
  ])("is not looked up for %s", async (_, given) => {
    const { answer, calls } = await ask(given);
    expect(answer).toBe(false);
    expect(calls).toEqual([]);
  });
});
