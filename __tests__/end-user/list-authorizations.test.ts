import type { Authorization, Consent } from "../../lib";
import { listAuthorizations, listConsents } from "../../lib/end-user/list-authorizations";
import { apiEndKey, clientEndKey, subjectEndKey } from "../../lib/protocol/end-mark";
import { loggedStorage } from "../host/call-log";
import { authorizationRecord, consentRecord } from "../records/records";

const now = 1_100;
const clock = (): number => now;
const audience = "https://api.example/orders";
const apis = [
  { apiId: "orders", audience },
  { apiId: "files", audience: "https://api.example/files" },
];
const id = (letter: string): string => letter.repeat(22);
const usage = new TypeError(
  "auth.authorizations.list takes a subject and, for a later page, { after } with the `next` of the page before.",
);

interface Stored {
  readonly authorizations?: readonly Authorization[];
  readonly consents?: readonly Consent[];
  /** The keys of end marks that are in force; each has the mark "M". */
  readonly ended?: readonly string[];
  readonly answers?: Parameters<typeof loggedStorage>[0];
}

async function stored({ authorizations = [], consents = [], ended = [], answers }: Stored) {
  const log = loggedStorage(answers);
  for (const record of authorizations) await log.storage.authorizations.create(record, now);
  for (const record of consents) await log.storage.consents.save(record, now);
  for (const key of ended) await log.storage.endMarks.save({ key, mark: "M", expiresAt: 9_000 }, now);
  log.calls.length = 0;
  return log;
}

async function listed(given: Stored, asked: { readonly subject?: unknown; readonly page?: object } = {}) {
  const { subject = "alice", page = {} } = asked;
  const { storage, calls } = await stored(given);
  const list = await listAuthorizations({ storage, clock }, { subject: subject as string, page, apis });
  return { list, wanted: calls.find(([name]) => name === "authorizations.list") };
}

describe("the living authorizations of an end user (RFC 6749 §1.3)", () => {
  const shown = {
    authorizationId: id("A"),
    clientId: "web",
    apiId: "orders",
    authMethodId: "password",
    scopes: ["orders:read"],
    contextKey: "",
    createdAt: 1_000,
    expiresAt: 9_000,
  };

  it.each<[string, object, object]>([
    ["unused", {}, {}],
    ["used", { lastUsedAt: 1_050 }, { lastUsedAt: 1_050 }],
    ["from somewhere", { signedInFrom: "Chrome" }, { signedInFrom: "Chrome" }],
    ["in a context", { context: { key: "acme" } }, { contextKey: "acme" }],
  ])("are shown without what has no value: one %s", async (_, changes, more) => {
    const answers = { "authorizations.list": async () => [{ ...authorizationRecord(), ...changes }] };
    // strict: a member that is undefined is there
    expect((await listed({ answers })).list).toStrictEqual({ authorizations: [{ ...shown, ...more }] });
  });

  it("are none where an adapter has no list", async () => {
    const answers = { "authorizations.list": async () => undefined };
    expect((await listed({ answers })).list).toStrictEqual({ authorizations: [] });
  });

  it.each<[string, Partial<Authorization>, string, isListed: boolean]>([
    ["the client's, and one from before it", { endMarks: [] }, clientEndKey("web"), false],
    ["the client's, and one from after it", { endMarks: ["M"] }, clientEndKey("web"), true],
    ["another client's", { endMarks: [] }, clientEndKey("phone"), true],
    ["the API's, and one from before it", { endMarks: [] }, apiEndKey(audience), false],
    ["the API's, and one from after it", { endMarks: ["M"] }, apiEndKey(audience), true],
    ["another API's", { endMarks: [] }, apiEndKey("https://api.example/files"), true],
    // another server with the same storage has it: its end is not this server's to see
    [
      "the API's, and one at an API that is not of this server",
      { apiId: "notes", endMarks: [] },
      apiEndKey(audience),
      true,
    ],
    ["the person's, and one that is not revoked yet", { endMarks: [] }, subjectEndKey("alice"), true],
  ])("end with this mark: %s", async (_, changes, endKey, isListed) => {
    const { list } = await listed({ authorizations: [authorizationRecord(changes)], ended: [endKey] });
    expect(list.authorizations).toHaveLength(isListed ? 1 : 0);
  });
});

const many = (count: number) => async () =>
  Array.from({ length: count }, (_, place) =>
    authorizationRecord({ authorizationId: String(place).padStart(22, "0") }),
  );

