/** One HTTP exchange at an issuer, and what a route does with it. RFC 9110 §15.5.6. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { ClientRequestContext } from "../endpoints/client-request";
import type { AuthorizationFlow } from "../interaction/authorization-flow";
import type { Pages } from "../interaction/pages";
import type { Issuer } from "../protocol/issuer";
import { OAuthError } from "../protocol/oauth-error";
import type { ProtocolResponse } from "../protocol/protocol-response";
import type { Form } from "./read-request";

/** A request, of Express or of Node alone; `body` is what a parser of the host has left. */
export interface HttpRequest extends IncomingMessage {
  readonly body?: unknown;
}

export interface ServeOptions {
  readonly context: ClientRequestContext;
  readonly flow: AuthorizationFlow;
  readonly pages: Pages;
  readonly issuers: readonly Issuer[];
  /** URL of the key set. */
  readonly jwksUri: string;
  /** The key set as it is now. */
  readonly jwks: () => object;
}

export interface Exchange<Req extends HttpRequest> {
  readonly req: Req;
  readonly res: ServerResponse;
  readonly issuer: Issuer;
}

export type Endpoint<Req extends HttpRequest> = (
  options: ServeOptions,
  exchange: Exchange<Req>,
) => Promise<ProtocolResponse>;

export interface Route<Req extends HttpRequest> {
  /** Method → what it does; any other method is 405. */
  readonly methods: Readonly<Record<string, Endpoint<Req>>>;
  /** How people or programs are told of a failure. */
  readonly failure: (error: OAuthError) => ProtocolResponse;
  /** Headers of all its answers. */
  readonly headers?: Readonly<Record<string, string>>;
}

const formProblems: Readonly<Record<Exclude<Form["kind"], "form">, string>> = {
  "too-large": "The body is too large.",
  "not-utf8": "A parameter is repeated or is not UTF-8 text.",
  "wrong-media-type": "The body must be application/x-www-form-urlencoded, without a content encoding.",
};

export function formProblem({ kind }: Exclude<Form, { kind: "form" }>): OAuthError {
  return new OAuthError("invalid_request", { description: formProblems[kind] });
}

export function methodNotAllowed(methods: Readonly<Record<string, unknown>>): ProtocolResponse {
  return { kind: "empty", status: 405, headers: { Allow: Object.keys(methods).join(", ") } };
}
