import type { Client } from "../../lib";
import { approve, type Approved } from "../../lib/end-user/approve";
import { findBasis, type ApprovalBasis } from "../../lib/end-user/approval-basis";
import {
  apiEndKey,
  approvalEndKey,
  clientEndKey,
  consentEndKey,
  endedKey,
  endKeysOf,
  subjectConsentsEndKey,
  subjectEndKey,
} from "../../lib/protocol/end-mark";
import type { RedirectResponse } from "../../lib/protocol/protocol-response";
import { authorizationLifeSeconds } from "../../lib/tokens/issue-code";
import { askedRequest, endedMeanwhile, endUserRecord, now, refusalOf } from "../host/asked";
import { type LoggedCall, loggedStorage, type LoggedStorage } from "../host/call-log";
import { confidentialRecord, issuerRecord, publicRecord } from "../records/records";

const authorizationId = "I".repeat(22);
const pair = { subject: "alice", clientId: "web", apiId: "orders" };
const key = { ...pair, contextKey: "" };
const remember = { ...key, scopes: ["orders:read"], grantedAt: now, endMarks: [], expiresAt: 9_000 };
const issuer = issuerRecord();
const { audience } = issuer.api;

async function down(): Promise<never> {
  throw new Error("down");
}

/** No end mark when the request begins, and a failure at the last look. */
function downAtLast(): () => Promise<unknown> {
  const answers = [() => Promise.resolve(Array.from({ length: 9 }))];
  return () => (answers.pop() ?? down)();
}

/** End marks: key → mark. */
type Marks = Readonly<Record<string, string>>;

async function saveMarks({ storage }: LoggedStorage, marks: Marks): Promise<void> {
  for (const [markKey, mark] of Object.entries(marks))
    await storage.endMarks.save({ key: markKey, mark, expiresAt: 9_000 }, now);
}

interface Given {
  readonly client?: Client;
  /** The scopes that the person was asked about. Left out: the one that they allow. */
  readonly asked?: readonly string[];
  /** Left out: the consent of a person who has just answered. */
  readonly remembers?: boolean;
  /** In force when the request began. */
  readonly before?: Marks;
  /** What was remembered when the request began. */
  readonly remembered?: readonly string[];
  /** Stored while the request was under way. */
  readonly meanwhile?: Marks;
  readonly answers?: Parameters<typeof loggedStorage>[0];
}

async function basisUnder(
  log: LoggedStorage,
  { before, remembered }: { before: Marks; remembered: readonly string[] | undefined },
): Promise<ApprovalBasis> {
  await saveMarks(log, before);
  const endMarks = Object.values(before);
  if (remembered) await log.storage.consents.save({ ...remember, scopes: remembered, endMarks }, now);
  return findBasis(log, { key, audience, withConsent: true, clientDigest: undefined, now });
}

/** What an approval asks of storage, what it tells, and what comes of it. */
async function approved(given: Given = {}) {
  const { client, asked, remembers = true, before = {}, remembered, meanwhile = {}, answers } = given;
  const log = loggedStorage(answers);
  const basis = await basisUnder(log, { before, remembered });
  await saveMarks(log, meanwhile);
  log.calls.length = 0;
  const events: unknown[] = [];
  const approval: Approved = {
    request: askedRequest({
      issuer,
      client: client ?? confidentialRecord(),
      state: "a state",
      ...(asked && { grantableScopes: asked }),
    }),
    endUser: endUserRecord(),
    consent: {
      kind: "granted",
      scopes: ["orders:read"],
      context: undefined,
      remember: remembers ? remember : undefined,
      basis,
    },
    page: undefined,
    now,
  };
  const work = approve(
    {
      storage: log.storage,
      randomId: () => authorizationId,
      randomToken: () => "R".repeat(43),
      emit: (event) => void events.push(event),
    },
    approval,
  );
  return { work, events, calls: log.calls };
}

function names(calls: readonly LoggedCall[]): readonly string[] {
  return calls.map(([name]) => name);
}

