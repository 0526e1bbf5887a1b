// What the authorization endpoint decides, by the endpoint alone.
import { type Authentication, type Client, type ConsentAnswer, memoryStorage } from "../../lib";
import { comeBack, firstVisit } from "../../lib/endpoints/authorization";
import type { BackFromPage } from "../../lib/end-user/port";
import type { NewEvent } from "../../lib/events/port";
import { subjectEndKey } from "../../lib/protocol/end-mark";
import { parametersFromObject } from "../../lib/protocol/parameters";
import { authorizationParametersOf } from "../browser/authorization-request";
import { issuerRecord, publicRecord } from "../records/records";

const now = 1_800_000_000;
const issuer = issuerRecord();
const { identifier } = issuer;
const app = publicRecord("native", { redirectUris: ["http://127.0.0.1/callback"] });
const alice: Authentication = { kind: "authenticated", subject: "alice" };
const granted: ConsentAnswer = { kind: "granted", scopes: ["orders:read"] };
const asked = expect.objectContaining({ endUser: expect.objectContaining({ subject: "alice" }) }) as object;

/** Nobody has answered a page. */
const backRecord: BackFromPage = {
  began: now,
  shown: { requestedScopes: ["orders:read"], grantableScopes: ["orders:read"] },
  shownClient: undefined,
  page: { name: "page", shownTo: undefined },
  decision: undefined,
  mustAsk: false,
  choosesAccount: false,
};

interface Visit {
  readonly client?: Client;
  /** What the host says of the person, one answer for each question. */
  readonly answers?: readonly Authentication[];
  readonly consent?: ConsentAnswer;
  readonly fields?: Readonly<Record<string, string>>;
  /** True when everything of Alice was ended once. */
  readonly isEnded?: boolean;
  /** What is known when she comes back from a page; left out on the first visit. */
  readonly back?: Partial<BackFromPage>;
}

/** The host's adapters. */
function portOf({ answers = [alice, alice], consent = { kind: "ask" } }: Visit) {
  const left = [...answers];
  const authenticate = async (): Promise<Authentication> => {
    const answer = left.shift();
    if (!answer) throw new Error("asked too often");
    return answer;
  };
  return { authenticate, decideConsent: async () => consent };
}

/** A server that knows this client. */
async function serverOf({ client = app, isEnded = false }: Visit) {
  const events: NewEvent[] = [];
  const storage = memoryStorage({ clients: [] });
  const mark = { key: subjectEndKey("alice"), mark: "m".repeat(22), expiresAt: now + 1_000 };
  if (isEnded) await storage.endMarks.save(mark, now);
  const registered = { client, endMark: undefined, apiEnds: new Map(), asOf: now };
  const ports = {
    storage,
    clients: {
      findRegistered: async (id: string) => (id === client.clientId ? registered : undefined),
      findNewer: async () => undefined,
      findCurrent: async () => client,
      isTaken: async () => false,
    },
    redirectSchemes: [],
    idTokens: { verify: () => undefined, isOfNoKey: () => false },
    emit: (event: NewEvent) => void events.push(event),
    clock: () => now,
    randomId: () => "I".repeat(22),
    randomToken: () => "R".repeat(43),
  };
  return { ports, events };
}

async function visit(given: Visit = {}) {
  const { client = app, fields = {}, back } = given;
  const { ports, events } = await serverOf(given);
  const parameters = parametersFromObject({ ...authorizationParametersOf(client), ...fields });
  const request = { issuer, parameters, port: portOf(given) };
  const outcome = await (back
    ? comeBack(ports, { ...request, back: { ...backRecord, ...back } })
    : firstVisit(ports, request));
  return { outcome, events };
}

/** The parameters of the redirect. */
function redirectOf({ outcome }: Awaited<ReturnType<typeof visit>>): object {
  if (outcome.kind !== "answered" || outcome.response.kind !== "redirect")
    throw new Error(`no redirect: ${outcome.kind}`);
  return Object.fromEntries(new URL(outcome.response.location).searchParams);
}

