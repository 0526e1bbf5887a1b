/** Good options of `createAuthServer`, and how a mistake in them is refused. */
import { generateKeyPairSync } from "node:crypto";
import { type AuthServerOptions, type Client, memoryStorage } from "../../lib";
import type { ListedClients } from "../../lib/clients/client-lookup";

/** Stands in every secret value of the options: no message may repeat it. */
export const marker = "hunter2";

/** A good signing key. */
export const goodKey = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;

/** The same key as a JWK. */
export const jwk = goodKey.export({ format: "jwk" });

/** The same key as PEM. */
export const pem = goodKey.export({ format: "pem", type: "pkcs8" }) as string;

/** A good secret. */
export const goodSecret = `${marker}-V1StGXR8_Z5jdHi6BmyT4cQwLkE7pNo`;

/** Storage without a client. */
export const emptyStorage = memoryStorage({ clients: [] });

/** An authentication method. */
export const authMethod: AuthServerOptions["authMethods"][string] = {
  authenticate: () => ({ kind: "denied" }),
};

/** A good API. */
export const goodApi = {
  audience: "https://api.example/orders",
  authMethods: ["password"],
  scopes: { "orders:read": "See your orders" },
};

/** Good options. */
export const goodOptions: AuthServerOptions = {
  baseUrl: "https://host.example/login",
  secrets: [goodSecret],
  signingKeys: [goodKey],
  storage: emptyStorage,
  authMethods: { password: authMethod },
  apis: { orders: goodApi },
};

/** Good options but for these. */
export function withChanges(changes: object): AuthServerOptions {
  return { ...goodOptions, ...changes };
}

/** The TypeError that a mistake throws. */
export async function thrownBy(act: () => unknown): Promise<TypeError> {
  try {
    await act();
  } catch (error) {
    if (error instanceof TypeError) return error;
    throw error;
  }
  throw new Error("nothing was refused");
}

/**
 * A mistake that is refused by its path, with its code, and without a value that is nobody's business.
 */
export async function expectRefusal(
  act: () => unknown,
  { who, path, code }: { who: string; path: string; code: string },
): Promise<void> {
  const { message, stack, cause, ...others } = await thrownBy(act);
  expect(message.slice(0, `${who}: ${path} `.length)).toBe(`${who}: ${path} `);
  expect(others).toMatchObject({ code });
  const pemLines = pem.split("\n").filter((line) => line !== "" && !line.startsWith("-----"));
  for (const value of [marker, jwk.d ?? "", ...pemLines]) {
    expect(message).not.toContain(value);
    expect(stack).not.toContain(value);
  }
  expect(cause).toBeUndefined();
}

/** Options without any weakness: storage that is not in memory, everything at one origin, and a listener. */
export const strongOptions: AuthServerOptions = {
  ...goodOptions,
  storage: Object.fromEntries(
    Object.entries(emptyStorage).map(([name, port]) => [name, { ...(port as object) }]),
  ) as unknown as AuthServerOptions["storage"],
  apis: { orders: { ...goodApi, audience: "https://host.example/orders" } },
  onEvent: () => undefined,
};

/** Strong options but for these. */
export function strongWith(changes: object): AuthServerOptions {
  return { ...strongOptions, ...changes };
}

/** Strong options but for these of the API. */
export function strongWithApi(changes: object): AuthServerOptions {
  return strongWith({ apis: { orders: { ...strongOptions.apis["orders"], ...changes } } });
}

/** Strong options with these clients, which are known from the start. */
export function strongWithClients(...records: readonly Client[]): AuthServerOptions {
  const { storage } = strongOptions;
  const clients: ListedClients = { ...storage.clients, records };
  return strongWith({ storage: { ...storage, clients } });
}
