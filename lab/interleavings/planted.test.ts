// Mistakes that are planted: the search must find each of them, and the schedule that it prints must show it again.
import type { Authorization, Storage } from "../../lib";
import { apiEndKey, subjectEndKey } from "../../lib/protocol/end-mark";
import { choicesOf, explore, lineOf, replay } from "./explore";
import type { OperationName } from "./operations";
import { type Format, type Host, issuers } from "./host";
import { describeFinding, type faultPlans, searched, stopTimers } from "./search";
import { type Memory, newWorld, type Setting } from "./worlds";

stopTimers();

interface Mistake {
  readonly plant?: (storage: Storage) => Storage;
  readonly plantIdentity?: Host["plantIdentity"];
  readonly names: readonly OperationName[];
  readonly plan?: keyof typeof faultPlans;
  readonly found: RegExp;
}

/** A call that waits until another one has been made. */
function postponed<Args extends readonly unknown[]>(call: (...args: Args) => Promise<unknown>) {
  const waiting: Args[] = [];
  return {
    later: async (...args: Args): Promise<void> => void waiting.push(args),
    now: async (): Promise<void> => {
      for (const args of waiting.splice(0)) await call(...args);
    },
  };
}

/** Extending says yes, whether there is such a registration or not. */
function extendingAny(storage: Storage): Storage {
  const extend: Storage["clientRegistrations"]["extend"] = async (registration, now) => {
    await storage.clientRegistrations.extend(registration, now);
    return true;
  };
  return { ...storage, clientRegistrations: { ...storage.clientRegistrations, extend } };
}

type Parked = NonNullable<Storage["parkedRequests"]>;

/** The same storage with other steps for pushed requests. */
function withParked(storage: Storage, steps: Partial<Parked>): Storage {
  return { ...storage, parkedRequests: { ...(storage.parkedRequests as Parked), ...steps } };
}

/** Nobody sees the mark under this key. */
const blindTo =
  (key: string) =>
  (storage: Storage): Storage => {
    const find: Storage["endMarks"]["find"] = async (keys, now) => {
      const found = await storage.endMarks.find(keys, now);
      return found.map((mark, place) => (keys[place] === key ? undefined : mark));
    };
    return { ...storage, endMarks: { ...storage.endMarks, find } };
  };

const blindToApi = blindTo(apiEndKey(issuers.opaque.api.audience));

type Stored = Parameters<Storage["accessTokens"]["create"]>[0];

/** The same storage, which keeps of a new access token what is left. */
function keeping(storage: Storage, left: (token: Stored) => Stored): Storage {
  const create: Storage["accessTokens"]["create"] = (token, now) =>
    storage.accessTokens.create(left(token), now);
  return { ...storage, accessTokens: { ...storage.accessTokens, create } };
}

type FindRefreshToken = Storage["refreshTokens"]["find"];

/** The same storage with another way to look for refresh tokens. */
function withFind(storage: Storage, find: FindRefreshToken): Storage {
  return { ...storage, refreshTokens: { ...storage.refreshTokens, find } };
}

/** Refresh tokens that are read without the key that they are bound to. */
function withoutKeys(storage: Storage): Storage {
  return withFind(storage, async (handle, now) => {
    const found = await storage.refreshTokens.find(handle, now);
    if (!found) return undefined;
    const { boundKey: _key, ...token } = found;
    return token;
  });
}

