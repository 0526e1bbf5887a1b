/** A family of tokens at the moment before operations begin: Alice has allowed the client something, and it has used that. */
import type { Storage } from "../../lib";
import type { ShownPage } from "../fixture/rule-server";
import { type Format, newHost, type Host, type Write } from "./host";
import { newProcess, type Outcome } from "./server";
import { aroundCalls } from "./touches";

/** A text that a client, or a thief, has. */
export interface Held {
  readonly kind: "refresh token" | "access token" | "code";
  readonly text: string;
  /** The authorization that it descends from. */
  readonly authorizationId: string;
}

/** What the client has before operations begin. */
export interface Family {
  readonly format: Format;
  /** The refresh tokens in their order: the last one is unused, and the one before it can be repeated. */
  readonly refreshTokens: readonly [replayed: string, retried: string, current: string];
  /** The access tokens that came with them. */
  readonly accessTokens: readonly string[];
  /** A code that was not redeemed yet, of another authorization. */
  readonly code: string;
  /** A consent page that Alice sees. */
  readonly page: ShownPage;
  /** The authorizations of the refresh tokens and of the code. */
  readonly authorizationIds: readonly [ofTokens: string, ofCode: string];
  readonly writes: readonly Write[];
}

/** The id of the authorization of a refresh token or a code. */
export function authorizationOf(text: string): string {
  return text.split(".")[0] ?? "";
}

/** The same storage, whose writes are kept. */
function recording(storage: Storage, writes: Write[]): Storage {
  return aroundCalls(storage, (name, args, call) => {
    const [port, method] = name.split(".") as [keyof Storage, string];
    if (!/^(?:find|list|isRevoked|isBrowserOrigin)$/.test(method)) writes.push({ port, method, args });
    return call();
  });
}

function textOf({ body = {} }: Outcome, name: "access_token" | "refresh_token"): string {
  const text = body[name];
  if (typeof text !== "string") throw new Error(`the preparation got no ${name}`);
  return text;
}

/** Lets Alice allow something and the client use it, and keeps what that stores. */
export async function newFamily(format: Format): Promise<Family> {
  const writes: Write[] = [];
  const plain = newHost({ format });
  const host: Host = { ...plain, storage: recording(plain.storage, writes) };
  const process = newProcess(host, { name: "before", lagSeconds: 0 });
  const { code: first = "" } = await process.answer(await process.show("orders:read"), "yes");
  const redeemed = await process.post("token", { grant_type: "authorization_code", code: first });
  const refresh = (from: Outcome): Promise<Outcome> =>
    process.post("token", { grant_type: "refresh_token", refresh_token: textOf(from, "refresh_token") });
  const second = await refresh(redeemed);
  const third = await refresh(second);
  const answers = [redeemed, second, third];
  const [a, b, c] = answers.map((answer) => textOf(answer, "refresh_token"));
  const { code = "" } = await process.silent();
  return {
    format,
    refreshTokens: [a ?? "", b ?? "", c ?? ""],
    accessTokens: answers.map((answer) => textOf(answer, "access_token")),
    code,
    page: await process.show("orders:write"),
    authorizationIds: [authorizationOf(first), authorizationOf(code)],
    writes,
  };
}

/** Stores what the family has, without doing it all again. */
export async function restore({ storage }: Host, { writes }: Family): Promise<void> {
  for (const { port, method, args } of writes) {
    const methods = storage[port] as unknown as Record<string, (...given: readonly unknown[]) => unknown>;
    await methods[method]?.(...args);
  }
}
