/** Calls of storage, each with what must hold after a try that failed inside, and after the next one. RFC 6749 §4.1.2, §10.5. */
import { clientEndKey } from "../../lib/protocol/end-mark";
import type { CompleteStorage } from "../../lib/storage/port";
import type { ClientRegistry } from "../../lib";
import {
  newAccessToken,
  newAssertion,
  newAuthorization,
  newClients,
  newCode,
  newConsent,
  newDeviceRequest,
  newEndMark,
  newId,
  newParkedRequest,
  newRefreshToken,
  newRegistration,
} from "../../lib/testing/contract/records";

/** A storage with a client table that can be written. */
export type WholeStorage = CompleteStorage & { readonly clients: ClientRegistry };

/** A call that is about to fail inside, and what it must leave. */
interface OneCall {
  /** The call. Whoever makes it again makes a new record, where a record is new by its kind. */
  readonly call: () => Promise<unknown>;
  /** Holds at every moment: after a try that failed, and for another process between any two steps. */
  readonly always?: () => Promise<void>;
  /** Holds once a try has resolved. `answers` has one for each try that did. */
  readonly done: (answers: readonly unknown[]) => Promise<void>;
}

const now: number = Math.floor(Date.now() / 1000);

const count = (answers: readonly unknown[], answer: string): number =>
  answers.filter((one) => one === answer).length;

/** Three authorizations of one person for one client, and one for another client. */
async function threeAndOne({ authorizations }: WholeStorage) {
  const of = { subject: newId(), clientId: newId() };
  const three = [1, 2, 3].map(() => newAuthorization(now, of));
  const other = newAuthorization(now, { subject: of.subject });
  for (const one of [...three, other]) await authorizations.create(one, now);
  const { subject, clientId, apiId } = three[0]!;
  const find = ({ authorizationId }: { authorizationId: string }) =>
    authorizations.find(authorizationId, now);
  const otherStands = async (): Promise<void> => expect(await find(other)).toEqual(other);
  return { three, find, selection: { subject, clientId, apiId }, always: otherStands };
}

/** A record that is new at each try, and found once it is stored. */
function creating<Made>(
  make: () => Made,
  { create, find }: { create: (one: Made) => Promise<unknown>; find: (one: Made) => Promise<unknown> },
): OneCall {
  let last = make();
  return {
    call: () => create((last = make())),
    done: async () => expect(await find(last)).toEqual(last),
  };
}

type Prepare = (storage: WholeStorage) => Promise<OneCall>;

