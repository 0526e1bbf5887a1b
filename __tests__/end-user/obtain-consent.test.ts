import { type Client, type Consent, type ConsentAnswer, defaultLifetimes, memoryStorage } from "../../lib";
import { obtainConsent } from "../../lib/end-user/obtain-consent";
import type { ConsentDecision, EndUser } from "../../lib/end-user/port";
import type { AuthorizationRequest } from "../../lib/protocol/authorization-request";
import { apiEndKey, approvalEndKey, clientEndKey, subjectEndKey } from "../../lib/protocol/end-mark";
import {
  askedRequest,
  decisionRecord,
  endedMeanwhile,
  endUserRecord,
  hostPort,
  now,
  refusalOf,
} from "../host/asked";
import { confidentialRecord, consentRecord, issuerRecord, publicRecord } from "../records/records";

const both = ["orders:read", "orders:write"];
const forBoth = { requestedScopes: both, grantableScopes: both };
const trusted = confidentialRecord({ trusted: true });
/** Any program on the device could take its place, so its redirect proves nothing. */
const app = publicRecord("native", { clientId: "web", redirectUris: ["com.example.app:/callback"] });
const digest = "d".repeat(43);
const unregistered: Client = { ...app, selfDescription: { by: "document", digest } };
const forgetful = issuerRecord({ lifetimes: { ...defaultLifetimes, consentSeconds: 0 } });
const noGrant = "The end user did not grant access.";
const ourPage = { name: "page", shownTo: "alice" };
const refusedByPerson = { error: "access_denied", description: noGrant, code: "end-user-denied" };

interface Asked {
  readonly request?: Partial<AuthorizationRequest>;
  readonly endUser?: Partial<EndUser>;
  /** What `consent.decide` answers. Left out: it must not be asked. */
  readonly host?: unknown;
  readonly decision?: Partial<ConsentDecision>;
  readonly before?: Partial<Consent>;
  /** The keys of end marks that are in force. */
  readonly ended?: readonly string[];
}

async function obtained(asked: Asked) {
  const { host, decision, before, ended = [] } = asked;
  const storage = memoryStorage({ clients: [] });
  if (before) await storage.consents.save(consentRecord(before), now);
  for (const key of ended) await storage.endMarks.save({ key, mark: "M", expiresAt: 9_000 }, now);
  const port = hostPort(host === undefined ? {} : { decideConsent: async () => host as ConsentAnswer });
  return obtainConsent(
    { storage },
    {
      request: askedRequest(asked.request),
      endUser: endUserRecord(asked.endUser),
      port,
      back: decision && { page: ourPage, decision: decisionRecord(decision), mustAsk: true },
      now,
    },
  );
}

describe("when nobody is asked (RFC 6749 §10.2, 8252 §8.6)", () => {
  const ask = { kind: "ask" };

  it.each<[string, Asked]>([
    ["a remembered consent covers the scopes", { before: {} }],
    ["the client is trusted", { request: { client: trusted } }],
  ])("%s", async (_, asked) => {
    expect(await obtained(asked)).toMatchObject({
      kind: "granted",
      scopes: ["orders:read"],
      remember: undefined,
    });
  });

  it.each<[string, Asked]>([
    ["a remembered consent lacks a scope", { before: {}, request: forBoth }],
    ["the redirect does not prove the client", { before: {}, request: { client: app } }],
    ["the client demands a new answer", { before: {}, request: { prompt: ["consent"] } }],
    ["a trusted client demands it", { request: { client: trusted, prompt: ["consent"] } }],
    ["the API remembers no consents", { before: {}, request: { issuer: forgetful } }],
    ["it was remembered for another context", { before: {}, endUser: { context: { key: "acme" } } }],
  ])("and when the host is: %s", async (_, asked) => {
    expect(await obtained({ ...asked, host: ask })).toMatchObject({ kind: "ask" });
  });
});

