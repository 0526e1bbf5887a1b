/** A host in which every secret is marked, every storage call kept, and everything that leaves it looked through. */
import { generateKeyPairSync, randomBytes, scryptSync } from "node:crypto";
import type { Express, Response as ExpressResponse } from "express";
import request from "supertest";
import { type AuthServerOptions, type Client, memoryStorage, type Storage } from "../../lib";
import { storageMethods } from "../../lib/storage/port";
import { type Pair, pairPath } from "./apis";
import { codeVerifier } from "../browser/authorization-request";
import { encode, type Fields } from "../browser/browser";
import { hear as subscribe, moments, unsubscribeAfterEachTest } from "../requests/channels";
import { keyed } from "../requests/client-assertions";
import { clients, machineSecret, otherSecret, webSecret } from "./clients";
import { stopClock } from "./clock";
import { testHost, type TestHost } from "./host";
import { deviceGrant } from "../requests/device-requests";
import { apisWithRegistration } from "../requests/registration";
import {
  deepText,
  leaksOf,
  markAnswer,
  newSecrets,
  partLength,
  type Secrets,
  type Written,
} from "../requests/marked-secrets";

/** Hears every answer of the app before it is sent. */
function hearAnswers(app: Express, hear: (written: Written) => void): void {
  app.use((_req, res: ExpressResponse, next) => {
    const end = res.end.bind(res) as (...args: unknown[]) => ExpressResponse;
    res.end = ((...args: unknown[]) => {
      const [body] = args;
      const text = typeof body === "string" || Buffer.isBuffer(body) ? body.toString() : "";
      hear({ status: res.statusCode, headers: { ...res.getHeaders() }, body: text });
      return end(...args);
    }) as typeof res.end;
    next();
  });
}

/** A storage call, with what it was asked and what it answered. */
export interface Call {
  readonly name: string;
  readonly args: readonly unknown[];
  answer?: unknown;
}

/** The same storage, with every argument and answer kept; `broken` makes one method fail as database drivers do. */
export function recordCalls(
  storage: Storage,
  { calls, broken }: { calls: Call[]; broken?: string },
): Storage {
  const ports = Object.entries(storage).map(([portName, port]) => {
    const methods = Object.entries(port as Record<string, (...args: unknown[]) => Promise<unknown>>);
    const recorded = methods.map(([methodName, method]) => [
      methodName,
      async (...args: unknown[]) => {
        const name = `${portName}.${methodName}`;
        const call: Call = { name, args: structuredClone(args) };
        calls.push(call);
        if (name === broken) {
          const cause = new Error(`constraint violated by ${JSON.stringify(args)}`);
          throw Object.assign(new Error(`${name}(${JSON.stringify(args)}) failed`, { cause }), { args });
        }
        const answer = await method(...args);
        call.answer = structuredClone(answer);
        return answer;
      },
    ]);
    return [portName, Object.fromEntries(recorded)];
  });
  return Object.fromEntries(ports) as Storage;
}

/** Every method of a storage that the server calls, such as `clients.find`. */
export const methodNames = Object.entries(storageMethods).flatMap(([portName, methods]) =>
  Object.keys(methods).map((methodName) => `${portName}.${methodName}`),
);

/** The secret that a person has chosen, for the client `human`. */
export const humanSecret = randomBytes(24).toString("base64url");

const salt = randomBytes(16);

const hash = scryptSync(humanSecret, salt, 32, { N: 2 ** 14, r: 8, p: 1 });

/** A client whose secret was chosen by a person. */
export const human: Client = {
  ...clients.machine,
  clientId: "human",
  name: "Human",
  secretDigests: [`scrypt:ln=14,r=8,p=1:${salt.toString("base64url")}:${hash.toString("base64url")}`],
};

/** A client that asks as a device. */
export const television: Client = {
  ...clients.native,
  clientId: "tv",
  subscriptions: { orders: { grantTypes: [deviceGrant] } },
};

/** The key that signs. */
export const signingKey = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;

const retiredKey = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;

/** Such a host, and what it has let out. */
export interface World extends TestHost {
  readonly secrets: Secrets;
  /** A new value that must not come out anywhere. */
  readonly canary: () => string;
  readonly calls: readonly Call[];
  /** Leaks of answers: what was found, and in which. */
  readonly leaks: object[];
  /** What the process has printed or warned of. */
  readonly printed: () => string;
  /** What was published to the channels of `node:diagnostics_channel`. */
  readonly published: readonly unknown[];
}

unsubscribeAfterEachTest();

