/** Mistakes that can be made with every kind of record. */
import type { Authorization, Consent, ConsentKey, EndMark, EpochSeconds } from "../../../../lib";
import { consentId, isLive, isSelected, keyOf, live, notRevoked, type TableStorage } from "./table-storage";
import {
  cachingFind,
  finding,
  ownNow,
  planted,
  type Ports,
  type Process,
  wrong,
  type WrongAdapter,
} from "./wrong-adapter";

/** `find` of every kind of record that ends, by its table's own key and whatever its end. */
function rawFinds({ database }: Process) {
  const { consents, authorizations, authorizationCodes, refreshTokens, accessTokens, clientRegistrations } =
    database;
  return {
    consents: (key: ConsentKey) => consents.get(consentId(key)),
    authorizations: (id: string) => authorizations.get(id),
    authorizationCodes: ({ digest }: { digest: string }) => authorizationCodes.get(digest),
    refreshTokens: ({ digest }: { digest: string }) => refreshTokens.get(digest),
    accessTokens: (digest: string) => accessTokens.get(digest),
    clientRegistrations: (clientId: string) => clientRegistrations.get(clientId),
  };
}

const endingPorts = [
  ["consents", "a consent can be found until"],
  ["authorizations", "an authorization can be found until"],
  ["authorizationCodes", "a code can be found until"],
  ["refreshTokens", "a refresh token can be found until"],
  ["accessTokens", "a stored access token can be found until"],
] as const;

const wrongEnds = [
  ["find forgets that records expire", () => true],
  ["find asks its own clock", (expiresAt: EpochSeconds) => ownNow() < expiresAt],
  [
    "find no longer has what is over by its own clock",
    (expiresAt: EpochSeconds, now: EpochSeconds) => Math.max(now, ownNow()) < expiresAt,
  ],
  [
    "find gives a record in the second of its end",
    (expiresAt: EpochSeconds, now: EpochSeconds) => now <= expiresAt,
  ],
] as const;

/** Adapters that give records whose time is over. */
const expiryMistakes = endingPorts.flatMap(([port, caughtBy]) =>
  wrongEnds.map(([mistake, lives]) =>
    wrong(port, {
      mistake,
      caughtBy: [caughtBy],
      change(process) {
        const get = rawFinds(process)[port] as (key: unknown) => Promise<Consent | undefined>;
        const find = async (key: unknown, now: EpochSeconds) => {
          const found = await get(key);
          return found && lives(found.expiresAt, now) ? found : undefined;
        };
        return { find };
      },
    }),
  ),
);

function without(...names: readonly string[]): (record: object) => object {
  return (record) => Object.fromEntries(Object.entries(record).filter(([name]) => !names.includes(name)));
}

function withValues(change: (value: unknown) => unknown): (record: object) => object {
  return (record) => Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value)]));
}

const asText = withValues((value) => (typeof value === "number" ? String(value) : value));
const flagsAsNumbers = withValues((value) => (typeof value === "boolean" ? Number(value) : value));
const splitLists = withValues((value) => (Array.isArray(value) ? value.join(" ").split(" ") : value));
const sortedLists = withValues((value) => (Array.isArray(value) ? (value as string[]).toSorted() : value));
const inOneByte = withValues((value) =>
  typeof value === "string" ? Buffer.from(value, "latin1").toString("latin1") : value,
);
const shortened = withValues((value) => (typeof value === "string" ? value.slice(0, 191) : value));

/** The same change to every text in a record, however deep. */
function withTexts(change: (text: string) => string): (record: object) => object {
  return (record) =>
    JSON.parse(JSON.stringify(record), (_, value: unknown) =>
      typeof value === "string" ? change(value) : value,
    ) as object;
}

const wellFormed = withTexts((text) => text.replaceAll(/\p{Surrogate}/gu, "\ufffd"));
const endedByNul = withTexts((text) => text.replace(/\0.*/su, ""));

function nullsFor(...names: readonly string[]): (record: object) => object {
  // what a driver gives for an empty column
  return (record) => ({ ...Object.fromEntries(names.map((name) => [name, null])), ...record });
}

