/** What a call reads and writes: two calls that touch nothing in common, or only read it, give the same in either order. */
import type { AuthorizationSelection, ConsentKey, RefreshToken, Storage } from "../../lib";
import type { TokenHandle } from "../../lib/protocol/token-value";

/** A thing that a call reads or writes. `*` at its end stands for all things that begin so. */
export interface Touch {
  readonly thing: string;
  readonly how: "reads" | "writes";
}

/** The time, keys and secrets of processes: operations look at them between their calls, so such a change fits nowhere else. */
export const everything: readonly Touch[] = [{ thing: "*", how: "writes" }];

const reads = (...things: readonly string[]): readonly Touch[] =>
  things.map((thing) => ({ thing, how: "reads" }));

const writes = (...things: readonly string[]): readonly Touch[] =>
  things.map((thing) => ({ thing, how: "writes" }));

/** The consents of this client in this context, or in every one, or those of all clients. There is one end user only. */
const consentsOf = ({ clientId, contextKey }: Omit<AuthorizationSelection, "subject">): string =>
  clientId === undefined ? "consent:*" : `consent:${clientId}:${contextKey ?? "*"}`;

const consentAt = ({ contextKey = "", ...key }: ConsentKey): string => consentsOf({ ...key, contextKey });

/** How each call of storage touches, by its arguments. A call that is not here is taken to touch everything. */
const table: Readonly<Record<string, (...args: never[]) => readonly Touch[]>> = {
  "clients.find": (clientId: string) => reads(`client:${clientId}`),
  "clients.isBrowserOrigin": () => reads("client:*"),
  "clients.save": () => writes("client:*"),
  "endMarks.find": (keys: readonly string[]) => reads(...keys.map((key) => `mark:${key}`)),
  "endMarks.save": ({ key }: { key: string }) => writes(`mark:${key}`),
  "consents.find": (key: ConsentKey) => reads(consentAt(key)),
  "consents.list": () => reads("consent:*"),
  "consents.save": (consent: ConsentKey) => writes(consentAt(consent)),
  "consents.delete": ({ selection }: { selection: AuthorizationSelection }) => writes(consentsOf(selection)),
  "authorizations.create": ({ authorizationId }: { authorizationId: string }) =>
    writes(`authorization:${authorizationId}`),
  "authorizations.find": (authorizationId: string) => reads(`authorization:${authorizationId}`),
  "authorizations.revoke": (authorizationId: string) => writes(`authorization:${authorizationId}`),
  "authorizations.revokeAll": () => writes("authorization:*"),
  "authorizations.narrowAll": () => writes("authorization:*"),
  "authorizations.erase": () => writes("authorization:*", "use:*"),
  "authorizations.list": () => reads("authorization:*", "use:*"),
  "authorizations.noteUse": (authorizationId: string) => [
    ...reads(`authorization:${authorizationId}`),
    ...writes(`use:${authorizationId}`),
  ],
  "authorizationCodes.create": ({ digest }: TokenHandle) => writes(`code:${digest}`),
  "authorizationCodes.find": ({ digest }: TokenHandle) => reads(`code:${digest}`),
  "authorizationCodes.consume": ({ digest, authorizationId }: TokenHandle) =>
    writes(`code:${digest}`, `use:${authorizationId}`),
  "refreshTokens.create": ({ digest }: TokenHandle) => writes(`refresh:${digest}`),
  "refreshTokens.find": ({ digest }: TokenHandle) => reads(`refresh:${digest}`),
  "refreshTokens.rotate": ({ from, to }: { from: TokenHandle; to: RefreshToken }) =>
    writes(`refresh:${from.digest}`, `refresh:${to.digest}`, `use:${from.authorizationId}`),
  "accessTokens.create": ({ digest }: { digest: string }) => writes(`access:${digest}`),
  "accessTokens.find": (digest: string) => reads(`access:${digest}`),
  "accessTokens.revoke": ({ tokenId }: { tokenId: string }) => writes(`revoked:${tokenId}`),
  "accessTokens.isRevoked": (tokenId: string) => reads(`revoked:${tokenId}`),
  "clientAssertions.use": ({ digest }: { digest: string }) => writes(`assertion:${digest}`),
  // an open one is counted beside those of its owner
  "parkedRequests.create": ({ key, state }: { key: string; state: string }) =>
    writes(state === "open" ? "parked:*" : `parked:${key}`),
  "parkedRequests.find": (key: string) => reads(`parked:${key}`),
  "parkedRequests.close": ({ key }: { key: string }) => writes(`parked:${key}`),
  // a table that is full drops others, or takes nothing
  "clientRegistrations.create": () => writes("registration:*"),
  "clientRegistrations.find": (clientId: string) => reads(`registration:${clientId}`),
  "clientRegistrations.extend": ({ clientId }: { clientId: string }) => writes(`registration:${clientId}`),
  "host.authenticate": () => reads("session"),
  "host.accept": () => reads("session"),
  "host.signOut": () => writes("session"),
  "host.decideConsent": () => [],
  "host.decideToken": () => [],
  // what is told then is compared with what was ended by then
  "host.claims": () => reads("authorization:*", "client:*", "mark:*", "revoked:*"),
  "host.approveRegistration": () => [],
};

/** What this call touches. */
export function touchesOf(name: string, args: readonly unknown[]): readonly Touch[] {
  const touches = table[name];
  return touches ? touches(...(args as never[])) : everything;
}

function isSame(one: string, other: string): boolean {
  if (one.endsWith("*")) return other.startsWith(one.slice(0, -1));
  return other.endsWith("*") ? one.startsWith(other.slice(0, -1)) : one === other;
}

/** False when the two give the same in either order. */
export function collide(one: readonly Touch[], other: readonly Touch[]): boolean {
  return one.some((a) =>
    other.some((b) => (a.how === "writes" || b.how === "writes") && isSame(a.thing, b.thing)),
  );
}

/** A storage whose every call is handed to `around` with its name and arguments. */
export function aroundCalls(
  storage: Storage,
  around: (name: string, args: readonly unknown[], call: () => Promise<unknown>) => Promise<unknown>,
): Storage {
  const ports = Object.entries(storage).map(([portName, port]) => {
    const methods = Object.entries(port as Record<string, (...args: unknown[]) => Promise<unknown>>);
    const wrapped = methods.map(([name, method]) => [
      name,
      (...args: unknown[]) => around(`${portName}.${name}`, args, () => method(...args)),
    ]);
    return [portName, Object.fromEntries(wrapped)];
  });
  return Object.fromEntries(ports) as Storage;
}