const ofClients: Readonly<Record<string, Prepare>> = {
  async "clients.save"({ clients }) {
    const [, client] = newClients();
    const { origin } = new URL(client.redirectUris[0]!);
    return {
      call: () => clients.save(client),
      async always() {
        if (await clients.find(client.clientId)) expect(await clients.isBrowserOrigin(origin)).toBe(true);
      },
      done: async () => expect(await clients.find(client.clientId)).toEqual(client),
    };
  },
  async "clients.replace"({ clients }) {
    const [, from] = newClients();
    const origin = `https://${newId().toLowerCase().replaceAll(/[-_]/g, "x")}.example`;
    const to = { ...from, redirectUris: [`${origin}/callback`] };
    await clients.save(from);
    return {
      call: () => clients.replace({ from, to }),
      async always() {
        const found = await clients.find(from.clientId);
        expect([from, to]).toContainEqual(found);
        expect(await clients.isBrowserOrigin(origin)).toBe(found?.redirectUris[0] === to.redirectUris[0]);
      },
      async done(answers) {
        expect(count(answers, "replaced")).toBeLessThanOrEqual(1);
        expect(await clients.find(from.clientId)).toEqual(to);
        expect(await clients.replace({ from, to })).toBe("not-replaced");
      },
    };
  },
  async "clients.delete"({ clients, endMarks }) {
    const [, client] = newClients();
    const { clientId } = client;
    const markNow = async () => (await endMarks.find([clientEndKey(clientId)], now))[0];
    const seen = new Set<string | undefined>();
    await clients.save(client);
    return {
      call: () => clients.delete(clientId),
      async always() {
        // the client first, as the server does: what it issues then is born under the mark
        if (await clients.find(clientId)) seen.add(await markNow());
        else expect(await markNow()).toBeDefined();
      },
      async done() {
        expect(await clients.find(clientId)).toBeUndefined();
        expect(seen).not.toContain(await markNow());
      },
    };
  },
  async "clientAssertions.use"({ clientAssertions }) {
    const assertion = newAssertion(now);
    return {
      call: () => clientAssertions.use(assertion, now),
      async done(answers) {
        expect(count(answers, "used")).toBeLessThanOrEqual(1);
        expect(await clientAssertions.use(assertion, now)).toBe("used-before");
      },
    };
  },
  async "clientRegistrations.create"({ clientRegistrations }) {
    let last = newRegistration(now);
    return {
      call() {
        last = newRegistration(now);
        return clientRegistrations.create(last, { limit: 1_000, now });
      },
      done: async () =>
        expect(await clientRegistrations.find(last.client.clientId, now)).toEqual(last.client),
    };
  },
  async "clientRegistrations.extend"({ clientRegistrations }) {
    const { client, expiresAt } = newRegistration(now);
    const extended = { clientId: client.clientId, expiresAt: expiresAt + 100 };
    await clientRegistrations.create({ client, expiresAt }, { limit: 1_000, now });
    return {
      call: () => clientRegistrations.extend(extended, now),
      always: async () => expect(await clientRegistrations.find(client.clientId, now)).toEqual(client),
      done: async () =>
        expect(await clientRegistrations.find(client.clientId, expiresAt + 1)).toEqual(client),
    };
  },
  async "parkedRequests.create"({ parkedRequests }) {
    const request = newParkedRequest(now);
    return {
      call: () => parkedRequests.create(request, { now }),
      async done(answers) {
        expect(count(answers, "created")).toBeLessThanOrEqual(1);
        expect(await parkedRequests.find(request.key, now)).toEqual(request);
        expect(await parkedRequests.create({ ...request, by: newId() }, { now })).toBe("taken");
      },
    };
  },
  async "parkedRequests.close"({ parkedRequests }) {
    const request = newDeviceRequest(now);
    const step = { key: request.key, as: "approved", by: newId() } as const;
    await parkedRequests.create(request, { limit: 5, now });
    return {
      call: () => parkedRequests.close(step, now),
      async done(answers) {
        expect(count(answers, "closed")).toBeLessThanOrEqual(1);
        expect(await parkedRequests.find(request.key, now)).toMatchObject({ state: "approved", by: step.by });
        expect(await parkedRequests.close({ ...step, as: "denied", by: newId() }, now)).toBe("not-open");
      },
    };
  },
};