/** Fields that `find` drops. */
const droppedFields = {
  clients: ["trusted", "clientUri", "policyUri", "tosUri"],
  consents: ["grantedAt", "endMarks", "contextKey", "clientDigest"],
  authorizations: [
    "amr",
    "acr",
    "authTime",
    "refreshableUntil",
    "issuer",
    "authMethodId",
    "createdAt",
    "context",
    "endMarks",
    "clientAuthentication",
    "signedInFrom",
  ],
  authorizationCodes: ["codeChallenge", "nonce", "redirectUri", "redeemBefore"],
  refreshTokens: ["authorizationId"],
  accessTokens: ["subject", "authorizationId", "authTime", "amr", "acr", "issuer", "issuedAt", "claims"],
  clientRegistrations: ["jwks", "jwksUri", "allowTokenEndpointAudience", "selfDescription", "platform"],
} as const;

type Field = keyof typeof droppedFields;

const withLists = ["consents", "authorizations", "accessTokens"] as const;

/** What `find` makes of records, and in which ports the contract notices it. */
const alterations: readonly (readonly [
  mistake: string,
  alter: (record: object) => object,
  ports: readonly Field[],
])[] = [
  [
    "find gives null for what is missing",
    nullsFor("amr", "acr", "authTime", "refreshableUntil"),
    ["authorizations"],
  ],
  ["find gives null for what is missing", nullsFor("codeChallenge"), ["authorizationCodes"]],
  ["find gives null for what is missing", nullsFor("subject", "authorizationId"), ["accessTokens"]],
  ["find gives numbers as text", asText, [...withLists, "authorizationCodes", "refreshTokens"]],
  ["find gives flags as numbers", flagsAsNumbers, ["authorizations", "authorizationCodes", "refreshTokens"]],
  ["an empty list becomes one of an empty text", splitLists, withLists],
  ["lists are sorted", sortedLists, withLists],
  ["text loses what one byte cannot say", inOneByte, withLists],
  ["halves of surrogate pairs are replaced", wellFormed, ["authorizations", "accessTokens"]],
  ["text ends at NUL", endedByNul, ["authorizations", "accessTokens"]],
  ["text is cut at 191", shortened, ["consents"]],
  ...Object.entries(droppedFields).flatMap(([port, names]) =>
    names.map((name) => [`find drops ${name}`, without(name), [port as Field]] as const),
  ),
];

/** Adapters that lose a field, or give it back as something else. */
const fieldMistakes: readonly WrongAdapter[] = [
  ...alterations.flatMap(([mistake, alter, ports]) =>
    ports.map((port) => {
      const caughtBy = [
        `${port}.find returns ${port === "clients" ? "a registered client" : "what was stored"}`,
      ];
      return finding(port, { mistake, caughtBy, alter });
    }),
  ),
  finding("refreshTokens", {
    mistake: "find drops use",
    caughtBy: [
      "with a `use` uses a refresh token once",
      "with a `use` has one winner",
      "only some of the calls",
    ],
    alter: without("use"),
  }),
];

/** Adapters that lose every record, and say so in the words of a database. */
const lostRecords = (
  [
    ["clients", "clients.find returns a registered client"],
    ["consents", "consents.find returns what was stored"],
    ["authorizations", "authorizations.find returns what was stored"],
    ["authorizationCodes", "authorizationCodes.find returns what was stored"],
    ["refreshTokens", "refreshTokens.find returns what was stored"],
    ["accessTokens", "accessTokens.find returns what was stored"],
    ["clientRegistrations", "clientRegistrations.find returns what was stored"],
    ["parkedRequests", "parkedRequests.find returns what was stored"],
  ] as const
).map(([port, caughtBy]) =>
  wrong(port, {
    mistake: "find gives null for what was stored",
    caughtBy: [caughtBy],
    change: () => ({ find: async () => null as unknown as undefined }),
  }),
);

const parts = ["subject", "clientId", "contextKey"] as const;

function cutKey(part: (typeof parts)[number]): WrongAdapter {
  const cut = (key: ConsentKey): string => consentId({ ...key, [part]: key[part]?.slice(0, 100) ?? "" });
  return wrong("consents", {
    mistake: `the key has the first 100 characters of ${part}`,
    caughtBy: ["consents whose keys are nearly alike"],
    change: ({ database: { consents } }) => ({
      find: async (key, now) => live(await consents.get(cut(key)), now),
      save: (consent) => consents.set(cut(consent), consent),
      delete: ({ selection }) => consents.delete(cut(selection as ConsentKey)),
    }),
  });
}