/** The consent that was saved. */
function saved(calls: readonly LoggedCall[]): unknown {
  return calls.find(([name]) => name === "consents.save")?.[1];
}

/** The end marks that were saved. */
function savedMarks(calls: readonly LoggedCall[]): unknown[] {
  return calls.filter(([name]) => name === "endMarks.save").map(([, mark]) => mark);
}

describe("an approval (RFC 6749 §4.1.2)", () => {
  const stored = ["authorizations.create", "authorizationCodes.create"];

  it.each([
    ["with what the person has answered", true, [...stored, "consents.save", "endMarks.find"]],
    ["where nobody was asked", false, [...stored, "endMarks.find"]],
  ])(
    "stores the code, then the consent, then looks for ends, then tells: %s",
    async (_, remembers, expected) => {
      const { work, calls, events } = await approved({ remembers });
      const { location } = (await work) as RedirectResponse;
      expect(names(calls)).toEqual(expected);
      expect(events).toEqual([
        {
          kind: "authorization-granted",
          issuer: issuer.identifier,
          clientId: "web",
          subject: "alice",
          scopes: ["orders:read"],
        },
      ]);
      expect(Object.fromEntries(new URL(location).searchParams)).toEqual({
        code: `${authorizationId}.${"R".repeat(43)}`,
        state: "a state",
        iss: issuer.identifier,
      });
    },
  );

  it("counts under marks that were in force before it began", async () => {
    const { work } = await approved({ before: { [subjectEndKey("alice")]: "S" } });
    expect(await work).toMatchObject({ kind: "redirect" });
  });

  it("remembers no consent and tells of no grant where the code cannot be stored", async () => {
    const { work, calls, events } = await approved({ answers: { "authorizationCodes.create": down } });
    expect(await refusalOf(work)).toEqual(new Error("down"));
    // nor is it a sign-in: nobody has the code
    expect([names(calls), events]).toEqual([[...stored, "authorizations.erase"], []]);
  });
});

const { narrowed: narrowedKey } = endKeysOf(key, audience);

describe("what an approval remembers (RFC 6749 §10.2)", () => {
  // the mark is an id like any other, and lives as long as the consent may live by another clock
  const narrowing = [{ key: narrowedKey, mark: authorizationId, expiresAt: remember.expiresAt + 300 }];

  it("has no end marks where there are none", async () => {
    const { work, calls } = await approved();
    await work;
    expect(saved(calls)).toEqual(remember);
  });

  it("has the end marks that are in force", async () => {
    const { work, calls } = await approved({ before: { [subjectEndKey("alice")]: "S" } });
    await work;
    expect(saved(calls)).toEqual({ ...remember, endMarks: ["S"] });
  });

  it.each([[["orders:read"]], [[]]])("ends nothing where %j was remembered before", async (remembered) => {
    const { work, calls } = await approved({ remembered });
    await work;
    expect(savedMarks(calls)).toEqual([]);
  });

  it("ends the consent before it that allowed more, and is born under that mark", async () => {
    const before = { [consentEndKey(key)]: "W" };
    const remembered = ["orders:read", "orders:write"];
    const { work, calls } = await approved({ before, remembered });
    expect(await work).toMatchObject({ kind: "redirect" });
    expect(savedMarks(calls)).toEqual(narrowing);
    expect(saved(calls)).toEqual({ ...remember, endMarks: ["W", authorizationId] });
    expect(names(calls).slice(2)).toEqual(["endMarks.save", "consents.save", "endMarks.find"]);
  });

  it.each([
    ["it cannot be stored", { "consents.save": down }],
    ["the last look for ends fails", { "endMarks.find": downAtLast() }],
  ])(
    "does not count where %s, and the failure is told: the person is asked again, and may say no",
    async (_, answers) => {
      const { work, calls } = await approved({ answers });
      expect(await refusalOf(work)).toEqual(new Error("down"));
      expect(savedMarks(calls)).toEqual(narrowing);
      expect(calls.at(-1)).toEqual(["authorizations.erase", { subject: "alice", authorizationId }, now]);
    },
  );

  it("ends nothing where nothing was remembered and the last look fails", async () => {
    const { work, calls } = await approved({ remembers: false, answers: { "endMarks.find": downAtLast() } });
    expect(await refusalOf(work)).toEqual(new Error("down"));
    expect(savedMarks(calls)).toEqual([]);
  });

  it("tells the first failure where the authorization cannot be erased either", async () => {
    const answers = {
      "consents.save": down,
      "authorizations.erase": () => Promise.reject(new Error("away")),
    };
    const { work } = await approved({ answers });
    expect(await refusalOf(work)).toEqual(new Error("down"));
  });

  it("ends the consent that another page may just be storing, where less is allowed than was asked", async () => {
    const { work, calls } = await approved({ asked: ["orders:read", "orders:write"] });
    expect(await work).toMatchObject({ kind: "redirect" });
    expect(savedMarks(calls)).toEqual(narrowing);
    expect(saved(calls)).toEqual({ ...remember, endMarks: [authorizationId] });
  });

  it("tells the first failure where the mark cannot be stored either", async () => {
    const answers = { "consents.save": down, "endMarks.save": () => Promise.reject(new Error("away")) };
    const { work } = await approved({ answers });
    expect(await refusalOf(work)).toEqual(new Error("down"));
  });
});

