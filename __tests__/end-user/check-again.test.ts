import type { Client } from "../../lib";
import type { ClientPlace, RegisteredClient } from "../../lib/clients/client-lookup";
import { authenticateAgain } from "../../lib/end-user/authenticate-end-user";
import type { EndUser } from "../../lib/end-user/port";
import { type ApprovalBasis, findBasis, isClientReplaced } from "../../lib/end-user/approval-basis";
import { apiEndKey, clientEndKey, subjectEndKey } from "../../lib/protocol/end-mark";
import { askedRequest, endedMeanwhile, endUserRecord, hostPort, now, refusalOf } from "../host/asked";
import { loggedStorage } from "../host/call-log";
import { confidentialRecord, issuerRecord } from "../records/records";

/** What is in force after an end with this key; without one nothing was ended. */
async function basisAfter(endKey?: string): Promise<ApprovalBasis> {
  const { storage } = loggedStorage();
  if (endKey !== undefined) await storage.endMarks.save({ key: endKey, mark: "M", expiresAt: 9_000 }, now);
  const key = { subject: "alice", clientId: "web", apiId: "orders", contextKey: "" };
  return findBasis(
    { storage },
    { key, audience: issuerRecord().api.audience, withConsent: false, clientDigest: undefined, now },
  );
}

describe("a client whose id may have been given to another one (RFC 6749 §2.2)", () => {
  const client = confidentialRecord();
  const issuer = issuerRecord();

  /** How often the client was looked up again, where that was, and what came of it. */
  async function checked(endMark: string | undefined, found: Client | undefined) {
    const places: [string, ClientPlace][] = [];
    const clients = {
      async findCurrent(clientId: string, place: ClientPlace) {
        places.push([clientId, place]);
        return found;
      },
    };
    const registered: Pick<RegisteredClient, "client" | "endMark"> = { client, endMark };
    const basis = await basisAfter(clientEndKey("web"));
    return { work: isClientReplaced({ clients }, { registered, issuer, basis }), places };
  }

  it("is not looked up again where it was read under the mark of now", async () => {
    const { work, places } = await checked("M", undefined);
    expect(await work).toBe(false);
    expect(places).toEqual([]);
  });

  it("is looked up at its issuer otherwise, and may be fetched", async () => {
    const { work, places } = await checked(undefined, client);
    expect(await work).toBe(false);
    expect(places).toEqual([["web", { issuer, mayFetch: expect.any(Function) }]]);
    expect(places[0]?.[1].mayFetch()).toBe(true);
  });

  it.each<[string, Partial<Client> | undefined, boolean]>([
    ["the same record", {}, false],
    ["other secrets, which an approval does not use", { secretDigests: ["s".repeat(43)] }, false],
    ["other keys", { jwks: { keys: [] } }, false],
    ["another name", { name: "Another Shop" }, true],
    ["another redirect URI", { redirectUris: ["https://other.example/"] }, true],
    ["none", undefined, true],
  ])("is that of the request, or was replaced: %s", async (_, changes, isReplaced) => {
    const found = changes && ({ ...client, ...changes } as Client);
    const { work } = await checked("an older mark", found);
    expect(await work).toBe(isReplaced);
  });
});

describe("a person everything of whom was ended before (RFC 7009 §2.1)", () => {
  const ended = subjectEndKey("alice");
  const acme = { key: "acme" };

  interface Given {
    /** Key of the end mark that is in force. */
    readonly endKey?: string;
    readonly context?: EndUser["context"];
    /** What the person chose on the page, in place of the context of the session. */
    readonly chosen?: EndUser["context"];
    /** What the host answers now. Left out: it must not be asked. */
    readonly answer?: object;
  }

  async function confirmed({ endKey, context, chosen, answer }: Given) {
    const endUser = endUserRecord({ context });
    const basis = await basisAfter(endKey);
    const port = hostPort(answer ? { authenticate: async () => answer as never } : {});
    const consent = {
      kind: "granted",
      scopes: ["orders:read"],
      context: chosen ?? context,
      remember: undefined,
      basis,
    } as const;
    const question = {
      request: askedRequest(),
      port,
      back: undefined,
      now,
    };
    const ports = { clients: { isTaken: async () => false }, clock: () => now };
    const result = await authenticateAgain(ports, { question, approver: { endUser, consent } });
    return { result, endUser, consent };
  }

  it.each([
    ["nothing", undefined],
    ["what the client had", clientEndKey("web")],
    ["what the API had issued", apiEndKey(issuerRecord().api.audience)],
  ])("is asked for no second time where only %s was ended", async (_, endKey) => {
    const { result, endUser, consent } = await confirmed(endKey === undefined ? {} : { endKey });
    expect(result).toStrictEqual({ kind: "same-person", endUser, consent });
  });

  it("is what the host says after the mark was read", async () => {
    const answer = { kind: "authenticated", subject: "alice", displayName: "Alice B.", authTime: 950 };
    const { result, consent } = await confirmed({ endKey: ended, answer });
    expect(result).toStrictEqual({
      kind: "same-person",
      endUser: { subject: "alice", displayName: "Alice B.", facts: { authTime: 950 }, context: undefined },
      consent,
    });
  });

  it("is sent to the page of the host when the session has ended too", async () => {
    const page = { kind: "interaction", url: "/sign-in" };
    expect((await confirmed({ endKey: ended, answer: page })).result).toEqual(page);
  });

  it.each<[string, object, Given]>([
    ["somebody else", { subject: "bob" }, {}],
    ["the person without the context", {}, { context: acme }],
    ["the person in another context", { context: { key: "other" } }, { context: acme }],
    ["the person in a context", { context: acme }, {}],
  ])("is refused when the host now says: %s", async (_, changes, given) => {
    const answer = { kind: "authenticated", subject: "alice", ...changes };
    expect(await refusalOf(confirmed({ ...given, endKey: ended, answer }))).toEqual(endedMeanwhile);
  });

  it("has the context of the session as the host says it again", async () => {
    const again = { key: "acme", data: { seats: 4 } };
    const answer = { kind: "authenticated", subject: "alice", context: again };
    const { result } = await confirmed({ endKey: ended, context: acme, answer });
    expect(result).toMatchObject({ endUser: { context: again }, consent: { context: again } });
  });

  it("keeps the context that was chosen on the consent page", async () => {
    const chosen = { key: "page" };
    const answer = { kind: "authenticated", subject: "alice", context: acme };
    const { result } = await confirmed({ endKey: ended, context: acme, chosen, answer });
    expect(result).toMatchObject({ endUser: { context: acme }, consent: { context: chosen } });
  });
});