type Store = (record: object, ...rest: readonly unknown[]) => Promise<void>;

function shortColumn<Port extends Ports>(
  port: Port,
  { method, caughtBy }: { method: string & keyof TableStorage[Port]; caughtBy: string },
): WrongAdapter {
  return wrong(port, {
    mistake: `${method} rejects records of more than 2,000 characters`,
    caughtBy: [caughtBy],
    change({ storage }) {
      const store = storage[port][method] as Store;
      const checked: Store = async (record, ...rest) => {
        if (JSON.stringify(record).length > 2_000) throw new Error("value too long for type varchar(2000)");
        return store(record, ...rest);
      };
      return { [method]: checked } as Partial<TableStorage[Port]>;
    },
  });
}

/** The part of the key of an end mark before the dot, and that behind it. */
const halves = { front: (key: string) => key.split(".")[0], back: (key: string) => key.split(".")[1] };

function halfKey(half: keyof typeof halves, caughtBy: readonly string[]): WrongAdapter {
  const partOf = halves[half];
  return wrong("endMarks", {
    mistake: `the ${half} part of the key counts alone`,
    caughtBy,
    change: ({ database }) => ({
      save: (endMark) => database.endMarks.set(partOf(endMark.key) ?? "", endMark),
      async find(keys, now) {
        const found = await database.endMarks.where(isLive(now));
        return keys.map((key) => found.find((one) => partOf(one.key) === partOf(key))?.mark);
      },
    }),
  });
}

/** Adapters that look at a part of what they store. */
const lengthMistakes: readonly WrongAdapter[] = [
  ...parts.map(cutKey),
  shortColumn("authorizations", {
    method: "create",
    caughtBy: "authorizations.find returns what was stored",
  }),
  shortColumn("accessTokens", { method: "create", caughtBy: "accessTokens.find returns what was stored" }),
  shortColumn("consents", { method: "save", caughtBy: "consents.find returns what was stored" }),
  halfKey("front", [
    "any number of keys",
    "endMarks.find returns nothing",
    "endMarks whose keys are nearly alike",
  ]),
  halfKey("back", ["endMarks.find returns nothing"]),
];

const month = 30 * 86_400;

/** No later than a month from now, as by a sweep that goes by age. */
const sooner = <T extends { readonly expiresAt: EpochSeconds }>(record: T, now: EpochSeconds): T => ({
  ...record,
  expiresAt: Math.min(record.expiresAt, now + month),
});

/** When the marks of a database were set, which all its processes share. */
const setAtIn = new WeakMap<object, Map<string, EpochSeconds>>();

/** Which marks of this table were set more than a month ago. */
function marksOf(table: object) {
  const setAt = setAtIn.get(table) ?? new Map<string, EpochSeconds>();
  setAtIn.set(table, setAt);
  return {
    note: (digest: string, now: EpochSeconds): void => void setAt.set(digest, now),
    isOld: (digest: string, now: EpochSeconds): boolean => now > (setAt.get(digest) ?? now) + month,
  };
}