describe("an approval whose ground is ended meanwhile (RFC 7009 §2.1)", () => {
  const subject = { [subjectEndKey("alice")]: "S" };
  const client = { [clientEndKey("web")]: "C" };
  const api = { [apiEndKey(audience)]: "P" };
  const approval = { [approvalEndKey(key)]: "A" };
  const consents = { [subjectConsentsEndKey("alice")]: "SC" };
  const oneContext = { [consentEndKey(key)]: "W" };
  const everyContext = { [consentEndKey(pair)]: "E" };
  const narrowed = { [narrowedKey]: "N" };
  const hasEnded = { [endedKey({ key: consentEndKey(key), mark: "W" })]: "W" };
  const erase = ["authorizations.erase", { subject: "alice", authorizationId }, now];

  /** What is taken back: the authorization always. */
  async function takenBack(given: Given): Promise<readonly LoggedCall[]> {
    const { work, calls, events } = await approved(given);
    expect(await refusalOf(work)).toEqual(endedMeanwhile);
    expect(events).toEqual([]);
    expect(calls).toContainEqual(erase);
    return calls.filter(([name]) => name === "consents.delete");
  }

  it.each<[string, Given, mark: string]>([
    ["the person's", { meanwhile: subject }, "S"],
    ["the client's", { meanwhile: client }, "C"],
    ["the API's", { meanwhile: api }, "P"],
    ["the API's, after an earlier one of the client", { before: client, meanwhile: api }, "P"],
    ["that of all the person's consents", { meanwhile: { ...subject, ...consents } }, "SC"],
    ["the client's, after an earlier one of the person", { before: subject, meanwhile: client }, "C"],
    [
      "the client's, after an earlier withdrawal",
      { before: { ...approval, ...oneContext }, meanwhile: client },
      "C",
    ],
    ["a withdrawal's that has ended", { meanwhile: { ...approval, ...oneContext, ...hasEnded } }, "W"],
    [
      "a withdrawal's that has ended, and not the client's",
      { meanwhile: { ...approval, ...oneContext, ...hasEnded, ...client } },
      "W",
    ],
    ["that of a consent to less, which another page has stored", { meanwhile: narrowed }, "N"],
    ["the person's, and not that of a consent to less", { meanwhile: { ...subject, ...narrowed } }, "S"],
  ])(
    "forgets its own consent, and none that was born under the new mark: %s",
    async (_, given, exceptEndMark) => {
      expect(await takenBack(given)).toEqual([["consents.delete", { selection: key, exceptEndMark }, now]]);
    },
  );

  it.each<[string, Given]>([
    ["it has just begun", { meanwhile: approval }],
    ["it has just begun, and less was allowed", { meanwhile: { ...approval, ...narrowed } }],
    ["it has just begun, and the client was ended too", { meanwhile: { ...approval, ...client } }],
    ["it has not revoked everything", { meanwhile: { ...approval, ...oneContext } }],
    ["nor that of every context", { meanwhile: { ...approval, ...everyContext } }],
    ["one of two has not", { meanwhile: { ...approval, ...oneContext, ...hasEnded, ...everyContext } }],
    ["it has not, and the API was ended too", { meanwhile: { ...approval, ...oneContext, ...api } }],
    ["it has not, and the client was ended too", { meanwhile: { ...approval, ...oneContext, ...client } }],
  ])("leaves the consent to a withdrawal under way, which may fail: %s", async (_, given) => {
    expect(await takenBack(given)).toEqual([]);
  });

  it.each<[string, Given]>([
    ["one of another context has ended", { meanwhile: { ...approval, ...subject, ...consents } }],
    [
      "one of this context has failed",
      { meanwhile: { ...approval, ...oneContext, ...subject, ...consents } },
    ],
  ])("forgets it for a person whose consents were all ended, also where %s", async (_, given) => {
    expect(await takenBack(given)).toHaveLength(1);
  });

  it("forgets no consent where it has stored none: one of an earlier answer stays", async () => {
    expect(await takenBack({ remembers: false, meanwhile: subject })).toEqual([]);
  });

  it("erases the authorization also where the consent cannot be forgotten", async () => {
    const { work, calls } = await approved({ meanwhile: subject, answers: { "consents.delete": down } });
    expect(await refusalOf(work)).toEqual(new Error("down"));
    expect(calls).toContainEqual(erase);
  });

  it("notices an end that comes while the consent is stored, as the marks are read after that", async () => {
    const log: { current?: LoggedStorage } = {};
    const answers = {
      "consents.save": async () => log.current && saveMarks(log.current, subject),
    };
    log.current = loggedStorage(answers);
    const { storage, calls } = log.current;
    const basis = await basisUnder(log.current, { before: {}, remembered: undefined });
    const work = approve(
      { storage, randomId: () => authorizationId, randomToken: () => "R".repeat(43), emit: () => undefined },
      {
        request: askedRequest(),
        endUser: endUserRecord(),
        consent: { kind: "granted", scopes: [], context: undefined, remember, basis },
        page: undefined,
        now,
      },
    );
    expect(await refusalOf(work)).toEqual(endedMeanwhile);
    expect(calls).toContainEqual(erase);
  });
});