const ofPeople: Readonly<Record<string, Prepare>> = {
  async "consents.save"({ consents }) {
    const consent = newConsent(now);
    return {
      call: () => consents.save(consent, now),
      async done() {
        expect(await consents.find(consent, now)).toEqual(consent);
        expect(await consents.list(consent.subject, now)).toEqual([consent]);
      },
    };
  },
  async "consents.delete"({ consents }) {
    const consent = newConsent(now);
    const other = newConsent(now, { subject: consent.subject });
    for (const one of [consent, other]) await consents.save(one, now);
    const { subject, clientId, apiId } = consent;
    return {
      call: () => consents.delete({ selection: { subject, clientId, apiId }, exceptEndMark: newId() }, now),
      always: async () => expect(await consents.find(other, now)).toEqual(other),
      done: async () => expect(await consents.list(subject, now)).toEqual([other]),
    };
  },
  async "endMarks.save"({ endMarks }) {
    const mark = newEndMark(now);
    return {
      call: () => endMarks.save(mark, now),
      done: async () => expect(await endMarks.find([mark.key], now)).toEqual([mark.mark]),
    };
  },
  async "authorizations.create"({ authorizations }) {
    const subject = newId();
    let last = newAuthorization(now, { subject });
    return {
      call() {
        last = newAuthorization(now, { subject });
        return authorizations.create(last, now);
      },
      // what can be found by its id alone would be found by no end
      async always() {
        const listed = await authorizations.list(subject, { limit: 10 }, now);
        if (await authorizations.find(last.authorizationId, now))
          expect(listed.map(({ authorizationId }) => authorizationId)).toContain(last.authorizationId);
      },
      done: async () => expect(await authorizations.find(last.authorizationId, now)).toEqual(last),
    };
  },
  async "authorizations.revoke"(storage) {
    const { three, find, always } = await threeAndOne(storage);
    const { authorizationId } = three[0]!;
    return {
      call: () => storage.authorizations.revoke(authorizationId, now),
      always,
      done: async () => expect((await find(three[0]!))?.revoked ?? true).toBe(true),
    };
  },
  async "authorizations.revokeAll"(storage) {
    const { three, find, selection, always } = await threeAndOne(storage);
    return {
      call: () => storage.authorizations.revokeAll(selection, now),
      always,
      async done() {
        for (const one of three) expect((await find(one))?.revoked ?? true).toBe(true);
      },
    };
  },
  async "authorizations.narrowAll"(storage) {
    const { three, find, selection, always } = await threeAndOne(storage);
    return {
      call: () => storage.authorizations.narrowAll({ selection, scopes: ["orders:read"] }, now),
      always,
      async done() {
        for (const one of three)
          expect(await find(one)).toMatchObject({
            grantedScopes: ["orders:read"],
            approvedScopes: one.grantedScopes,
          });
      },
    };
  },
  async "authorizations.erase"(storage) {
    const { three, find, selection } = await threeAndOne(storage);
    const { subject } = selection;
    return {
      call: () => storage.authorizations.erase({ subject }, now),
      // one that no list has would be revoked by nobody
      async always() {
        const stands = await Promise.all(three.map(find));
        const listed = await storage.authorizations.list(subject, { limit: 10 }, now);
        const ids = listed.map(({ authorizationId }) => authorizationId);
        for (const one of stands) if (one) expect(ids).toContain(one.authorizationId);
      },
      async done() {
        expect(await storage.authorizations.list(subject, { limit: 10 }, now)).toEqual([]);
        for (const one of three) expect(await find(one)).toBeUndefined();
      },
    };
  },
  async "authorizations.erase (one)"(storage) {
    const { three, find, selection, always } = await threeAndOne(storage);
    const [{ authorizationId }, ...rest] = three as [(typeof three)[0], ...typeof three];
    return {
      call: () => storage.authorizations.erase({ subject: selection.subject, authorizationId }, now),
      always,
      async done() {
        expect(await find({ authorizationId })).toBeUndefined();
        for (const one of rest) expect(await find(one)).toEqual(one);
      },
    };
  },
};

