/** What a run of the protocol model has in hand, and how it compares an answer with what the model says. */
import type { Answer } from "../../__tests__/hosts/listening";
import { isWithin, type Model, type Page, type Refused, type SignIn } from "./protocol-model";
import type { OpenPage, ProtocolServer } from "./protocol-server";
import type { Step } from "./protocol-steps";

/** Both sides, and what only the server's side needs. */
export interface Run {
  readonly server: ProtocolServer;
  readonly model: Model;
  readonly openPages: Map<Page, OpenPage>;
  readonly waiting: Map<SignIn, { readonly interaction: string; readonly cookie: string }>;
}

/** The steps of one kind. */
export type Of<Kind extends Step["do"]> = Extract<Step, { do: Kind }>;

/** Fails, with both sides, if what the model says is not so. */
export function expectThat(
  holds: boolean,
  { said, answer }: { said: string; answer?: Answer },
): asserts holds {
  if (holds) return;
  const got = answer && `${answer.status} ${answer.headers.location ?? ""} ${answer.text.slice(0, 400)}`;
  throw new Error(`the model says: ${said}${got === undefined ? "" : `. The server says: ${got}`}`);
}

/** Fails unless the answer is this refusal. */
export function expectRefused({ status, errors }: Refused, answer: Answer): void {
  const said = `${status} ${errors.join(" or ")}`;
  expectThat(answer.status === status, { said, answer });
  if (errors.length > 0) expectThat(errors.includes(String(answer.body["error"])), { said, answer });
}

/** The scopes that an answer names. */
export function scopesIn(answer: Answer): readonly string[] {
  const { scope = "" } = answer.body as { scope?: string };
  return scope === "" ? [] : scope.split(" ");
}

/** True for the same scopes, whatever their order. */
export function sameScopes(one: readonly string[], other: readonly string[]): boolean {
  return isWithin(one, other) && isWithin(other, one);
}
