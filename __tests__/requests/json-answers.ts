/** What the endpoints for clients answer: status and JSON body. */
import request, { type Response } from "supertest";
import type { TestHost } from "../hosts/host";

/** The media type of every request to an endpoint for clients. */
export const formType = "application/x-www-form-urlencoded";

/** What most tests compare of an answer. */
export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

/** The status and the body of a response. */
export function answerOf({ status, body }: Response): Answer {
  return { status, body: body as unknown };
}

/** An answer with an error code, and any description unless one is given. */
export function refusal(status: number, error: string, description: unknown = expect.any(String)): Answer {
  return { status, body: { error, error_description: description } };
}

/** The one answer to a code or refresh token that buys nothing (RFC 6749 §5.2). */
export const invalidGrant = refusal(
  400,
  "invalid_grant",
  "The code or refresh token is unknown, expired, used or not for this client.",
);
/** The one answer to a client that has not proved itself (RFC 6749 §5.2). */
export const invalidClient = refusal(401, "invalid_client", "Client authentication failed.");
/** The answer to a failure of the host. */
export const serverError = refusal(500, "server_error", "The server could not answer this request.");

/** Sends text as the body of a POST, a form unless the headers say otherwise. */
export type PostText = (
  host: TestHost,
  body: string,
  headers?: Readonly<Record<string, string>>,
) => Promise<Response>;

/** POST to this path. */
export function postTo(path: string): PostText {
  return (host, body, headers = {}) =>
    Promise.resolve(
      request(host.app)
        .post(path)
        .set({ "Content-Type": formType, ...headers })
        .send(body),
    );
}

/** Asks, as a browser does for a page of `origin`, whether a script may POST to this path. */
export function preflight(host: TestHost, path: string, origin: string): Promise<Response> {
  const headers = {
    Origin: origin,
    "Access-Control-Request-Method": "POST",
    "Access-Control-Request-Headers": "content-type",
  };
  return Promise.resolve(request(host.app).options(path).set(headers));
}

/** The names of the headers that let a script read the answer. */
export function corsHeaders({ headers }: Response): string[] {
  return Object.keys(headers).filter((name) => name.startsWith("access-control-"));
}