const ofTokens: Readonly<Record<string, Prepare>> = {
  async "authorizationCodes.create"({ authorizationCodes }) {
    return creating(() => newCode(now), {
      create: (one) => authorizationCodes.create(one, now),
      find: (one) => authorizationCodes.find(one, now),
    });
  },
  async "authorizationCodes.consume"({ authorizationCodes }) {
    const code = newCode(now);
    await authorizationCodes.create(code, now);
    return {
      call: () => authorizationCodes.consume(code, now),
      always: async () => expect(await authorizationCodes.find(code, now)).toBeDefined(),
      async done(answers) {
        expect(count(answers, "consumed")).toBeLessThanOrEqual(1);
        expect(await authorizationCodes.consume(code, now)).toBe("not-consumed");
        expect(await authorizationCodes.find(code, now)).toEqual({ ...code, consumed: true });
      },
    };
  },
  async "refreshTokens.create"({ refreshTokens }) {
    return creating(() => newRefreshToken(now), {
      create: (one) => refreshTokens.create(one, now),
      find: (one) => refreshTokens.find(one, now),
    });
  },
  async "refreshTokens.rotate"({ refreshTokens }) {
    const from = newRefreshToken(now);
    const { authorizationId } = from;
    const successors: ReturnType<typeof newRefreshToken>[] = [];
    const rotate = () => {
      const to = newRefreshToken(now, { authorizationId });
      successors.push(to);
      return refreshTokens.rotate({ from, to }, now);
    };
    const found = async (): Promise<number> => {
      const all = await Promise.all(successors.map((one) => refreshTokens.find(one, now)));
      return all.filter((one) => one !== undefined).length;
    };
    await refreshTokens.create(from, now);
    return {
      call: rotate,
      // used and succeeded, or neither
      always: async () =>
        expect(await found()).toBe((await refreshTokens.find(from, now))?.used === true ? 1 : 0),
      async done(answers) {
        expect(count(answers, "rotated")).toBeLessThanOrEqual(1);
        expect(await rotate()).toBe("not-rotated");
        expect(await found()).toBe(1);
      },
    };
  },
  async "accessTokens.create"({ accessTokens }) {
    return creating(() => newAccessToken(now), {
      create: (one) => accessTokens.create(one, now),
      find: (one) => accessTokens.find(one.digest, now),
    });
  },
  async "accessTokens.revoke"({ accessTokens }) {
    const token = newAccessToken(now);
    await accessTokens.create(token, now);
    return {
      call: () => accessTokens.revoke(token, now),
      done: async () => expect(await accessTokens.isRevoked(token.tokenId, now)).toBe(true),
    };
  },
};

const atOnce: Readonly<Record<string, Prepare>> = {
  async "atOnce.approve"({ atOnce: steps, authorizations, authorizationCodes }) {
    let [authorization, code] = [newAuthorization(now), newCode(now)];
    return {
      async call() {
        authorization = newAuthorization(now);
        const { authorizationId } = authorization;
        code = newCode(now, { authorizationId });
        await steps?.approve?.({ authorization, code }, now);
      },
      async always() {
        const { authorizationId } = authorization;
        const both = [
          await authorizations.find(authorizationId, now),
          await authorizationCodes.find(code, now),
        ];
        expect(new Set(both.map((one) => one !== undefined)).size).toBe(1);
      },
      async done() {
        if (steps?.approve) expect(await authorizationCodes.find(code, now)).toEqual(code);
      },
    };
  },
  async "atOnce.redeem"({ atOnce: steps, authorizationCodes, refreshTokens }) {
    const code = newCode(now);
    const { authorizationId } = code;
    const paid: ReturnType<typeof newRefreshToken>[] = [];
    await authorizationCodes.create(code, now);
    return {
      async call() {
        const refreshToken = newRefreshToken(now, { authorizationId });
        paid.push(refreshToken);
        return steps?.redeem?.({ code, refreshToken, accessToken: newAccessToken(now) }, now);
      },
      async always() {
        const all = await Promise.all(paid.map((one) => refreshTokens.find(one, now)));
        const isConsumed = (await authorizationCodes.find(code, now))?.consumed === true;
        expect(all.filter((one) => one !== undefined)).toHaveLength(isConsumed ? 1 : 0);
      },
      async done(answers) {
        expect(count(answers, "consumed")).toBeLessThanOrEqual(1);
        if (steps?.redeem) expect(await authorizationCodes.consume(code, now)).toBe("not-consumed");
      },
    };
  },
};

/** Every call that writes. */
export const writingCalls: Readonly<Record<string, Prepare>> = {
  ...ofClients,
  ...ofPeople,
  ...ofTokens,
  ...atOnce,
};
