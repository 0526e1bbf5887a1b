import type { Client } from "../../lib";
import { authenticateClient, type ClientAuthenticationPorts } from "../../lib/clients/authenticate-client";
import type { NewEvent } from "../../lib/events/port";
import { parametersFromObject } from "../../lib/protocol/parameters";
import { formatToken } from "../../lib/protocol/token-value";
import { refusalOf } from "../host/asked";
import { loggedStorage } from "../host/call-log";
import { assertionOf, keyed, keyedByUri, presenting } from "../requests/client-assertions";
import { basic } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { foundKeys } from "../records/found-documents";
import {
  authorizationRecord,
  confidentialRecord,
  issuerRecord,
  publicRecord,
  storeGrants,
} from "../records/records";

const clock = stopClockForEachTest();
const issuer = issuerRecord();

interface Sent {
  readonly fields?: Record<string, string>;
  readonly header?: string;
}

/** Asks as this client, whose secret is "right". */
function ask(
  { fields = {}, header }: Sent,
  { client, ports = {} }: { client?: Client; ports?: Partial<ClientAuthenticationPorts> } = {},
) {
  const events: NewEvent[] = [];
  const registered = client && { client, endMark: "M", apiEnds: new Map(), asOf: 1_000 };
  const work = authenticateClient(
    {
      clients: { findRegistered: async () => registered, findNewer: async () => undefined },
      verifySecret: async (_, secret) => secret === "right",
      fetchKeys: () => Promise.reject(new Error("keys were fetched")),
      storage: loggedStorage().storage,
      emit: (event) => void events.push(event),
      clock: () => clock.now(),
      ...ports,
    },
    {
      issuer,
      parameters: parametersFromObject(fields),
      grantParameters: ["code"],
      headers: { authorization: header },
    },
  );
  return { work, events, registered };
}

describe("a request that does not say in one way who asks (RFC 6749 §2.3, §3.2.1)", () => {
  const failed = { error: "invalid_client", description: "Client authentication failed." };
  const assertion = presenting("a.b.c");

  it.each<[string, Sent, object]>([
    [
      "no client id",
      {},
      {
        error: "invalid_request",
        description: "client_id is missing.",
        code: "missing-client-id",
      },
    ],
    [
      "a secret in the form and in the header",
      { fields: { client_secret: "right" }, header: basic("web", "right") },
      {
        error: "invalid_request",
        description: "Use one client authentication method.",
        code: "several-authentication-methods",
      },
    ],
    [
      "two client ids",
      { fields: { client_id: "other" }, header: basic("web", "right") },
      {
        error: "invalid_request",
        description: "client_id differs from the Authorization header.",
        code: "client-ids-differ",
      },
    ],
    [
      "a header that is not Basic",
      { header: "Bearer abc" },
      { ...failed, code: "unreadable-authorization-header" },
    ],
    [
      "another kind of assertion",
      { fields: { ...assertion, client_assertion_type: "saml" } },
      {
        ...failed,
        code: "unsupported-assertion-type",
      },
    ],
    ["an assertion that is no JWT", { fields: assertion }, { ...failed, code: "assertion-not-a-jwt" }],
  ])("is refused before the client is looked up: %s", async (_, sent, refusal) => {
    const { work, events } = ask(sent, {
      ports: {
        clients: {
          findRegistered: () => Promise.reject(new Error("looked up")),
          findNewer: () => Promise.reject(new Error("looked up again")),
        },
      },
    });
    expect(await refusalOf(work)).toEqual(refusal);
    expect(events).toEqual([]);
  });

  it("is refused when it names a client and the assertion another one", async () => {
    const fields = { ...presenting(assertionOf()), client_id: "other" };
    expect(await refusalOf(ask({ fields }).work)).toEqual({
      ...failed,
      code: "assertion-of-another-client",
    });
  });
});

describe("a client that proves itself (RFC 6749 §2.3.1, 7523 §2.2)", () => {
  it.each<[string, Client, () => Sent]>([
    ["by nothing, as it is public", publicRecord("native"), () => ({ fields: { client_id: "phone" } })],
    [
      "by a secret in the form",
      confidentialRecord(),
      () => ({ fields: { client_id: "web", client_secret: "right" } }),
    ],
    ["by a secret in the header", confidentialRecord(), () => ({ header: basic("web", "right") })],
    ["by an assertion", keyed, () => ({ fields: presenting(assertionOf()) })],
  ])("is the registered one: %s", async (_, client, sent) => {
    const { work, events, registered } = ask(sent(), { client });
    expect(await work).toBe(registered);
    expect(events).toEqual([]);
  });
});