describe("a remembered consent is looked up only where it counts, or where the page tells of visits", () => {
  const ask = { kind: "ask" };
  const withDigest = { clientDigest: digest };

  it.each<[string, Asked, looksUp: boolean]>([
    ["of a registered client", {}, true],
    ["with prompt=consent", { request: { prompt: ["consent"] } }, false],
    ["with prompt=select_account", { request: { prompt: ["select_account"] } }, true],
    ["of an app that anybody could be", { request: { client: app } }, false],
    ["of a client that nobody registered", { request: { client: unregistered } }, true],
    ["of a trusted client", { request: { client: trusted } }, false],
  ])("a request %s", async (_, asked, looksUp) => {
    const { basis } = await obtained({ host: ask, ...asked });
    expect(basis.isFirstVisit).toBe(looksUp);
  });

  it("a client that nobody registered is asked about again, with what was allowed before", async () => {
    const request = { client: unregistered };
    const { kind, basis } = await obtained({ request, before: withDigest, host: ask });
    expect([kind, basis.isFirstVisit, basis.consent]).toEqual(["ask", false, consentRecord(withDigest)]);
  });

  it("at an API that remembers none there is nothing to tell", async () => {
    const request = { client: unregistered, issuer: forgetful };
    const { basis } = await obtained({ request, before: withDigest, host: ask });
    expect([basis.isFirstVisit, basis.consent]).toEqual([false, undefined]);
  });
});

describe("a person's answer on the page (RFC 6749 §4.1.1)", () => {
  const expiresAt = now + defaultLifetimes.consentSeconds;
  const consent = {
    subject: "alice",
    clientId: "web",
    apiId: "orders",
    contextKey: "",
    scopes: ["orders:read"],
    grantedAt: now,
    expiresAt,
  };
  const afterEnd = { endMarks: ["M"] };
  const ended = [clientEndKey("web")];

  it.each<[string, Asked, object | undefined]>([
    ["with what there is, and no member without a value", { decision: {} }, consent],
    ["where there are end marks", { decision: afterEnd, ended }, consent],
    [
      "with what the client says of itself",
      { decision: {}, request: { client: unregistered } },
      { ...consent, clientDigest: digest },
    ],
    [
      "for the context of the session",
      { decision: {}, endUser: { context: { key: "acme" } } },
      { ...consent, contextKey: "acme" },
    ],
    [
      "for the context of the page, where it has one",
      { decision: { context: { key: "page" } }, endUser: { context: { key: "acme" } } },
      { ...consent, contextKey: "page" },
    ],
    [
      "with what was allowed before and not asked about now",
      { decision: {}, before: { scopes: ["orders:write"] } },
      { ...consent, scopes: ["orders:write", "orders:read"], expiresAt: 9_000 },
    ],
    [
      "also with what was allowed before, where a new answer was demanded",
      { decision: {}, before: { scopes: ["orders:write"] }, request: { prompt: ["consent"] } },
      { ...consent, scopes: ["orders:write", "orders:read"], expiresAt: 9_000 },
    ],
    ["not at an API that remembers none", { decision: {}, request: { issuer: forgetful } }, undefined],
  ])("is remembered %s", async (_, asked, remember) => {
    const result = await obtained(asked);
    expect(result).toMatchObject({ kind: "granted", scopes: ["orders:read"] });
    // strict: a member that is undefined is there
    expect(result.kind === "granted" && result.remember).toStrictEqual(remember);
  });

  it("of somebody else does not count: the host is asked", async () => {
    const result = await obtained({ decision: { isBy: () => false }, host: { kind: "ask" } });
    expect(result.kind).toBe("ask");
  });

  it("that allows some of the scopes grants those", async () => {
    const result = await obtained({ decision: { answer: () => ["orders:write"] }, request: forBoth });
    expect(result).toMatchObject({ kind: "granted", scopes: ["orders:write"] });
  });
});

describe("a page that was shown before an end (RFC 7009 §2.1)", () => {
  it.each<[string, string]>([
    ["of the person's authorizations", subjectEndKey("alice")],
    ["of the client", clientEndKey("web")],
    ["of the API", apiEndKey("https://api.example/orders")],
    ["of what the one allowed the other", approvalEndKey(consentRecord())],
  ])("takes no yes after the end %s, and is no consent", async (_, key) => {
    expect(await refusalOf(obtained({ decision: {}, ended: [key] }))).toEqual(endedMeanwhile);
  });

  it("takes a no", async () => {
    const decision = { answer: () => "denied" as const };
    expect(await refusalOf(obtained({ decision, ended: [subjectEndKey("alice")] }))).toEqual(refusedByPerson);
  });
});

