// What clients and the host hear of the endpoints that clients call, by the endpoints alone.
import { type Authorization, memoryStorage } from "../../lib";
import { type ClientEndpoint, refuseClient } from "../../lib/endpoints/client-endpoint";
import { introspectionEndpoint } from "../../lib/endpoints/introspection";
import { revocationEndpoint } from "../../lib/endpoints/revocation";
import { tokenEndpoint } from "../../lib/endpoints/token";
import type { NewEvent } from "../../lib/events/port";
import { subjectEndKey } from "../../lib/protocol/end-mark";
import { OAuthError } from "../../lib/protocol/oauth-error";
import { parametersFromObject } from "../../lib/protocol/parameters";
import {
  authorizationRecord,
  codeRecord,
  confidentialRecord,
  issuerRecord,
  refreshTokenRecord,
} from "../records/records";
import { ruleServer } from "../hosts/rule-server";

const now = 1_100;
const issuer = issuerRecord();
const client = confidentialRecord();
const text = `${"A".repeat(22)}.${"R".repeat(43)}`;

interface Asked {
  readonly fields: object;
  readonly storage?: ReturnType<typeof memoryStorage>;
}

/** What an endpoint answers the client "web", which has proved itself. */
function ask(endpoint: ClientEndpoint, { fields, storage = memoryStorage({ clients: [client] }) }: Asked) {
  const { ports } = ruleServer(storage, { client, issuer, now });
  const parameters = parametersFromObject(fields);
  const http = { method: "POST", url: "/", headers: {} };
  return endpoint.answer(ports, {
    issuer,
    client,
    endMark: undefined,
    apiEnds: new Map(),
    parameters,
    now,
    ...http,
  });
}

describe("the reason of a refusal, for the host's developer", () => {
  it("names the grants that there are (RFC 6749 §5.2)", async () => {
    await expect(ask(tokenEndpoint, { fields: { grant_type: "password" } })).rejects.toMatchObject({
      error: "unsupported_grant_type",
      code: "grant-type-unknown",
      reason: expect.stringContaining("authorization_code, refresh_token, client_credentials") as string,
    });
  });

  it("says that codes expire (RFC 7009 §2)", async () => {
    const storage = memoryStorage({ clients: [client] });
    await storage.authorizations.create(authorizationRecord(), now);
    await storage.authorizationCodes.create(codeRecord(text), now);
    await expect(ask(revocationEndpoint, { fields: { token: text }, storage })).rejects.toMatchObject({
      error: "unsupported_token_type",
      code: "code-not-revocable",
    });
  });
});

describe("the answer and the event of a refusal (RFC 6749 §5.2)", () => {
  const basic = { authorization: "Basic YTpi" };
  const challenge = { "WWW-Authenticate": `Basic realm="${issuer.identifier}"` };
  const invalidClient = new OAuthError("invalid_client", {
    description: "No.",
    code: "used-before",
    reason: "because",
  });
  const invalidGrant = new OAuthError("invalid_grant", {
    description: "No.",
    code: "used-before",
    reason: "because",
  });
  const later = new OAuthError("temporarily_unavailable", {
    description: "No.",
    code: "server-late",
    retryAfterSeconds: 9,
  });

  it.each([
    ["a client that sent Basic is challenged", invalidClient, basic, challenge],
    ["a client that sent its proof in the form is not", invalidClient, {}, {}],
    ["a client whose grant is refused is not", invalidGrant, basic, {}],
    ["a client that is to come later hears when", later, basic, { "Retry-After": "9" }],
  ])("%s", (_, thrown, headers, expected) => {
    const request = { issuer, headers };
    const answer = refuseClient({ emit: () => undefined }, { endpoint: tokenEndpoint, request, thrown });
    expect(answer.headers).toMatchObject(expected);
    const own = ["WWW-Authenticate", "Retry-After"].filter((name) => name in (answer.headers ?? {}));
    expect(own).toEqual(Object.keys(expected));
  });

  it.each([
    ["names no client before it is proven", {}],
    ["names the client once it is", { clientId: "web" }],
  ])("the event %s", (_, proven) => {
    const events: NewEvent[] = [];
    const request = { issuer, headers: {} };
    const refused = { endpoint: tokenEndpoint, request, thrown: invalidGrant, ...proven };
    refuseClient({ emit: (event) => void events.push(event) }, refused);
    const told = {
      issuer: issuer.identifier,
      error: "invalid_grant",
      code: "used-before",
      reason: "because",
    } as const;
    expect(events).toStrictEqual([{ kind: "token-refused", ...told, ...proven }]);
  });
});

describe("introspection of a refresh token (RFC 7662 §2.2)", () => {
  interface Stored {
    readonly expiresAt?: number;
    readonly authorization?: Authorization;
    readonly isEnded?: boolean;
  }

  async function bodyFor({ expiresAt = now + 1, authorization, isEnded = false }: Stored) {
    const storage = memoryStorage({ clients: [client] });
    await storage.authorizations.create(authorization ?? authorizationRecord(), now);
    const mark = { key: subjectEndKey("alice"), mark: "m".repeat(22), expiresAt: 9_000 };
    if (isEnded) await storage.endMarks.save(mark, now);
    // a storage that still has what has expired
    const token = refreshTokenRecord(text, { expiresAt });
    const refreshTokens = { ...storage.refreshTokens, find: async () => token };
    const asked = { fields: { token: text }, storage: { ...storage, refreshTokens } };
    return (await ask(introspectionEndpoint, asked)).body;
  }

  const active = {
    active: true,
    iss: issuer.identifier,
    client_id: "web",
    sub: "alice",
    exp: now + 1,
    scope: "orders:read",
  };

  it.each<[string, Stored, object]>([
    ["is active in its last second", {}, active],
    ["is inactive from its end on", { expiresAt: now }, { active: false }],
    ["is inactive after its end", { expiresAt: now - 1 }, { active: false }],
    [
      "is active while its authorization is not revoked, also with a later end mark of its person",
      { isEnded: true },
      active,
    ],
    [
      "is inactive when its authorization is revoked",
      { authorization: authorizationRecord({ revoked: true }) },
      { active: false },
    ],
  ])("%s", async (_, stored, expected) => {
    expect(await bodyFor(stored)).toEqual(expected);
  });
});
