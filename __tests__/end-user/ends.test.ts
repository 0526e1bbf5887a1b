import type { Consent } from "../../lib";
import {
  endApi,
  endAuthorization,
  endClient,
  type EndPorts,
  endSubject,
  subjectEndOf,
  withdrawConsent,
} from "../../lib/end-user/ends";
import {
  apiEndKey,
  approvalEndKey,
  clientEndKey,
  consentEndKey,
  endedKey,
  longestPossibleLifeSeconds,
  subjectConsentsEndKey,
  subjectEndKey,
} from "../../lib/protocol/end-mark";
import { clockDriftSeconds } from "../../lib/protocol/time";
import { type LoggedCall, loggedStorage } from "../host/call-log";
import { authorizationRecord } from "../records/records";

const now = 1_100;
const longestLifeSeconds = 5_000;
const lasting = now + longestLifeSeconds;
const pair = { subject: "alice", clientId: "web", apiId: "orders" };
const authorizationId = "A".repeat(22);
const consent: Consent = { ...pair, scopes: ["orders:read"], grantedAt: 900, endMarks: [], expiresAt: 9_000 };
interface Stored {
  readonly authorizations?: readonly ReturnType<typeof authorizationRecord>[];
  readonly consents?: readonly Consent[];
  /** What an adapter answers in place of what it should. An error: its call fails. */
  readonly answers?: Readonly<Record<string, unknown>>;
}

interface Outcome {
  readonly calls: readonly LoggedCall[];
  readonly events: readonly unknown[];
  readonly error: unknown;
}

function answering(answer: unknown) {
  return async (): Promise<unknown> => {
    if (answer instanceof Error) throw answer;
    return answer;
  };
}

/** What an end does, and what it tells. Marks are m1, m2, … in the order in which they were drawn. */
async function outcomeOf(end: (ports: EndPorts) => Promise<void>, stored: Stored = {}): Promise<Outcome> {
  const answers = Object.entries(stored.answers ?? {}).map(([name, answer]) => [name, answering(answer)]);
  const { storage, calls } = loggedStorage(Object.fromEntries(answers));
  for (const record of stored.authorizations ?? []) await storage.authorizations.create(record, now);
  for (const record of stored.consents ?? []) await storage.consents.save(record, now);
  calls.length = 0;
  const events: unknown[] = [];
  let drawn = 0;
  const randomId = () => `m${(drawn += 1)}`;
  const ports: EndPorts = { storage, randomId, clock: () => now, emit: (event) => void events.push(event) };
  const error: unknown = await end(ports).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  return { calls, events, error };
}

function withdrawn(stored: Stored = {}, selection: object = pair): Promise<Outcome> {
  return outcomeOf(
    (ports) => withdrawConsent(ports, { selection: selection as typeof pair, longestLifeSeconds }),
    stored,
  );
}

function subjectEnded(
  end: "keep-consents" | "revoke-consents" | "erase",
  stored: Stored = {},
): Promise<Outcome> {
  return outcomeOf((ports) => endSubject(ports, { subject: "alice", end, longestLifeSeconds }), stored);
}

function save(key: string, mark: string, expiresAt: number): LoggedCall {
  return ["endMarks.save", { key, mark, expiresAt }, now];
}

describe("a withdrawal of consent (RFC 7009 §2.1)", () => {
  it.each([
    ["every context", pair],
    ["one context", { ...pair, contextKey: "acme" }],
    ["what has no context", { ...pair, contextKey: "" }],
  ])(
    "stores both marks, then revokes, then says that it has ended, then forgets the consent: %s",
    async (_, selection) => {
      const { calls, error } = await withdrawn({}, selection);
      expect(error).toBeUndefined();
      // strict: a member that is undefined is there
      expect(calls).toStrictEqual([
        save(approvalEndKey(selection), "m1", lasting),
        save(consentEndKey(selection), "m2", lasting),
        ["authorizations.revokeAll", selection, now],
        save(endedKey({ key: consentEndKey(selection), mark: "m2" }), "m2", now + 2 * clockDriftSeconds),
        ["consents.delete", { selection, exceptEndMark: "m2" }, now],
      ]);
    },
  );

  it.each<[string, Stored, kind: string]>([
    ["nothing", {}, "nothing-to-revoke"],
    ["a consent alone", { consents: [consent] }, "consent-revoked"],
    ["an authorization alone", { authorizations: [authorizationRecord()] }, "consent-revoked"],
    ["both", { authorizations: [authorizationRecord()], consents: [consent] }, "consent-revoked"],
    [
      "what another client has",
      {
        authorizations: [authorizationRecord({ clientId: "phone" })],
        consents: [{ ...consent, clientId: "phone" }],
      },
      "nothing-to-revoke",
    ],
  ])("tells whether there was anything: %s", async (_, stored, kind) => {
    expect((await withdrawn(stored)).events).toEqual([{ kind, ...pair }]);
  });

  it.each<[string, object, problem: string]>([
    ["no end user", { ...pair, subject: undefined }, "subject must be a non-empty string."],
    ["no client", { ...pair, clientId: "" }, "clientId must be a non-empty string."],
    ["a number for an API", { ...pair, apiId: 7 }, "apiId must be a non-empty string."],
    [
      "a context that may be a failed look-up",
      { ...pair, contextKey: undefined },
      'contextKey must be a string, "" for what has no context. Leave it out for every context.',
    ],
  ])("is refused before anything is stored: %s", async (_, selection, problem) => {
    const { calls, error } = await withdrawn({}, selection);
    expect([calls, error]).toEqual([[], new TypeError(`auth.consents.revoke: ${problem}`)]);
  });
});