/** Adapters that forget what was spent, revoked or ended after a month. */
const forgettingMistakes: readonly WrongAdapter[] = [
  ...planted("authorizationCodes", {
    "consume uses a code once": {
      "the mark of a consumed code is forgotten after a month"({ storage, database }) {
        const { note, isOld } = marksOf(database.authorizationCodes);
        return {
          async consume(handle, now) {
            note(handle.digest, now);
            return storage.authorizationCodes.consume(handle, now);
          },
          async find(handle, now) {
            if (isOld(handle.digest, now))
              await database.authorizationCodes.update(handle.digest, (code) => ({
                ...code,
                consumed: false,
              }));
            return storage.authorizationCodes.find(handle, now);
          },
        };
      },
    },
  }),
  ...planted("refreshTokens", {
    "rotate uses a refresh token once": {
      "the mark of a used token is forgotten after a month"({ storage, database }) {
        const { note, isOld } = marksOf(database.refreshTokens);
        return {
          async rotate(step, now) {
            const { digest } = step.from;
            if (isOld(digest, now))
              await database.refreshTokens.update(digest, (token) => ({ ...token, used: false }));
            note(digest, now);
            return storage.refreshTokens.rotate(step, now);
          },
        };
      },
    },
  }),
  ...planted("accessTokens", {
    "isRevoked is true after": {
      "a revocation is forgotten after a month": ({ storage }) => ({
        revoke: (token, now) => storage.accessTokens.revoke(sooner(token, now), now),
      }),
    },
  }),
  ...planted("authorizations", {
    "authorizations.revoke is visible": {
      "a revoked one is dropped after a month": ({ storage, database }) => ({
        async revoke(id, now) {
          await storage.authorizations.revoke(id, now);
          await database.authorizations.update(id, (record) => sooner(record, now));
        },
      }),
    },
  }),
  ...planted("endMarks", {
    "an end mark can be found until": {
      "a mark is forgotten after a month": ({ storage }) => ({
        save: (endMark, now) => storage.endMarks.save(sooner(endMark, now), now),
      }),
    },
  }),
  ...planted("clientAssertions", {
    "use uses an assertion once": {
      "use forgets after a month": ({ storage, database }) => ({
        async use(assertion, now) {
          await database.usedAssertions.deleteWhere((one) => !isLive(now)(one));
          return storage.clientAssertions.use(sooner(assertion, now), now);
        },
      }),
    },
  }),
];

/** Adapters that stop before the last record of a person. */
const partialMistakes: readonly WrongAdapter[] = [
  ...planted("authorizations", {
    "revokeAll and erase reach all": {
      "revokeAll stops after 1,500": ({ storage, database }) => ({
        async revokeAll(selection, now) {
          const own = (await notRevoked(database, selection)).slice(0, 1_500);
          for (const { authorizationId } of own) await storage.authorizations.revoke(authorizationId, now);
          return own.length;
        },
      }),
      "erase stops after 1,500": ({ storage, database }) => ({
        async erase(target, now) {
          if (target.authorizationId !== undefined) return storage.authorizations.erase(target, now);
          const own = await database.authorizations.where((one) => isSelected(target)(keyOf(one)));
          const some = new Set(own.slice(0, 1_500).map(({ authorizationId }) => authorizationId));
          return database.authorizations.deleteWhere(({ authorizationId }) => some.has(authorizationId));
        },
      }),
    },
  }),
  ...planted("consents", {
    "consents.list returns all": {
      "list gives 25 at most": ({ storage }) => ({
        list: async (subject, now) => (await storage.consents.list(subject, now)).slice(0, 25),
      }),
    },
  }),
  ...planted("endMarks", {
    "any number of keys": {
      "find answers for the first 30 keys": ({ storage }) => ({
        async find(keys, now) {
          const found = await storage.endMarks.find(keys.slice(0, 30), now);
          return keys.map((_, place) => found[place]);
        },
      }),
    },
  }),
];

/** Adapters that do not keep and give copies. */
const sharedMistakes: readonly WrongAdapter[] = [
  ...planted("authorizations", {
    "authorizations keeps and gives copies": {
      "create keeps the caller's own object"({ storage }) {
        const kept = new Map<string, Authorization>();
        return {
          create(record, now) {
            kept.set(record.authorizationId, record);
            return storage.authorizations.create(record, now);
          },
          async find(id, now) {
            const found = await storage.authorizations.find(id, now);
            return found && { ...(kept.get(id) ?? found), revoked: found.revoked };
          },
        };
      },
    },
  }),
  ...planted("consents", {
    "consents keeps and gives copies": {
      "save keeps the caller's own list"({ storage }) {
        const kept = new Map<string, readonly string[]>();
        return {
          save(consent, now) {
            kept.set(consentId(consent), consent.scopes);
            return storage.consents.save(consent, now);
          },
          async find(key, now) {
            const found = await storage.consents.find(key, now);
            return found && { ...found, scopes: kept.get(consentId(key)) ?? found.scopes };
          },
        };
      },
    },
  }),
  ...(["authorizationCodes", "refreshTokens", "accessTokens"] as const).map((port) =>
    cachingFind(port, {
      mistake: "find gives the object that it has given before",
      caughtBy: [`${port} keeps and gives copies`],
      give: (found) => found,
    }),
  ),
  ...planted("endMarks", {
    "endMarks keeps and gives copies": {
      "save keeps the caller's own object"({ storage }) {
        const kept = new Map<string, EndMark>();
        return {
          save(endMark, now) {
            kept.set(endMark.key, endMark);
            return storage.endMarks.save(endMark, now);
          },
          find: async (keys, now) =>
            (await storage.endMarks.find(keys, now)).map(
              (mark, place) => kept.get(keys[place] ?? "")?.mark ?? mark,
            ),
        };
      },
    },
  }),
];

