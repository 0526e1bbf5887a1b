import { type Client, type Consent, memoryStorage, type Storage } from "../../lib";
import { narrowConsent, type NarrowPorts } from "../../lib/end-user/narrow";
import { consentEndKey, endKeysOf, lessenedKey } from "../../lib/protocol/end-mark";
import { type LoggedCall, loggedStorage } from "../host/call-log";
import { intercept } from "../storage/slow-storage";
import { authorizationRecord } from "../records/records";
import { clients } from "../hosts/clients";

const now = 1_100;
const longestLifeSeconds = 5_000;
const pair = { subject: "alice", clientId: "web", apiId: "orders" };
const scopes = ["orders:write", "orders:read", "orders:list"];
const consent: Consent = { ...pair, scopes, grantedAt: 900, endMarks: [], expiresAt: 9_000 };
const audience = "https://api.example/orders";
const apis = [
  {
    apiId: "files",
    audience: "https://api.example/files",
    impliedScopes: new Map([["orders:read", ["orders:list"]]]),
  },
  {
    apiId: "orders",
    audience,
    impliedScopes: new Map([["orders:write", ["orders:read"]]]),
  },
];

interface Given {
  readonly consents?: readonly Consent[];
  readonly granted?: readonly string[];
  readonly marks?: Readonly<Record<string, string>>;
  readonly registered?: readonly Client[];
  readonly step?: object;
  /** Runs before the answer of this call of storage. */
  readonly at?: Readonly<Record<string, (storage: Storage) => Promise<unknown>>>;
}

/** What narrowing does. Marks are m1, m2, … in the order in which they were drawn. */
async function narrowed({
  consents = [consent],
  granted = scopes,
  marks = {},
  registered = [],
  step = {},
  at = {},
}: Given = {}) {
  const plain = memoryStorage({ clients: [...registered] });
  const { storage: logged, calls } = loggedStorage();
  const done = new Set<string>();
  const storage = {
    ...intercept(logged, async (name, call) => {
      const answer = await call();
      if (isRunning && !done.has(name)) {
        done.add(name);
        await at[name]?.(logged);
      }
      return answer;
    }),
    clients: plain.clients,
  };
  let isRunning = false;
  for (const [key, mark] of Object.entries(marks))
    await storage.endMarks.save({ key, mark, expiresAt: 9_000 }, now);
  for (const one of consents) await storage.consents.save(one, now);
  if (granted.length > 0)
    await storage.authorizations.create(authorizationRecord({ grantedScopes: granted, endMarks: [] }), now);
  calls.length = 0;
  isRunning = true;
  const events: unknown[] = [];
  let drawn = 0;
  const ports: NarrowPorts = {
    storage,
    randomId: () => `m${(drawn += 1)}`,
    clock: () => now,
    emit: (event) => void events.push(event),
  };
  const given = { ...pair, scopes: ["orders:read"], ...step };
  const error: unknown = await narrowConsent(ports, { step: given, apis, longestLifeSeconds }).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  return {
    calls: [...calls],
    events,
    error,
    consents: await storage.consents.list("alice", now),
    authorizations: await storage.authorizations.list("alice", { limit: 10 }, now),
  };
}

const written = (calls: readonly LoggedCall[]): readonly LoggedCall[] =>
  calls.filter(([name]) => !/find|list/.test(name));

describe("what is taken back of a consent (RFC 6749 §1.5)", () => {
  it("is first ended by a mark, then taken from authorizations, then what stays is stored under the mark", async () => {
    const { calls, error, events } = await narrowed();
    expect(error).toBeUndefined();
    expect(written(calls)).toEqual([
      ["endMarks.save", { key: lessenedKey(pair), mark: "m1", expiresAt: now + longestLifeSeconds }, now],
      ["authorizations.narrowAll", { selection: pair, scopes: ["orders:read"] }, now],
      ["consents.save", { ...consent, scopes: ["orders:read"], endMarks: ["m1"] }, now],
      ["consents.delete", { selection: pair, exceptEndMark: "m1" }, now],
    ]);
    expect(events).toEqual([{ kind: "consent-narrowed", ...pair, scopes: ["orders:read"] }]);
  });

  it("keeps what a scope implies that stays", async () => {
    const { consents, authorizations } = await narrowed({ step: { scopes: ["orders:write"] } });
    expect(consents[0]?.scopes).toEqual(["orders:write", "orders:read"]);
    expect(authorizations[0]?.grantedScopes).toEqual(["orders:write", "orders:read"]);
  });

  it("adds nothing, and keeps nothing where none of it stays", async () => {
    const { consents, authorizations } = await narrowed({ step: { scopes: ["orders:delete"] } });
    expect([consents, authorizations]).toEqual([[], []]);
  });

  it.each<[string, Given, kind: string]>([
    ["nothing", { consents: [], granted: [] }, "nothing-to-revoke"],
    ["no more than what stays", { step: { scopes } }, "nothing-to-revoke"],
    ["a consent alone", { granted: [] }, "consent-narrowed"],
    ["an authorization alone", { consents: [] }, "consent-narrowed"],
    ["an API that is no longer there", { step: { apiId: "gone" } }, "nothing-to-revoke"],
    ["a registered client", { registered: [clients.web] }, "consent-narrowed"],
  ])("tells whether there was anything: %s", async (_, given, kind) => {
    expect((await narrowed(given)).events).toMatchObject([{ kind }]);
  });

  it("leaves other contexts as they were, though the mark is of all", async () => {
    const acme = { ...consent, contextKey: "acme" };
    const { consents, calls } = await narrowed({
      consents: [consent, acme],
      step: { contextKey: "acme" },
    });
    const byContext = Object.fromEntries(consents.map((one) => [one.contextKey ?? "", one]));
    expect(byContext).toEqual({
      "": { ...consent, endMarks: ["m1"] },
      acme: { ...acme, scopes: ["orders:read"], endMarks: ["m1"] },
    });
    expect(calls).toContainEqual([
      "authorizations.narrowAll",
      { selection: { ...pair, contextKey: "acme" }, scopes: ["orders:read"] },
      now,
    ]);
  });

  it("brings no consent of one context back because that of another counts", async () => {
    const acme = { ...consent, contextKey: "acme" };
    const { consents } = await narrowed({
      consents: [consent, acme],
      marks: { [endKeysOf(acme, audience).oneContext]: "withdrawn" },
    });
    expect(consents.map(({ contextKey }) => contextKey)).toEqual([undefined]);
  });

  it("leaves what belongs to others", async () => {
    const others = [
      { ...consent, clientId: "phone" },
      { ...consent, apiId: "files" },
    ];
    const { consents } = await narrowed({ consents: [...others, consent] });
    expect(consents).toEqual(expect.arrayContaining(others));
  });

  it.each(["client", "api", "consents", "everyContext", "oneContext", "narrowed", "lessened"] as const)(
    "brings no consent back that was ended before: %s",
    async (name) => {
      const { consents } = await narrowed({ marks: { [endKeysOf(consent, audience)[name]]: "earlier" } });
      expect(consents).toEqual([]);
    },
  );

  it.each(["subject", "approval"] as const)(
    "keeps a consent where only approvals have ended: %s",
    async (name) => {
      const { consents } = await narrowed({ marks: { [endKeysOf(consent, audience)[name]]: "earlier" } });
      expect(consents).toHaveLength(1);
    },
  );

  it("keeps a consent that was given under earlier marks", async () => {
    const marks = { [endKeysOf(consent, audience).everyContext]: "before", [lessenedKey(pair)]: "earlier" };
    const { consents } = await narrowed({
      marks,
      consents: [{ ...consent, endMarks: ["before", "earlier"] }],
    });
    expect(consents).toMatchObject([{ scopes: ["orders:read"], endMarks: ["before", "earlier", "m1"] }]);
  });
});