function hearEverything(): readonly unknown[] {
  const published: unknown[] = [];
  const names = ["authmount:event", ...moments.map((moment) => `tracing:authmount:request:${moment}`)];
  for (const name of names) subscribe(name, (message) => void published.push(message));
  return published;
}

/** What may be different about it. */
export interface WorldOptions extends Partial<AuthServerOptions> {
  readonly broken?: string;
  readonly records?: readonly Client[];
  readonly before?: (app: Express) => void;
}

function watchOutput(): () => string {
  const spies = [
    jest.spyOn(process.stdout, "write"),
    jest.spyOn(process.stderr, "write"),
    jest.spyOn(process, "emitWarning"),
    ...(["log", "info", "warn", "error", "debug", "trace", "dir"] as const).map((name) =>
      jest.spyOn(console, name),
    ),
  ];
  return () => spies.map(({ mock }) => deepText(mock.calls)).join("\n");
}

/** The APIs of the host: at `orders`, requests may be pushed, tokens bound, and devices may ask. */
function highApis(): AuthServerOptions["apis"] {
  const { orders, ...others } = apisWithRegistration({}) as Required<AuthServerOptions["apis"]>;
  return {
    ...others,
    orders: { ...orders, pushedRequests: "optional", dpop: {}, deviceAuthorization: true } as never,
  };
}

/** Such a host, with the clock stopped. */
export function newWorld({ broken, records, before, ...options }: WorldOptions = {}): World {
  stopClock();
  const printed = watchOutput();
  const published = hearEverything();
  const secrets = newSecrets();
  for (const { secret } of [webSecret, otherSecret, machineSecret]) secrets.mark("client secret", secret);
  secrets.mark("client secret", humanSecret);
  secrets.mark("code verifier", codeVerifier);
  const sealing = [0, 1].map(() => secrets.mark("session secret", randomBytes(32).toString("base64url")));
  for (const key of [signingKey, retiredKey]) {
    const pem = key.export({ type: "pkcs8", format: "pem" }) as string;
    for (const line of pem.split("\n").filter((each) => each.length >= partLength && !each.startsWith("-"))) {
      secrets.mark("signing key", line);
    }
    secrets.mark("signing key", key.export({ format: "jwk" }).d ?? "");
  }
  const calls: Call[] = [];
  const leaks: object[] = [];
  const hear = (written: Written): void => {
    const found = leaksOf(secrets, written);
    if (found.length > 0) leaks.push({ found, ...written });
    markAnswer(secrets, written);
  };
  const memory = memoryStorage({ clients: records ?? [...Object.values(clients), human, keyed, television] });
  const host = testHost({
    secrets: sealing,
    signingKeys: [signingKey.export({ type: "pkcs8", format: "pem" }) as string, retiredKey],
    revocationLagSeconds: 0,
    lastUses: "calls",
    apis: highApis(),
    ...options,
    storage: recordCalls(options.storage ?? memory, { calls, ...(broken !== undefined && { broken }) }),
    before(app) {
      hearAnswers(app, hear);
      before?.(app);
    },
  });
  const canary = (): string => secrets.mark("presented value", randomBytes(32).toString("base64url"));
  return Object.assign(host, { secrets, canary, calls, leaks, printed, published });
}

/** Nothing that was let out, kept or printed holds a secret. */
export function expectNoLeak({ secrets, calls, leaks, printed, events, published }: World): void {
  expect(leaks).toEqual([]);
  expect(secrets.findIn(deepText(events))).toEqual([]);
  expect(published.length).toBeGreaterThan(0);
  expect(secrets.findIn(deepText(published))).toEqual([]);
  expect(secrets.findIn(deepText(calls))).toEqual([]);
  expect(secrets.findIn(printed())).toEqual([]);
}

/** One pair for each format of access tokens. */
export const pairs: readonly Pair[] = [{}, { api: "reports", method: "otp" }];

/** The route of an API. */
export const apiPath = ({ api = "orders" }: Pair): string => `/${api}`;

/** The header of a client that sends its secret there. */
export function basic(id: string, secret: string): Record<string, string> {
  return { Authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString("base64")}` };
}

/** Sends a form. */
export function post(
  world: World,
  { path, headers = {}, fields }: { path: string; headers?: object; fields: Fields },
) {
  return request(world.app)
    .post(path)
    .set(headers as Record<string, string>)
    .type("form")
    .send(encode(fields));
}

/** The form of a client that asks for a token of its own. */
export function forCredentials(clientId: string, secret: string): Fields {
  return { grant_type: "client_credentials", client_id: clientId, client_secret: secret };
}

/** The path of the token endpoint. */
export const tokenPath = `${pairPath()}/token`;
