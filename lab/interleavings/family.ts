/**
 * A family of tokens at the moment before operations begin: Alice has allowed the client something, and it has used that. And what is
 * there beside it: a token for the client itself, what Alice has allowed in another context, and a client that has registered itself.
 */
import type { AuthorizationContext, Client, Storage } from "../../lib";
import { boundClient, naming, proving } from "./bound-client";
import { client, familyScopes, type Format, newHost, type Host, type Write } from "./host";
import { type NamedPage, newProcess, type Outcome, type Process, type Visit } from "./server";
import { codeVerifier } from "../../__tests__/browser/authorization-request";
import { digestToken } from "../../lib/protocol/token-value";
import { aroundCalls } from "./touches";

/** What is beside the family only where an operation needs it. */
export type Part =
  | "client itself"
  | "other context"
  | "registered client"
  | "pushed request"
  | "bound client"
  | "identity provider"
  | "resource server"
  | "device";

/** Whose a text is. */
export type Owner =
  | "family"
  | Exclude<Part, "pushed request" | "bound client" | "identity provider">
  | "keyed client"
  | "vouched person";

/** A text that a client, or a thief, has. */
export interface Held {
  readonly kind: "refresh token" | "access token" | "code";
  readonly text: string;
  readonly owner: Owner;
  /** The authorization that it descends from; none of a token for a client itself. */
  readonly authorizationId?: string;
}

/** What Alice has allowed the same client in another context. */
interface OtherContext {
  readonly refreshToken: string;
  readonly accessToken: string;
  readonly authorizationId: string;
  /** A consent page that Alice sees there. */
  readonly page: NamedPage;
}

/** A client that nobody has approved yet. */
interface RegisteredClient {
  readonly client: Pick<Client, "clientId" | "redirectUris">;
  readonly credentials: Readonly<Record<"client_id" | "client_secret", string>>;
  /** A consent page that Alice sees about it. */
  readonly page: NamedPage;
}

/** What two devices of the client have. */
interface Devices {
  /** The code of one that nobody has answered. */
  readonly open: string;
  /** The pages that two browsers show of it. */
  readonly pages: readonly [one: NamedPage, other: NamedPage];
  /** The code of one that Alice has said yes to. */
  readonly approved: string;
}

/** What there is before operations begin. */
export interface Family {
  readonly format: Format;
  /** The refresh tokens in their order: the last one is unused, and the one before it can be repeated. */
  readonly refreshTokens: readonly [replayed: string, retried: string, current: string];
  /** The access tokens that came with them. */
  readonly accessTokens: readonly string[];
  /** A code that was not redeemed yet, of another authorization. */
  readonly code: string;
  /** A consent page that Alice sees. */
  readonly page: NamedPage;
  /** The authorizations of the refresh tokens and of the code. */
  readonly authorizationIds: readonly [ofTokens: string, ofCode: string];
  /** An access token for the client itself. */
  readonly ownToken: string;
  readonly other: OtherContext;
  readonly registered: RegisteredClient;
  /** The refresh tokens of a client whose tokens are bound to a key: the one before was used. */
  readonly boundTokens: readonly [used: string, current: string];
  readonly devices: Devices;
  /** The pages that two browsers show of one pushed request. Nothing of it is stored. */
  readonly pushedPages: readonly [one: NamedPage, other: NamedPage];
  readonly writes: Readonly<Record<"family" | Part, readonly Write[]>>;
}

/** The other context. */
const otherContext: AuthorizationContext = { key: "tea" };

/** What Alice has allowed there. */
export const otherSelection = {
  subject: "alice",
  clientId: client.clientId,
  apiId: "orders",
  contextKey: otherContext.key,
} as const;

/** The visit at which approvals of this owner are given without a page. */
export function visitOf(owner: Owner, { registered }: Family): Visit {
  if (owner === "other context") return { context: otherContext };
  return owner === "registered client" ? { client: registered.client } : {};
}

/** The id of the authorization of a refresh token or a code. */
export function authorizationOf(text: string): string {
  return text.split(".")[0] ?? "";
}

/** The same storage, and what has been written since the last look. */
function recording(storage: Storage): { storage: Storage; taken: () => readonly Write[] } {
  const writes: Write[] = [];
  const recorded = aroundCalls(storage, (name, args, call) => {
    const [port, method] = name.split(".") as [keyof Storage, string];
    if (!/^(?:find|list|isRevoked|isBrowserOrigin)$/.test(method)) writes.push({ port, method, args });
    return call();
  });
  return { storage: recorded, taken: () => writes.splice(0) };
}

function textOf(
  { body = {} }: Outcome,
  name: "access_token" | "refresh_token" | "client_id" | "client_secret" | "device_code" | "user_code",
): string {
  const text = body[name];
  if (typeof text !== "string") throw new Error(`the preparation got no ${name}`);
  return text;
}

const redeem = (process: Process, code: string): Promise<Outcome> =>
  process.post("token", { grant_type: "authorization_code", code });