describe("a client that does not prove itself (RFC 6749 §5.2, 7523 §2.2)", () => {
  const phone = publicRecord("native");
  const web = confidentialRecord();

  it.each<[string, Client | undefined, () => Record<string, string>]>([
    ["client-unknown", undefined, () => ({ client_id: "web" })],
    ["secret-of-public-client", phone, () => ({ client_id: "phone", client_secret: "right" })],
    ["assertion-of-public-client", phone, () => presenting(assertionOf())],
    ["secret-missing", web, () => ({ client_id: "web" })],
    ["secret-wrong", web, () => ({ client_id: "web", client_secret: "wrong" })],
    ["secret-with-control-character", web, () => ({ client_id: "web", client_secret: "right\n" })],
    ["assertion-in-place-of-secret", web, () => presenting(assertionOf())],
    ["assertion-missing", keyed, () => ({ client_id: "keyed" })],
    ["secret-in-place-of-assertion", keyed, () => ({ client_id: "keyed", client_secret: "right" })],
  ])("is refused, and the host is told: %s", async (code, client, fields) => {
    const { work, events } = ask({ fields: fields() }, client ? { client } : {});
    expect(await refusalOf(work)).toEqual({
      error: "invalid_client",
      description: "Client authentication failed.",
      code,
    });
    expect(events).toEqual([
      {
        kind: "client-authentication-failed",
        issuer: issuer.identifier,
        ...(client && { clientId: client.clientId }),
        code,
        reason: expect.any(String) as string,
      },
    ]);
  });
});

describe("whether the document of a client may be fetched (client id metadata documents §6)", () => {
  const authorizationId = "A".repeat(22);

  /** What a request with a code of `keyed` is answered, and what is sent beside the code. */
  async function mayFetch(fields: Record<string, string>): Promise<boolean | undefined> {
    const { storage } = loggedStorage();
    const approved = authorizationRecord({ clientId: "keyed", expiresAt: clock.now() + 60 });
    await storage.authorizations.create(approved, clock.now());
    let answer: boolean | undefined;
    const clients: ClientAuthenticationPorts["clients"] = {
      async findRegistered(_, at) {
        answer = await at.mayFetch();
        return undefined;
      },
      findNewer: async () => undefined,
    };
    const code = formatToken(authorizationId, "r".repeat(43));
    await storeGrants(storage, { text: code, now: clock.now() });
    await refusalOf(ask({ fields: { code, ...fields } }, { ports: { clients, storage } }).work);
    return answer;
  }

  it.each<[string, string, boolean]>([
    ["it names this issuer", issuer.identifier, true],
    // the document may say that the client sends this
    ["it names the token endpoint", `${issuer.identifier}/token`, true],
    ["it names another server", "https://other.example", false],
  ])("depends on the assertion: %s", async (_, aud, expected) => {
    expect(await mayFetch(presenting(assertionOf({ claims: { aud } })))).toBe(expected);
  });

  it("is no for an assertion that has expired", async () => {
    const claims = { exp: clock.now() - 60 };
    expect(await mayFetch(presenting(assertionOf({ claims })))).toBe(false);
  });

  it("depends on whose code is sent", async () => {
    expect(await mayFetch({ client_id: "keyed" })).toBe(true);
    expect(await mayFetch({ client_id: "other" })).toBe(false);
  });
});

describe("whether the keys of a client may be fetched (RFC 7523 §3)", () => {
  it.each<[string, Client, boolean]>([
    ["a client of the host, whatever it sends", keyedByUri, true],
    [
      "a stranger that sends no code of its own",
      { ...keyedByUri, selfDescription: { by: "document", digest: "d" } },
      false,
    ],
  ])("depends on who it is: %s", async (__, client, expected) => {
    let answer: boolean | undefined;
    const fetchKeys: ClientAuthenticationPorts["fetchKeys"] = async (___, question) => {
      answer = await question.mayFetch();
      return foundKeys(keyed.jwks);
    };
    const sent = { fields: presenting(assertionOf()) };
    const { work, registered } = ask(sent, { client, ports: { fetchKeys } });
    expect(await work).toBe(registered);
    expect(answer).toBe(expected);
  });
});