describe("the pages of the list", () => {
  it.each([
    ["the first", {}, { limit: 100 }],
    ["the first, for a loop", { after: undefined }, { limit: 100 }],
    ["a later one", { after: id("A") }, { after: id("A"), limit: 100 }],
  ])("are asked for without what has no value: %s", async (_, page, wanted) => {
    expect((await listed({}, { page })).wanted).toStrictEqual(["authorizations.list", "alice", wanted, now]);
  });

  it.each([
    [99, undefined],
    [100, "99".padStart(22, "0")],
  ])("with %j authorizations are followed by those after %j", async (count, next) => {
    const { list } = await listed({ answers: { "authorizations.list": many(count) } });
    expect([list.authorizations.length, list.next]).toEqual([count, next]);
  });

  it("go on behind what was left out because its client was ended", async () => {
    const answers = { "authorizations.list": many(100) };
    const { list } = await listed({ answers, ended: [clientEndKey("web")] });
    expect(list).toEqual({ authorizations: [], next: "99".padStart(22, "0") });
  });

  it.each<[string, object]>([
    ["no subject", { subject: null }],
    ["a number for a subject", { subject: 7 }],
    ["text that is no id", { page: { after: "a\0b" } }],
    ["a list with an id", { page: { after: [id("A")] } }],
    ["null, which is no end of a loop", { page: { after: null } }],
    ["a misspelt name", { page: { from: id("A") } }],
  ])("are refused: %s", async (_, asked) => {
    await expect(listed({}, asked)).rejects.toEqual(usage);
  });
});

const consents = async (given: Stored) =>
  (
    await listConsents(
      { storage: (await stored(given)).storage, clock },
      { subject: "alice", page: {}, apis },
    )
  ).consents;

describe("the remembered consents of an end user (RFC 6749 §10.2)", () => {
  const consent = consentRecord();

  it("always have a context, as a withdrawal would take one without for every context", async () => {
    const acme = { ...consent, contextKey: "acme" };
    expect(await consents({ consents: [consent, acme] })).toEqual([{ ...consent, contextKey: "" }, acme]);
  });

  it("come in pages of 100, in an order that a withdrawal or a new yes does not change", async () => {
    const given = Array.from({ length: 230 }, (_, index) => ({
      ...consent,
      clientId: `client-${100 + (index >> 1)}`,
      contextKey: index % 2 === 0 ? "" : "acme",
    }));
    const { storage } = await stored({ consents: given.toReversed() });
    const list = (page: object) => listConsents({ storage, clock }, { subject: "alice", page, apis });
    const first = await list({});
    expect(first.consents).toEqual(given.slice(0, 100));
    const last = given[99] ?? consent;
    await storage.consents.delete({ selection: last, exceptEndMark: "" }, clock());
    await storage.consents.save({ ...last, clientId: "client-0", expiresAt: 9_999_999_999 }, clock());
    const second = await list({ after: first.next });
    expect(second.consents).toEqual(given.slice(100, 200));
    const third = await list({ after: second.next });
    expect(third).toEqual({ consents: given.slice(200) });
    expect(await list({ after: "no place" })).toEqual({ consents: [] });
  });

  it.each<[string, { readonly subject?: unknown; readonly page?: object }]>([
    ["no subject", { subject: null }],
    ["a list for a place", { page: { after: ["a"] } }],
    ["a misspelt name", { page: { from: "a" } }],
  ])("are refused for %s", async (_, asked) => {
    const { storage } = await stored({});
    const question = { subject: "alice", page: {}, ...asked } as Parameters<typeof listConsents>[1];
    await expect(listConsents({ storage, clock }, question)).rejects.toEqual(
      new TypeError(
        "auth.consents.list takes a subject and, for a later page, { after } with the `next` of the page before.",
      ),
    );
  });

  it("are none where an adapter has no list", async () => {
    expect(await consents({ answers: { "consents.list": async () => undefined } })).toEqual([]);
  });

  it("end with the mark of their client alone", async () => {
    const phone = { ...consent, clientId: "phone" };
    const after = { ...consent, apiId: "other", endMarks: ["M"] };
    const left = await consents({ consents: [consent, phone, after], ended: [clientEndKey("web")] });
    expect(left.map(({ clientId, apiId }) => [clientId, apiId])).toEqual([
      ["phone", "orders"],
      ["web", "other"],
    ]);
  });

  it("end with the mark of their API", async () => {
    const files = { ...consent, apiId: "files" };
    const after = { ...consent, contextKey: "acme", endMarks: ["M"] };
    const left = await consents({ consents: [consent, files, after], ended: [apiEndKey(audience)] });
    expect(left.map(({ apiId, contextKey }) => [apiId, contextKey])).toEqual([
      ["files", ""],
      ["orders", "acme"],
    ]);
  });
});
