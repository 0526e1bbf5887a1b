/** Failures that become answers. */
import type { Storage } from "../../../lib";
import { rule } from "./rules";
import { type Ports, wrong, type WrongAdapter } from "./wrong-adapter";

/** A failure that becomes an answer. */
function swallowing<Port extends Ports>(
  port: Port,
  { method, answer }: { method: keyof Storage[Port] & string; answer: unknown },
): WrongAdapter {
  return wrong(port, {
    mistake: `${method} answers ${JSON.stringify(answer) ?? "nothing"} when it fails`,
    caughtBy: [rule.unreachable],
    change({ storage }) {
      const call = storage[port][method] as (...args: readonly unknown[]) => Promise<unknown>;
      const swallowed = (...args: readonly unknown[]): Promise<unknown> => call(...args).catch(() => answer);
      return { [method]: swallowed } as unknown as Partial<Storage[Port]>;
    },
  });
}

/** Adapters that answer where their database could not. */
export const swallowedFailures: readonly WrongAdapter[] = [
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
  swallowing("accessTokens", { method: "create", answer: undefined }),
  swallowing("accessTokens", { method: "find", answer: undefined }),
  swallowing("accessTokens", { method: "revoke", answer: undefined }),
  swallowing("accessTokens", { method: "isRevoked", answer: false }),
  swallowing("endMarks", { method: "find", answer: [undefined] }),
  swallowing("endMarks", { method: "save", answer: undefined }),
  swallowing("clientAssertions", { method: "use", answer: "used" }),
  swallowing("clientAssertions", { method: "use", answer: "used-before" }),
  swallowing("clientRegistrations", { method: "create", answer: "full" }),
  swallowing("clientRegistrations", { method: "find", answer: undefined }),
  swallowing("clientRegistrations", { method: "extend", answer: false }),
];