describe("the end of one authorization (RFC 7009 §2.1)", () => {
  const issuer = "https://host.example/login/auth/password/api/orders";
  const theirs = { subject: "alice", authorizationId };
  const ended = (target: object, stored: Stored = {}): Promise<Outcome> =>
    outcomeOf((ports) => endAuthorization(ports, target as typeof theirs), stored);

  it("is told with its issuer", async () => {
    const { calls, events } = await ended(theirs, { authorizations: [authorizationRecord({ issuer })] });
    expect(calls).toEqual([
      ["authorizations.find", authorizationId, now - clockDriftSeconds],
      ["authorizations.revoke", authorizationId, now],
    ]);
    expect(events).toEqual([{ kind: "authorization-ended", ...theirs, clientId: "web", issuer }]);
  });

  it.each<[string, object, string[]]>([
    ["of somebody else", { ...theirs, subject: "bob" }, ["authorizations.find"]],
    ["that is not there", { ...theirs, authorizationId: "B".repeat(22) }, ["authorizations.find"]],
    ["whose id is any text", { ...theirs, authorizationId: "a\0b" }, []],
  ])("revokes nothing: one %s", async (_, target, asked) => {
    const { calls, events } = await ended(target, { authorizations: [authorizationRecord()] });
    expect(calls.map(([name]) => name)).toEqual(asked);
    expect(events).toEqual([{ kind: "nothing-to-revoke", subject: (target as typeof theirs).subject }]);
  });

  it.each(["subject", "authorizationId"])("is refused without %s", async (name) => {
    const { error } = await ended({ ...theirs, [name]: "" });
    expect(error).toEqual(new TypeError(`auth.authorizations.revoke: ${name} must be a non-empty string.`));
  });
});

describe("the options of auth.subjects.revoke", () => {
  it.each<[{ consents?: "keep" | "revoke" }, string]>([
    [{}, "keep-consents"],
    [{ consents: "keep" }, "keep-consents"],
    [{ consents: "revoke" }, "revoke-consents"],
  ])("%j mean %s", (options, end) => {
    expect(subjectEndOf(options)).toBe(end);
  });

  it.each([
    { consents: undefined },
    { consents: "" },
    { consents: "delete" },
    { consent: "revoke" },
    { consent: "keep" },
    { consents: "keep", also: true },
    { consents: "revoke", consent: "keep" },
  ])("%j are refused: a misspelt name must not keep what was to be revoked", (options) => {
    expect(() => subjectEndOf(options as object)).toThrow(
      expect.objectContaining({ code: "unclear-end-of-subject" }),
    );
  });
});

describe("options that inherit", () => {
  it.each([{ consents: "revoke" }, { consents: "keep" }, { consent: "revoke" }])(
    "are refused: what an end user has allowed is not kept because of how the host makes its objects: %j",
    (values) => {
      expect(() => subjectEndOf(Object.create(values) as object)).toThrow(TypeError);
    },
  );
});

describe("the end of an end user (RFC 7009 §2.1)", () => {
  const subject = "alice";
  const inContext = { ...consent, clientId: "phone", contextKey: "acme" };
  const revoke: LoggedCall[] = [["authorizations.revokeAll", { subject }, now]];
  const saveFirst = save(subjectEndKey(subject), "m1", lasting);
  const saveSecond = save(subjectConsentsEndKey(subject), "m2", lasting);
  const forgetAll = [["consents.delete", { selection: { subject }, exceptEndMark: "m2" }, now]];
  const erase = ["authorizations.erase", { subject }, now];

  it.each([
    ["keep-consents", [saveFirst, ...revoke], "subject-ended"],
    ["revoke-consents", [saveFirst, saveSecond, ...revoke, ...forgetAll], "subject-ended"],
    ["erase", [saveFirst, saveSecond, ...revoke, ...forgetAll, erase], "subject-erased"],
  ] as const)("stores the marks first, and erases last: %s", async (end, expected, kind) => {
    const { calls, events, error } = await subjectEnded(end, { consents: [consent, inContext] });
    expect(error).toBeUndefined();
    expect(calls).toStrictEqual(expected);
    expect(events).toEqual([{ kind, subject }]);
  });

  it.each([
    ["keep-consents", "auth.subjects.revoke"],
    ["revoke-consents", "auth.subjects.revoke"],
    ["erase", "auth.subjects.erase"],
  ] as const)("is refused without a subject: %s", async (end, name) => {
    const { calls, error } = await outcomeOf((ports) =>
      endSubject(ports, { subject: "", end, longestLifeSeconds }),
    );
    expect([calls, error]).toEqual([[], new TypeError(`${name}: subject must be a non-empty string.`)]);
  });
});