async function newTokens(
  process: Process,
  { all, ofCode }: (typeof familyScopes)[Format],
): Promise<Omit<Family, "format" | "writes" | Others>> {
  const { code: first = "" } = await process.answer(await process.show(all), "yes");
  const redeemed = await redeem(process, first);
  const refresh = (from: Outcome): Promise<Outcome> =>
    process.post("token", { grant_type: "refresh_token", refresh_token: textOf(from, "refresh_token") });
  const second = await refresh(redeemed);
  const third = await refresh(second);
  const answers = [redeemed, second, third];
  const [a, b, c] = answers.map((answer) => textOf(answer, "refresh_token"));
  const { code = "" } = await process.silent({}, ofCode);
  return {
    refreshTokens: [a ?? "", b ?? "", c ?? ""],
    accessTokens: answers.map((answer) => textOf(answer, "access_token")),
    code,
    page: await process.show(all),
    authorizationIds: [authorizationOf(first), authorizationOf(code)],
  };
}

type Others = "ownToken" | "other" | "registered" | "pushedPages" | "boundTokens" | "devices";

async function newOtherContext(process: Process): Promise<OtherContext> {
  const visit: Visit = { context: otherContext };
  const { code = "" } = await process.answer(await process.show("orders:read", visit), "yes");
  const redeemed = await redeem(process, code);
  return {
    refreshToken: textOf(redeemed, "refresh_token"),
    accessToken: textOf(redeemed, "access_token"),
    authorizationId: authorizationOf(code),
    page: await process.show(familyScopes.opaque.all, visit),
  };
}

async function newRegisteredClient(process: Process): Promise<RegisteredClient> {
  const registered = await process.register();
  const clientId = textOf(registered, "client_id");
  const redirectUris = registered.body?.["redirect_uris"] as readonly string[];
  return {
    client: { clientId, redirectUris },
    credentials: { client_id: clientId, client_secret: textOf(registered, "client_secret") },
    page: await process.show("orders:read", { client: { clientId, redirectUris } }),
  };
}

async function newDevices(process: Process): Promise<Devices> {
  const ask = async (): Promise<{ readonly code: string; readonly show: () => Promise<NamedPage> }> => {
    const asked = await process.post("device", { scope: "orders:read" });
    const device = { userCode: textOf(asked, "user_code") };
    return { code: textOf(asked, "device_code"), show: () => process.show("orders:read", { device }) };
  };
  const [open, approved] = [await ask(), await ask()];
  await process.answer(await approved.show(), "yes");
  return { open: open.code, pages: [await open.show(), await open.show()], approved: approved.code };
}

async function newBoundTokens(
  process: Process,
  at: Parameters<typeof proving>[0],
): Promise<Family["boundTokens"]> {
  const { code = "" } = await process.answer(
    await process.show("orders:read", { client: boundClient }),
    "yes",
  );
  const ask = (fields: Record<string, string>): Promise<Outcome> =>
    process.post("token", { ...naming, ...fields }, proving(at));
  const redeemed = await ask({ grant_type: "authorization_code", code, code_verifier: codeVerifier });
  const used = textOf(redeemed, "refresh_token");
  const refreshed = await ask({ grant_type: "refresh_token", refresh_token: used });
  return [used, textOf(refreshed, "refresh_token")];
}

/** Lets Alice allow something and the client use it, and keeps what that stores. */
export async function newFamily(format: Format): Promise<Family> {
  const plain = newHost({ format });
  const { storage, taken } = recording(plain.storage);
  const process = newProcess({ ...plain, storage }, { name: "before", lagSeconds: 0 });
  const tokens = await newTokens(process, familyScopes[format]);
  const ofFamily = taken();
  const asked = await process.post("token", { grant_type: "client_credentials" });
  const ofItself = taken();
  const other = await newOtherContext(process);
  const ofOther = taken();
  const registered = await newRegisteredClient(process);
  const ofRegistered = taken();
  const boundTokens = await newBoundTokens(process, { issuer: plain.issuer.identifier, now: plain.now() });
  const ofBound = taken();
  const devices = await newDevices(process);
  const ofDevices = taken();
  const pushed = { key: digestToken("pushed"), expiresAt: plain.now() + 300 };
  const pushing = (): Promise<NamedPage> => process.show(familyScopes[format].ofCode, { pushed });
  return {
    format,
    ...tokens,
    ownToken: textOf(asked, "access_token"),
    other,
    registered,
    pushedPages: [await pushing(), await pushing()],
    boundTokens,
    devices,
    writes: {
      family: ofFamily,
      "client itself": ofItself,
      "other context": ofOther,
      "registered client": ofRegistered,
      "pushed request": [],
      "bound client": ofBound,
      "identity provider": [],
      "resource server": [],
      device: ofDevices,
    },
  };
}

/** Stores what the family has, and these parts, without doing it all again. */
export async function restore(
  { storage }: Host,
  { family, parts }: { family: Family; parts: readonly Part[] },
): Promise<void> {
  const { writes } = family;
  for (const { port, method, args } of [writes.family, ...parts.map((part) => writes[part])].flat()) {
    const methods = storage[port] as unknown as Record<string, (...given: readonly unknown[]) => unknown>;
    await methods[method]?.(...args);
  }
}