/** Mistakes about what is beside the family. */
const others: Readonly<Record<string, Mistake>> = {
  "a refresh token forgets the key that it is bound to": {
    names: ["refresh with the key", "refresh without the key"],
    found: /"refresh without the key" got tokens/,
    plant: withoutKeys,
  },
  "a used refresh token forgets the key that it is bound to": {
    names: ["replay without the key", "refresh with the key"],
    found: /"replay without the key" got tokens/,
    plant: withoutKeys,
  },
  "a used refresh token ends what the client has, whoever sends it": {
    names: ["refresh with the key", "replay without the key"],
    found: /a client with its key can no longer refresh, though nobody else has it/,
    plant: (storage) =>
      withFind(storage, async (handle, now) => {
        const found = await storage.refreshTokens.find(handle, now);
        if (found?.used) await storage.authorizations.revoke(found.authorizationId, now);
        return found;
      }),
  },
  "an assertion of an identity provider is used once in each process": {
    names: ["present an identity assertion", "present an identity assertion"],
    found: /an assertion of an identity provider was accepted [23] times/,
    plant: (storage) => ({ ...storage, clientAssertions: { use: async () => "used" } }),
  },
  "an assertion of an identity provider does not see the end of its person": {
    names: ["present an identity assertion", "revoke the subject"],
    found: /"revoke the subject" has resolved, and an access token of the vouched person still works/,
    plant: blindTo(subjectEndKey("alice")),
  },
  "an exchanged token forgets who acts": {
    names: ["exchange", "revoke the client"],
    found: /"revoke the client" has resolved, and an access token of the resource server still works/,
    plant: (storage) => keeping(storage, ({ actor: _actor, ...token }) => token),
  },
  "an exchanged token forgets of what it was made": {
    names: ["exchange", "take back a part"],
    found: /writing was taken back, and an access token of the resource server has it/,
    plant: (storage) => keeping(storage, (token) => ({ ...token, authorizationScopes: ["orders:read"] })),
  },
  "an exchanged token does not carry the end mark of its client": {
    names: ["exchange", "revoke the resource server"],
    found: /an access token of the resource server was acknowledged and no longer works/,
    plant: (storage) => keeping(storage, ({ clientEndMark: _mark, ...token }) => token),
  },
  "an end of the other API is not seen by what was exchanged": {
    names: ["exchange", "end the other API"],
    found: /"end the other API" has resolved, and an access token of the resource server still works/,
    plant: (storage) => ({ ...storage, endMarks: { ...storage.endMarks, save: async () => undefined } }),
  },
  "a pushed request is used up by each browser": {
    names: ["approve the pushed request", "approve the pushed request elsewhere"],
    found: /two browsers got codes for one pushed request/,
    plant: (storage) => withParked(storage, { create: async () => "created" }),
  },
  "a pushed request is looked for before it is used up": {
    names: ["approve the pushed request", "approve the pushed request elsewhere"],
    found: /two browsers got codes for one pushed request/,
    plant: (storage) =>
      withParked(storage, {
        async create(request, bound) {
          if (await storage.parkedRequests?.find(request.key, bound.now)) return "taken";
          await storage.parkedRequests?.create(request, bound);
          return "created";
        },
      }),
  },
  "a pushed request that is used up forgets who has used it": {
    names: ["approve the pushed request", "approve the pushed request"],
    found: /a pushed request was used up, and nobody got a code/,
    plant: (storage) => withParked(storage, { create: async () => "taken" }),
  },
  "a device is answered by each browser": {
    names: ["approve the device", "approve the device elsewhere"],
    found: /two browsers have answered one device/,
    plant: (storage) => withParked(storage, { close: async () => "closed" }),
  },
  "a device is looked for before its answer is stored": {
    names: ["approve the device", "approve the device elsewhere"],
    found: /two browsers have answered one device/,
    plant: (storage) =>
      withParked(storage, {
        async close(step, now) {
          if ((await storage.parkedRequests?.find(step.key, now))?.state !== "open") return "not-open";
          await storage.parkedRequests?.close(step, now);
          return "closed";
        },
      }),
  },
  "a no to a device is forgotten": {
    names: ["deny the device", "approve the device elsewhere"],
    found: /a no was told, and "approve the device elsewhere" gave a code/,
    plant: (storage) =>
      withParked(storage, {
        close: async (step, now) =>
          step.as === "denied" ? "closed" : (storage.parkedRequests as Parked).close(step, now),
      }),
  },
  "the code of a device buys tokens at each poll": {
    names: ["poll for what is approved", "poll for what is approved"],
    found: /a code has bought tokens twice/,
    plant: ({ authorizationCodes, ...storage }) => ({
      ...storage,
      authorizationCodes: { ...authorizationCodes, consume: async () => "consumed" },
    }),
  },
  "the token of a client itself does not carry its end mark": {
    names: ["ask for the client itself", "revoke the client"],
    found: /an access token of the client itself was acknowledged and no longer works/,
    plant(storage) {
      const create: Storage["accessTokens"]["create"] = ({ clientEndMark: _mark, ...token }, now) =>
        storage.accessTokens.create(token, now);
      return { ...storage, accessTokens: { ...storage.accessTokens, create } };
    },
  },
  "an end of the client is not seen by its own tokens": {
    names: ["ask for the client itself", "revoke the client"],
    found: /"revoke the client" has resolved, and an access token of the client itself still works/,
    plant: (storage) => ({ ...storage, endMarks: { ...storage.endMarks, save: async () => undefined } }),
  },
  "the token of a client itself does not carry the end mark of its API": {
    names: ["ask for the client itself", "end the API"],
    found: /an access token of the client itself was acknowledged and no longer works/,
    plant(storage) {
      const create: Storage["accessTokens"]["create"] = ({ apiEndMark: _mark, ...token }, now) =>
        storage.accessTokens.create(token, now);
      return { ...storage, accessTokens: { ...storage.accessTokens, create } };
    },
  },
  "an end of the API is not seen by clients' own tokens": {
    names: ["ask for the client itself", "end the API"],
    found: /"end the API" has resolved, and an access token of the client itself still works/,
    plant: blindToApi,
  },
  "an end of the API leaves no mark": {
    names: ["approve silently", "end the API"],
    found: /"end the API" has resolved, and a code of the family still works/,
    plant: (storage) => ({ ...storage, endMarks: { ...storage.endMarks, save: async () => undefined } }),
  },
  "a registration that has expired can be extended": {
    names: ["approve the registered client", "registrations expire"],
    found: /the approval of a registered client was acknowledged, and the client is unknown/,
    plant: extendingAny,
  },
  "the answers of a page leave no marks": {
    names: ["approve the registered client", "deny the registered client"],
    found: /a no was told, and "approve the registered client" gave a code/,
    plant: (storage) => ({ ...storage, endMarks: { ...storage.endMarks, save: async () => undefined } }),
  },
  "an answer does not look for the other one": {
    names: ["approve the registered client", "deny the registered client"],
    found: /a no was told, and "approve the registered client" gave a code/,
    plant(storage) {
      // such a look is for one mark; ends are looked for together
      const find: Storage["endMarks"]["find"] = async (keys, now) =>
        keys.length === 1 ? [undefined] : storage.endMarks.find(keys, now);
      return { ...storage, endMarks: { ...storage.endMarks, find } };
    },
  },
  "a registration that made room for another one can be extended": {
    names: ["approve the registered client", "register where there is no room"],
    found: /the approval of a registered client was acknowledged, and the client is unknown/,
    plant: extendingAny,
  },
  "a table that is full drops clients that people use": {
    names: ["approve the registered client", "register where there is no room"],
    found: /the approval of a registered client was acknowledged, and the client is unknown/,
    plant(storage) {
      // found, and counted as one that nobody uses
      const extend: Storage["clientRegistrations"]["extend"] = async ({ clientId }, now) =>
        (await storage.clientRegistrations.find(clientId, now)) !== undefined;
      return { ...storage, clientRegistrations: { ...storage.clientRegistrations, extend } };
    },
  },
  "a withdrawal does not look at the context": {
    names: ["withdraw the other context", "refresh"],
    found:
      /of the family was acknowledged and no longer works|what the person has allowed the family is forgotten/,
    plant(storage) {
      const revokeAll: Storage["authorizations"]["revokeAll"] = ({ contextKey: _key, ...selection }, now) =>
        storage.authorizations.revokeAll(selection, now);
      return { ...storage, authorizations: { ...storage.authorizations, revokeAll } };
    },
  },
  "a withdrawal forgets the consents of every context": {
    names: ["withdraw the other context", "refresh"],
    found: /what the person has allowed the family is forgotten/,
    plant(storage) {
      const forget: Storage["consents"]["delete"] = ({ selection, exceptEndMark }, now) => {
        const { contextKey: _key, ...all } = selection;
        return storage.consents.delete({ selection: all, exceptEndMark }, now);
      };
      return { ...storage, consents: { ...storage.consents, delete: forget } };
    },
  },
  "what is taken back leaves no mark": {
    names: ["take back a part", "approve"],
    found: /writing was taken back, and (?:a code of the family has it|the next visit for it is silent)/,
    plant: (storage) => ({ ...storage, endMarks: { ...storage.endMarks, save: async () => undefined } }),
  },
  "what is taken back stays in authorizations": {
    names: ["take back a part", "refresh"],
    found: /writing was taken back, and a refresh token of the family has it/,
    plant: (storage) => ({
      ...storage,
      authorizations: { ...storage.authorizations, narrowAll: async () => 0 },
    }),
  },
  "what is taken back does not look at the context": {
    names: ["take back a part in the other context", "refresh"],
    found: /a refresh token has lost scopes that the person has granted/,
    plant(storage) {
      const narrowAll: Storage["authorizations"]["narrowAll"] = ({ selection, scopes }, now) => {
        const { contextKey: _key, ...all } = selection;
        return storage.authorizations.narrowAll({ selection: all, scopes }, now);
      };
      return { ...storage, authorizations: { ...storage.authorizations, narrowAll } };
    },
  },
  "the host's no is told before it has ended anything": {
    names: ["refresh to the host's no", "introspect"],
    plan: "all",
    found: /"refresh to the host's no" has resolved, and a refresh token of the family still works/,
    plant(storage) {
      const revoke: Storage["authorizations"]["revoke"] = async (authorizationId, now) => {
        // not awaited
        void storage.authorizations.revoke(authorizationId, now).catch(() => undefined);
      };
      return { ...storage, authorizations: { ...storage.authorizations, revoke } };
    },
  },
  "an access token has all scopes, whatever the host says": {
    names: ["refresh to fewer scopes", "introspect"],
    found: /the host has said fewer scopes, and the access token has more/,
    plant(storage) {
      const scopes = ["orders:read", "orders:write"];
      const create: Storage["accessTokens"]["create"] = (token, now) =>
        storage.accessTokens.create({ ...token, scopes }, now);
      return { ...storage, accessTokens: { ...storage.accessTokens, create } };
    },
  },
  "each process keeps the jti that it has seen": {
    names: ["prove by the assertion", "prove by the assertion"],
    found: /an assertion was accepted [23] times/,
    plant(storage) {
      const seen = new Set<string>();
      const use: Storage["clientAssertions"]["use"] = async ({ digest }) => {
        if (seen.has(digest)) return "used-before";
        seen.add(digest);
        return "used";
      };
      return { ...storage, clientAssertions: { use } };
    },
  },
  "a jti is kept again when its acknowledgement was lost": {
    names: ["prove by the assertion", "introspect"],
    plan: "all",
    found: /an assertion was accepted 2 times/,
    plant(storage) {
      // the failure counts as "used": it may not have been kept
      const use: Storage["clientAssertions"]["use"] = (assertion, now) =>
        storage.clientAssertions.use(assertion, now).catch(() => "used" as const);
      return { ...storage, clientAssertions: { use } };
    },
  },
};