describe("what is refused, and what the host is told (RFC 6749 §4.1.2.1)", () => {
  const more = new TypeError("consent can only grant scopes that were requested.");
  const context = new TypeError(
    "consent.decide answered granted with a context for a device or for a client that nobody registered, whose people must be asked. Answer interaction where device or client.selfDescribed is set.",
  );
  const silent: Partial<AuthorizationRequest> = { prompt: ["none"] };
  const page = { kind: "interaction", url: "/ask" };

  it.each<[string, Asked, object]>([
    ["the person says no", { decision: { answer: () => "denied" } }, refusedByPerson],
    ["the person allows nothing", { decision: { answer: () => [] } }, refusedByPerson],
    ["a page allows more than was asked", { decision: { answer: () => both } }, more],
    ["a page allows no list", { decision: { answer: () => undefined as never } }, more],
    ["the host says no", { host: { kind: "denied" } }, refusedByPerson],
    ["the host allows nothing", { host: { kind: "granted", scopes: [] } }, refusedByPerson],
    ["the host allows more than was asked", { host: { kind: "granted", scopes: both } }, more],
    [
      "the host sets a context for a client that nobody registered",
      {
        host: { kind: "granted", scopes: ["orders:read"], context: { key: "acme" } },
        request: { client: unregistered },
      },
      context,
    ],
    [
      "a page may not be shown, and the built-in one is needed",
      { host: { kind: "ask" }, request: silent },
      {
        error: "consent_required",
        description: "The end user has to be asked for consent.",
        code: "consent-not-remembered",
      },
    ],
    [
      "a page may not be shown, and anybody on the device could have asked",
      { host: { kind: "ask" }, request: { ...silent, client: app } },
      {
        error: "consent_required",
        description: "The end user has to be asked for consent.",
        code: "consent-always-asked",
      },
    ],
    [
      "a page may not be shown, and the host's is needed",
      { host: page, request: silent },
      {
        error: "interaction_required",
        description: "The end user has to be shown a page.",
        code: "consent-page-needed",
      },
    ],
  ])("%s", async (_, asked, refusal) => {
    expect(await refusalOf(obtained(asked))).toEqual(refusal);
  });
});

describe("what the host answers (RFC 6749 §10.2, 9700 §4.11.2)", () => {
  const granted = { kind: "granted", scopes: ["orders:read"] };
  const acme = { context: { key: "acme" } };
  const page = { kind: "interaction", url: "/ask" };

  it.each<[string, Asked, object]>([
    ["a grant is not remembered", { host: granted }, { ...granted, context: undefined, remember: undefined }],
    ["a grant has the context of the session", { host: granted, endUser: acme }, { ...granted, ...acme }],
    [
      "the context of a grant replaces it",
      { host: { ...granted, context: { key: "other" } }, endUser: acme },
      { ...granted, context: { key: "other" } },
    ],
    [
      "no scope of none",
      { host: { ...granted, scopes: [] }, request: { requestedScopes: [], grantableScopes: [] } },
      {
        kind: "granted",
        scopes: [],
      },
    ],
    ["an own page", { host: page }, page],
    [
      "for a client that nobody registered the person is asked",
      { host: granted, request: { client: unregistered } },
      { kind: "ask" },
    ],
    [
      "for such a client a host may show its own page",
      { host: page, request: { client: unregistered } },
      page,
    ],
  ])("%s", async (_, asked, result) => {
    expect(await obtained(asked)).toMatchObject(result);
  });
});

describe("the order of what is read (RFC 7009 §2.1)", () => {
  it("reads the end marks before the host answers, so that an end in between is noticed", async () => {
    const storage = memoryStorage({ clients: [] });
    const key = clientEndKey("web");
    const port = hostPort({
      async decideConsent() {
        await storage.endMarks.save({ key, mark: "M", expiresAt: 9_000 }, now);
        return { kind: "granted", scopes: ["orders:read"] };
      },
    });
    const question = { request: askedRequest(), endUser: endUserRecord(), port, back: undefined, now };
    const { basis } = await obtainConsent({ storage }, question);
    expect(basis.endMarks).toEqual([]);
  });

  it("takes a scope that the host names more than once, once", async () => {
    const scopes = ["orders:read", "orders:read"];
    const byDecide = await obtained({ host: { kind: "granted", scopes } });
    expect(byDecide).toMatchObject({ scopes: ["orders:read"] });
    const byPage = await obtained({ decision: { answer: () => scopes } });
    expect(byPage).toMatchObject({ scopes: ["orders:read"], remember: { scopes: ["orders:read"] } });
  });

  it("copies the scopes of the host, which may go on changing its own list", async () => {
    const scopes = ["orders:read"];
    const result = await obtained({ host: { kind: "granted", scopes } });
    scopes.push("orders:write");
    expect(result).toMatchObject({ scopes: ["orders:read"] });
  });
});