describe("the page that a person must see first (RFC 6749 §3.1, §4.1.1)", () => {
  const request = expect.objectContaining({ issuer, client: app }) as object;
  const page = { kind: "interaction", url: "/page" } as const;

  it("is the sign-in page, where it is not known yet who is asked", async () => {
    const { outcome } = await visit({ answers: [page] });
    expect(outcome).toEqual({ kind: "interaction", url: "/page", request, asked: undefined });
  });

  it("is the built-in consent page, for the person who is signed in", async () => {
    const { outcome } = await visit();
    expect(outcome).toEqual({ kind: "ask", request, asked });
  });

  it("is the consent page of the host, for the same person", async () => {
    const { outcome } = await visit({ consent: page });
    expect(outcome).toEqual({ kind: "interaction", url: "/page", request, asked });
  });

  it("is the sign-in page again when everything of the person was ended, and their session too", async () => {
    const { outcome } = await visit({ answers: [alice, page], consent: granted, isEnded: true });
    expect(outcome).toEqual({ kind: "interaction", url: "/page", request, asked: undefined });
  });

  it("is none when the session is newer than that end", async () => {
    const { outcome } = await visit({ consent: granted, isEnded: true });
    expect(outcome).toMatchObject({ kind: "answered", isDecided: true });
  });
});

describe("whether an answer is a decision, which a form that is sent again gets again", () => {
  it.each<[string, Visit, object, boolean]>([
    ["a yes is one", { consent: granted }, { code: expect.any(String) }, true],
    ["a no is one", { consent: { kind: "denied" } }, { error: "access_denied" }, true],
    ["a wrong request is none", { fields: { scope: "nothing" } }, { error: "invalid_scope" }, false],
    ["a failure is none", { answers: [] }, { error: "server_error" }, false],
  ])("%s", async (_, given, answer, isDecided) => {
    const visited = await visit(given);
    expect(redirectOf(visited)).toMatchObject(answer);
    expect(visited.outcome).toMatchObject({ isDecided });
  });

  it("an error page is none", async () => {
    const { outcome } = await visit({ fields: { client_id: "nobody" } });
    expect(outcome).toMatchObject({ response: { kind: "error-page" }, isDecided: false });
  });
});

describe("the event of a request", () => {
  it("is emitted on the first visit, and not on the way back from a page", async () => {
    const { events } = await visit();
    const scopes = ["orders:read"];
    expect(events).toEqual([
      { kind: "authorization-requested", issuer: identifier, clientId: "phone", scopes },
    ]);
    expect((await visit({ back: {} })).events).toEqual([]);
  });
});

describe("a client that nobody registered, while a page about it is open (RFC 9700 §4.11.2)", () => {
  const stranger: Client = { ...app, selfDescription: { by: "document", digest: "new" } };
  it.each<[string, Visit]>([
    ["on the first visit", { client: stranger }],
    ["when it is still the same", { client: stranger, back: { shownClient: "new" } }],
    ["when the host has registered it all the time", { back: {} }],
  ])("goes on %s", async (_, given) => {
    expect((await visit(given)).outcome.kind).toBe("ask");
  });

  it.each<[string, Visit]>([
    ["it says something else of itself", { client: stranger, back: { shownClient: "old" } }],
    ["the page was about a client of the host", { client: stranger, back: {} }],
    ["the host has registered another one with its id", { back: { shownClient: "old" } }],
  ])("is refused when %s", async (_, given) => {
    const visited = await visit(given);
    expect(redirectOf(visited)).toMatchObject({
      error: "access_denied",
      error_description: "The client has changed while the request was under way.",
    });
    expect(visited.events).toEqual([
      {
        kind: "authorization-denied",
        issuer: identifier,
        clientId: "phone",
        error: "access_denied",
        code: "client-changed",
        reason: expect.any(String) as string,
      },
    ]);
  });
});