/** A look at authorizations that reads them so. */
function readingAs(
  storage: Storage,
  read: (authorization: Authorization) => Partial<Authorization>,
): Storage {
  const find: Storage["authorizations"]["find"] = async (authorizationId, now) => {
    const found = await storage.authorizations.find(authorizationId, now);
    return found && { ...found, ...read(found) };
  };
  return { ...storage, authorizations: { ...storage.authorizations, find } };
}

/** The looks see every authorization as in force. */
const inForce: Mistake["plantIdentity"] = ({ storage, clients }) => ({
  storage: readingAs(storage, () => ({ revoked: false })),
  clients,
});

const holder = { hasSubscription: true, isSelfDescribed: false, endMark: undefined, apiEnds: new Map() };

const rotatesAny: Storage["refreshTokens"]["rotate"] = async () => "rotated";

/** Mistakes about what is told of the person. */
const ofIdentity: Readonly<Record<string, Mistake>> = {
  "an ID token does not look whether the authorization was ended": {
    names: ["refresh", "withdraw"],
    found: /"withdraw" had ended it, and "refresh" gave an ID token/,
    plantIdentity: inForce,
  },
  "an ID token of a code does not look whether the authorization was ended": {
    names: ["redeem", "revoke the authorization of the code"],
    found: /"revoke the authorization of the code" had ended it, and "redeem" gave an ID token/,
    plantIdentity: inForce,
  },
  "an ID token does not look at the marks of the client and the API": {
    names: ["refresh", "end the API"],
    found: /"end the API" had ended it, and "refresh" gave an ID token/,
    plantIdentity({ storage, clients }) {
      const findHolder: typeof clients.findHolder = async (...asked) => {
        const found = await clients.findHolder(...asked);
        return found && { ...found, endMark: undefined, apiEnds: new Map() };
      };
      return { storage, clients: { ...clients, findHolder } };
    },
  },
  "an ID token does not look whether the client was disabled": {
    names: ["refresh", "disable the client"],
    found: /"disable the client" had ended it, and "refresh" gave an ID token/,
    plantIdentity: ({ storage, clients }) => ({
      storage,
      clients: { ...clients, findHolder: async () => ({ ...holder, asOf: 0 }) },
    }),
  },
  "an ID token does not look at what was taken back": {
    names: ["refresh", "take back a part"],
    found: /"take back a part" had ended it, and "refresh" gave an ID token/,
    plantIdentity: ({ storage, clients }) => ({
      storage: readingAs(storage, ({ grantedScopes, approvedScopes = grantedScopes }) => ({
        grantedScopes: approvedScopes,
      })),
      clients,
    }),
  },
  "userinfo does not look whether the authorization was ended": {
    names: ["ask userinfo", "revoke the authorization of the tokens"],
    found: /"revoke the authorization of the tokens" had ended it, and "ask userinfo" gave a userinfo answer/,
    plantIdentity: inForce,
  },
  "userinfo does not look whether its token was revoked": {
    names: ["ask userinfo", "revoke the access token"],
    found: /"revoke the access token" had ended it, and "ask userinfo" gave a userinfo answer/,
    plantIdentity: ({ storage, clients }) => ({
      storage: { ...storage, accessTokens: { ...storage.accessTokens, isRevoked: async () => false } },
      clients,
    }),
  },
  "an ID token names another person": {
    names: ["refresh", "introspect"],
    found: /"refresh" gave an ID token about somebody or for somebody else/,
    plant: (storage) => readingAs(storage, () => ({ subject: "bob" })),
  },
  "a code that was used up gives an ID token": {
    names: ["redeem", "redeem"],
    found: /a code has given an ID token twice/,
    plant(storage) {
      const consume: Storage["authorizationCodes"]["consume"] = async (handle, now) => {
        await storage.authorizationCodes.consume(handle, now);
        return "consumed";
      };
      return { ...storage, authorizationCodes: { ...storage.authorizationCodes, consume } };
    },
  },
  "a refresh token that was used up gives an ID token": {
    names: ["replay", "introspect"],
    found: /"replay" was a replay, and gave an ID token/,
    plant(storage) {
      const find: Storage["refreshTokens"]["find"] = async (handle, now) => {
        const found = await storage.refreshTokens.find(handle, now);
        return found && { ...found, used: false };
      };
      return { ...storage, refreshTokens: { ...storage.refreshTokens, find, rotate: rotatesAny } };
    },
  },
};

