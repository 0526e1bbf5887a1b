/** Requests to the endpoints for clients: token, revoke, introspect. */
import request, { type Response } from "supertest";
import { type Pair, pairPath } from "../hosts/apis";
import { codeVerifier } from "../browser/authorization-request";
import { encode, type Fields } from "../browser/browser";
import { type ClientName, credentials } from "../hosts/clients";
import type { TestHost } from "../hosts/host";

/** POST token with a form and nothing else. */
export function postToken(
  host: TestHost,
  { pair, fields }: { pair?: Pair; fields: Fields },
): Promise<Response> {
  return Promise.resolve(
    request(host.app)
      .post(`${pairPath(pair)}/token`)
      .type("form")
      .send(encode(fields)),
  );
}

/** POST token to exchange a code, with the client's own credentials and the right verifier. */
export function redeem(
  host: TestHost,
  {
    client,
    code,
    pair = {},
    fields = {},
  }: { client: ClientName; code: string; pair?: Pair; fields?: Fields },
): Promise<Response> {
  const sent = {
    grant_type: "authorization_code",
    ...credentials(client),
    code,
    code_verifier: codeVerifier,
    ...fields,
  };
  return postToken(host, { pair, fields: sent });
}

/** POST token with a refresh token and the client's own credentials. */
export function refresh(
  host: TestHost,
  {
    client,
    refreshToken,
    pair = {},
    fields = {},
  }: { client: ClientName; refreshToken: string; pair?: Pair; fields?: Fields },
): Promise<Response> {
  const sent = {
    grant_type: "refresh_token",
    ...credentials(client),
    refresh_token: refreshToken,
    ...fields,
  };
  return postToken(host, { pair, fields: sent });
}

/** POST token for a token of the client's own. */
export function ownToken(
  host: TestHost,
  { client, pair = {}, scope }: { client: ClientName; pair?: Pair; scope?: string },
): Promise<Response> {
  const fields = { grant_type: "client_credentials", ...credentials(client), scope };
  return postToken(host, { pair, fields });
}

/** What a client says or asks of a token. */
export interface TokenQuestion {
  readonly client?: ClientName;
  readonly pair?: Pair;
  readonly token: string;
  readonly fields?: Fields;
}

/** POST revoke or introspect with the client's own credentials. */
export function postAbout(
  host: TestHost,
  {
    endpoint,
    client = "web",
    pair,
    token,
    fields = {},
  }: TokenQuestion & { readonly endpoint: "introspect" | "revoke" },
): Promise<Response> {
  return Promise.resolve(
    request(host.app)
      .post(`${pairPath(pair)}/${endpoint}`)
      .type("form")
      .send(encode({ ...credentials(client), token, ...fields })),
  );
}

/** POST revoke with the client's own credentials. */
export function revoke(host: TestHost, question: TokenQuestion): Promise<Response> {
  return postAbout(host, { ...question, endpoint: "revoke" });
}

/** POST introspect with the client's own credentials. */
export function introspect(host: TestHost, question: TokenQuestion): Promise<Response> {
  return postAbout(host, { ...question, endpoint: "introspect" });
}