/** A failure that becomes an answer. */
function swallowing<Port extends Ports>(
  port: Port,
  { method, answer }: { method: keyof TableStorage[Port] & string; answer: unknown },
): WrongAdapter {
  return wrong(port, {
    mistake: `${method} answers ${JSON.stringify(answer) ?? "nothing"} when it fails`,
    caughtBy: ["every call rejects"],
    change({ storage }) {
      const call = storage[port][method] as (...args: readonly unknown[]) => Promise<unknown>;
      const swallowed = (...args: readonly unknown[]): Promise<unknown> => call(...args).catch(() => answer);
      return { [method]: swallowed } as unknown as Partial<TableStorage[Port]>;
    },
  });
}

/** Adapters that answer where their database could not. */
const swallowedFailures: readonly WrongAdapter[] = [
  swallowing("clients", { method: "find", answer: undefined }),
  swallowing("clients", { method: "isBrowserOrigin", answer: false }),
  swallowing("consents", { method: "find", answer: undefined }),
  swallowing("consents", { method: "save", answer: undefined }),
  swallowing("consents", { method: "list", answer: [] }),
  swallowing("consents", { method: "delete", answer: false }),
  swallowing("authorizations", { method: "create", answer: undefined }),
  swallowing("authorizations", { method: "find", answer: undefined }),
  swallowing("authorizations", { method: "revokeAll", answer: 0 }),
  swallowing("authorizations", { method: "list", answer: [] }),
  swallowing("authorizations", { method: "erase", answer: 0 }),
  swallowing("authorizationCodes", { method: "create", answer: undefined }),
  swallowing("authorizationCodes", { method: "find", answer: undefined }),
  swallowing("authorizationCodes", { method: "consume", answer: "not-consumed" }),
  swallowing("refreshTokens", { method: "create", answer: undefined }),
  swallowing("refreshTokens", { method: "find", answer: undefined }),
  swallowing("refreshTokens", { method: "rotate", answer: "not-rotated" }),
  swallowing("atOnce", { method: "approve", answer: undefined }),
  swallowing("atOnce", { method: "redeem", answer: "not-consumed" }),
  swallowing("accessTokens", { method: "create", answer: undefined }),
  swallowing("accessTokens", { method: "find", answer: undefined }),
  swallowing("accessTokens", { method: "revoke", answer: undefined }),
  swallowing("accessTokens", { method: "isRevoked", answer: false }),
  swallowing("endMarks", { method: "find", answer: [undefined] }),
  swallowing("endMarks", { method: "save", answer: undefined }),
  swallowing("clientAssertions", { method: "use", answer: "used" }),
  swallowing("clientAssertions", { method: "use", answer: "used-before" }),
  swallowing("parkedRequests", { method: "create", answer: "created" }),
  swallowing("parkedRequests", { method: "create", answer: "taken" }),
  swallowing("parkedRequests", { method: "create", answer: "full" }),
  swallowing("parkedRequests", { method: "find", answer: undefined }),
  swallowing("parkedRequests", { method: "close", answer: "closed" }),
  swallowing("parkedRequests", { method: "close", answer: "not-open" }),
  swallowing("clientRegistrations", { method: "create", answer: "full" }),
  swallowing("clientRegistrations", { method: "find", answer: undefined }),
  swallowing("clientRegistrations", { method: "extend", answer: false }),
];

/** All of them. */
export const mistakesOfAllKinds: readonly WrongAdapter[] = [
  ...expiryMistakes,
  ...fieldMistakes,
  ...lostRecords,
  ...lengthMistakes,
  ...forgettingMistakes,
  ...partialMistakes,
  ...sharedMistakes,
  ...swallowedFailures,
];