const mistakes: Readonly<Record<string, Mistake>> = {
  ...others,
  "a code is read, and then used up": {
    names: ["redeem", "redeem"],
    found: /a code has bought tokens twice/,
    plant: (storage) => ({
      ...storage,
      authorizationCodes: {
        ...storage.authorizationCodes,
        consume: async (handle, now) => {
          const code = await storage.authorizationCodes.find(handle, now);
          if (!code || code.consumed) return "not-consumed";
          await storage.authorizationCodes.consume(handle, now);
          return "consumed";
        },
      },
    }),
  },
  "a refresh token is read, and then rotated": {
    names: ["refresh", "refresh"],
    found: /2 refresh tokens of one family live/,
    plant: (storage) => ({
      ...storage,
      refreshTokens: {
        ...storage.refreshTokens,
        rotate: async (step, now) => {
          const token = await storage.refreshTokens.find(step.from, now);
          if (!token) return "not-rotated";
          if (token.used) return token.use ?? "not-rotated";
          const outcome = await storage.refreshTokens.rotate(step, now);
          if (outcome !== "rotated") await storage.refreshTokens.create(step.to, now);
          return "rotated";
        },
      },
    }),
  },
  "an approval does not look at the end marks again": {
    names: ["approve silently", "withdraw"],
    found: /"withdraw" has resolved, and a code of the family still works/,
    plant(storage) {
      const seen = new Map<string, Promise<readonly (string | undefined)[]>>();
      const find: Storage["endMarks"]["find"] = (keys, now) => {
        const answer = seen.get(keys.join()) ?? storage.endMarks.find(keys, now);
        seen.set(keys.join(), answer);
        return answer;
      };
      return { ...storage, endMarks: { ...storage.endMarks, find } };
    },
  },
  "a withdrawal revokes first, and then stores its mark": {
    names: ["approve silently", "withdraw"],
    found: /"withdraw" has resolved, and a code of the family still works/,
    plant(storage) {
      const { later, now: save } = postponed<Parameters<Storage["endMarks"]["save"]>>((...args) =>
        storage.endMarks.save(...args),
      );
      const revokeAll: Storage["authorizations"]["revokeAll"] = async (selection, now) => {
        const count = await storage.authorizations.revokeAll(selection, now);
        await save();
        return count;
      };
      return {
        ...storage,
        endMarks: { ...storage.endMarks, save: later },
        authorizations: { ...storage.authorizations, revokeAll },
      };
    },
  },
  "a code is used up before its refresh token is stored": {
    names: ["redeem", "introspect"],
    plan: "all",
    found: /"redeem" was interrupted at refreshTokens\.create, and its retry is refused/,
    plant(storage) {
      const { later, now: create } = postponed<Parameters<Storage["refreshTokens"]["create"]>>((...args) =>
        storage.refreshTokens.create(...args),
      );
      const consume: Storage["authorizationCodes"]["consume"] = async (handle, now) => {
        const outcome = await storage.authorizationCodes.consume(handle, now);
        await create();
        return outcome;
      };
      return {
        ...storage,
        refreshTokens: { ...storage.refreshTokens, create: later },
        authorizationCodes: { ...storage.authorizationCodes, consume },
      };
    },
  },
  "a replay is reported before it has ended anything": {
    names: ["redeem", "redeem"],
    found: /a replay was detected, and something works/,
    plant: (storage) => ({
      ...storage,
      authorizations: { ...storage.authorizations, revoke: async () => undefined },
    }),
  },
  "a rotation that failed counts as one that was made": {
    names: ["refresh", "introspect"],
    plan: "all",
    found: /a refresh token of the family was acknowledged and no longer works/,
    plant: (storage) => ({
      ...storage,
      refreshTokens: {
        ...storage.refreshTokens,
        rotate: (step, now) => storage.refreshTokens.rotate(step, now).catch(() => "rotated" as const),
      },
    }),
  },
};