const withdrawal = async ({ endMarks }: Storage): Promise<void> =>
  endMarks.save({ key: consentEndKey(pair), mark: "withdrawn", expiresAt: 9_000 }, now);
const other = async ({ endMarks }: Storage): Promise<void> =>
  endMarks.save({ key: lessenedKey(pair), mark: "other", expiresAt: 9_000 }, now);

describe("what comes between (RFC 7009 §2.1)", () => {
  it.each([
    ["a withdrawal, before its own mark", "consents.list", withdrawal],
    ["a withdrawal, after its own mark", "authorizations.narrowAll", withdrawal],
    ["another narrowing, after its own mark", "authorizations.narrowAll", other],
    ["another narrowing, at the end", "consents.save", other],
  ])("leaves nothing remembered: %s", async (_, call, act) => {
    const { consents, authorizations, error } = await narrowed({ at: { [call]: act } });
    expect(error).toBeUndefined();
    expect(consents).toEqual([]);
    expect(authorizations[0]?.grantedScopes).toEqual(["orders:read"]);
  });

  it("narrows further what another call has narrowed before its mark", async () => {
    const at = {
      "consents.list": ({ consents }: Storage) =>
        consents.save({ ...consent, scopes: ["orders:write", "orders:list"], endMarks: ["theirs"] }, now),
    };
    const { consents } = await narrowed({ at, step: { scopes: ["orders:read", "orders:list"] } });
    expect(consents).toMatchObject([{ scopes: ["orders:list"], endMarks: ["theirs", "m1"] }]);
  });

  it("leaves a consent alone that was given after its mark", async () => {
    const later = { ...consent, endMarks: ["m1"] };
    const at = {
      "authorizations.narrowAll": ({ consents }: Storage) => consents.save(later, now),
    };
    const marks = { [lessenedKey(pair)]: "earlier" };
    expect((await narrowed({ at, marks, consents: [] })).consents).toEqual([later]);
  });
});

describe("what is refused before anything is stored", () => {
  it.each<[string, object, string]>([
    ["no end user", { subject: undefined }, "subject must be a non-empty string."],
    ["no client", { clientId: "" }, "clientId must be a non-empty string."],
    ["an unclear context", { contextKey: undefined }, "contextKey must be a string"],
    ["no scopes", { scopes: undefined }, "scopes must list the scopes that stay"],
    ["an empty list", { scopes: [] }, "scopes must list the scopes that stay"],
    ["a text", { scopes: "orders:read" }, "scopes must list the scopes that stay"],
    ["a list of others", { scopes: ["orders:read", 7] }, "scopes must list the scopes that stay"],
  ])("%s", async (_, step, problem) => {
    const { calls, error } = await narrowed({ step });
    expect(calls).toEqual([]);
    expect(error).toBeInstanceOf(TypeError);
    expect((error as Error).message).toContain(`auth.consents.narrow: ${problem}`);
  });

  it.each([
    { ...clients.web, trusted: true },
    { ...clients.web, subscriptions: { orders: { trusted: true } } },
  ])("a trusted client, which would get everything back", async (client) => {
    const { calls, error } = await narrowed({ registered: [client] });
    expect(written(calls)).toEqual([]);
    expect(error).toMatchObject({
      code: "client-is-trusted",
      message: expect.stringContaining('client "web" is trusted at API "orders"') as string,
    });
  });
});