describe("the end of a client (RFC 6749 §2.2)", () => {
  it("is one mark, which outlives everything that any server could have issued", async () => {
    const { calls, events } = await outcomeOf((ports) => endClient(ports, "web"));
    expect(calls).toEqual([save(clientEndKey("web"), "m1", now + longestPossibleLifeSeconds)]);
    expect(events).toEqual([{ kind: "client-ended", clientId: "web" }]);
  });

  it.each([undefined, ""])("is refused without an id: %j", async (clientId) => {
    const { calls, error } = await outcomeOf((ports) => endClient(ports, clientId as string));
    expect([calls, error]).toEqual([
      [],
      new TypeError("auth.clients.revoke: clientId must be a non-empty string."),
    ]);
  });
});

describe("the end of an API (RFC 7009 §2.1)", () => {
  const apis = ["orders", "files"].map((apiId) => ({ apiId, audience: `https://api.example/${apiId}` }));
  const ended = (apiId: unknown, stored?: Stored): Promise<Outcome> =>
    outcomeOf((ports) => endApi(ports, { apiId: apiId as string, apis }), stored);

  it("is one mark of its audience, which outlives everything that any server could have issued", async () => {
    const { calls, events, error } = await ended("files");
    expect(error).toBeUndefined();
    expect(calls).toEqual([
      save(apiEndKey("https://api.example/files"), "m1", now + longestPossibleLifeSeconds),
    ]);
    expect(events).toEqual([{ kind: "api-ended", apiId: "files" }]);
  });

  it.each(["order", "Orders", "https://api.example/orders", "constructor"])(
    "is refused for an API that the server does not have, with the names of the others: %s",
    async (apiId) => {
      const { calls, events, error } = await ended(apiId);
      expect([calls, events]).toEqual([[], []]);
      expect(error).toBeInstanceOf(TypeError);
      expect(error).toMatchObject({
        code: "unknown-api",
        message: expect.stringContaining("Known: orders, files.") as string,
      });
    },
  );

  it.each([undefined, "", 7])("is refused without an id: %j", async (apiId) => {
    const { calls, error } = await ended(apiId);
    expect(calls).toEqual([]);
    expect(error).toMatchObject({ code: "text-missing" });
  });

  it("tells of no end when its mark cannot be stored", async () => {
    const { events, error } = await ended("orders", { answers: { "endMarks.save": new Error("down") } });
    expect([events, error]).toEqual([[], new Error("down")]);
  });
});

/** The calls of an end whose call of this name fails. */
async function until(failing: string, end: (ports: EndPorts) => Promise<void>): Promise<Outcome> {
  return outcomeOf(end, { consents: [consent], answers: { [failing]: new Error("down") } });
}
const withdraw = (ports: EndPorts): Promise<void> =>
  withdrawConsent(ports, { selection: pair, longestLifeSeconds });
const eraseAlice = (ports: EndPorts): Promise<void> =>
  endSubject(ports, { subject: "alice", end: "erase", longestLifeSeconds });

describe("an end that fails half-way (RFC 7009 §2.1)", () => {
  it.each([
    ["a withdrawal that cannot store its mark", withdraw, "endMarks.save", ["endMarks.save"]],
    [
      "a withdrawal that cannot revoke keeps the consent, so that it can be repeated",
      withdraw,
      "authorizations.revokeAll",
      ["endMarks.save", "endMarks.save", "authorizations.revokeAll"],
    ],
    [
      "an erasure that cannot forget the consents erases nothing, so that it can be repeated",
      eraseAlice,
      "consents.delete",
      ["endMarks.save", "endMarks.save", "authorizations.revokeAll", "consents.delete"],
    ],
  ])("tells of no end: %s", async (_, end, failing, names) => {
    const { calls, events, error } = await until(failing, end);
    expect(calls.map(([name]) => name)).toEqual(names);
    expect([events, error]).toEqual([[], new Error("down")]);
  });
});