const planted: readonly (readonly [name: string, format: Format, mistake: Mistake])[] = [
  ...Object.entries(mistakes).map(([name, mistake]) => [name, "opaque", mistake] as const),
  ...Object.entries(ofIdentity).map(([name, mistake]) => [name, "openid", mistake] as const),
];

describe("a planted mistake is found, and its schedule shows it again", () => {
  it.each(planted)("%s (%s)", async (_, format, { plant, plantIdentity, names, found, plan = "none" }) => {
    const right: Setting = { names, memory: "fresh", format };
    const setting: Setting = { ...right, plant, plantIdentity };
    const [finding] = (await searched(setting, { plan })).findings;
    if (!finding) throw new Error("nothing was found");
    expect(finding.problems.join("; ")).toMatch(found);
    expect(describeFinding(setting, finding)).toContain(
      `AUTHMOUNT_REPLAY="${names.join(" + ")} (fresh, ${format}): 0.0`,
    );
    const again = await replay(await newWorld(setting), choicesOf(lineOf(finding.choices)));
    expect(again).toEqual(finding);
    // and it is the mistake that breaks the rule
    const healthy = await replay(await newWorld(right), choicesOf(lineOf(finding.choices)));
    expect(healthy.problems).toEqual([]);
  });
});

describe("orders that are left out", () => {
  it.each([
    ["remembered", ["approve silently", "withdraw"], "opaque"],
    ["remembered", ["refresh", "revoke the refresh token"], "opaque"],
    ["remembered", ["redeem", "revoke the authorization of the code"], "opaque"],
    ["fresh", ["refresh", "client changed"], "opaque"],
    ["fresh", ["call the API", "delete the client"], "opaque"],
    ["fresh", ["ask for the client itself", "revoke the client"], "opaque"],
    ["remembered", ["approve silently", "end the API"], "opaque"],
    ["fresh", ["ask for the client itself", "end the API"], "opaque"],
    ["remembered", ["refresh to the host's no", "revoke the refresh token"], "opaque"],
    ["fresh", ["prove by the assertion", "prove by the assertion"], "opaque"],
    ["fresh", ["refresh", "disable the client"], "openid"],
    ["remembered", ["refresh", "revoke the authorization of the tokens"], "openid"],
  ] as readonly (readonly [Memory, readonly OperationName[], Format])[])(
    "%s: %j (%s) end in the same ways as those that are not",
    async (memory, names, format) => {
      const world = () => newWorld({ names, memory, format });
      const bounds = { maxSchedules: 10_000, faultsAt: () => [] };
      const all = await explore(world, { ...bounds, orders: "all" });
      const some = await explore(world, { ...bounds, orders: "different ones" });
      process.stderr.write(
        `${names.join(" + ")}: ${all.schedules} orders, ${some.schedules} different ones\n`,
      );
      expect([all.isComplete, all.findings]).toEqual([true, []]);
      expect([...some.summaries].toSorted()).toEqual([...all.summaries].toSorted());
      expect(some.schedules).toBeLessThan(all.schedules);
    },
  );
});
