/** One HTTP exchange at an issuer, and what a route does with it. RFC 9110 §15.5.6. */
import type { Request, Response } from "express";
import type { ClientRequestContext } from "../endpoints/client-request";
import type { AuthorizationFlow } from "../interaction/authorization-flow";
import type { Pages } from "../interaction/pages";
import type { Issuer } from "../protocol/issuer";
import { OAuthError } from "../protocol/oauth-error";
import type { ProtocolResponse } from "../protocol/protocol-response";
import type { Form } from "./read-request";

export interface RouterOptions {
  readonly context: ClientRequestContext;
  readonly flow: AuthorizationFlow;
  readonly pages: Pages;
  readonly findIssuer: (authMethodId: string, apiId: string) => Issuer | undefined;
  /** URL of the key set. */
  readonly jwksUri: string;
  /** The key set as it is now. */
  readonly jwks: () => object;
}

export interface Exchange {
  readonly req: Request;
  readonly res: Response;
  readonly issuer: Issuer;
}

export type Endpoint = (options: RouterOptions, exchange: Exchange) => Promise<ProtocolResponse>;

export interface Route {
  /** Method → what it does; any other method is 405. */
  readonly methods: Readonly<Record<string, Endpoint>>;
  /** How people or programs are told of a failure. */
  readonly failure: (error: OAuthError) => ProtocolResponse;
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