const selfDescribed = (by: "document" | "registration"): Client =>
  publicRecord("native", { clientId: "web", selfDescription: { by, digest: "d".repeat(43) } });
const extensions = (calls: readonly LoggedCall[]): readonly LoggedCall[] =>
  calls.filter(([name]) => name === "clientRegistrations.extend");

describe("a client that has registered itself (RFC 7591 §3)", () => {
  const thirtyDays = 30 * 86_400;

  it("stays known for 30 days after everything of the approval has ended", async () => {
    const answers = { "clientRegistrations.extend": async () => true };
    const { work, calls } = await approved({ client: selfDescribed("registration"), answers });
    expect(await work).toMatchObject({ kind: "redirect" });
    const expiresAt = now + authorizationLifeSeconds(issuer) + thirtyDays;
    expect(calls[0]).toEqual(["clientRegistrations.extend", { clientId: "web", expiresAt }, now]);
    expect(extensions(calls)).toHaveLength(1);
  });

  it("gets nothing once its registration has expired", async () => {
    const { work, calls, events } = await approved({ client: selfDescribed("registration") });
    expect(await refusalOf(work)).toEqual({
      error: "access_denied",
      description: "The registration of the client has expired.",
      code: "registration-expired",
    });
    expect([names(calls), events]).toEqual([["clientRegistrations.extend"], []]);
  });

  it.each([
    ["one with a document", selfDescribed("document")],
    ["a registered one", confidentialRecord()],
  ])("is another than %s, which has no registration to extend", async (_, client) => {
    const { work, calls } = await approved({ client });
    expect(await work).toMatchObject({ kind: "redirect" });
    expect(extensions(calls)).toEqual([]);
  });
});
