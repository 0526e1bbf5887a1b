/** Token requests as text, for tests of what stands in them, and what a good answer holds. */
import type { Response } from "supertest";
import { pairPath } from "../hosts/apis";
import { codeVerifier } from "../browser/authorization-request";
import { encode, type Fields } from "../browser/browser";
import { credentials } from "../hosts/clients";
import { postTo } from "./json-answers";

/** The token endpoint of password and orders. */
export const tokenPath = `${pairPath()}/token`;
/** The longest form that is taken. */
export const maxFormBytes = 64 * 1024;

/** The body of a good answer for an end user. */
export interface TokenBody {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly scope: string;
}

/** The tokens of an answer, which is expected to be a good one. */
export function tokensOf(response: Response): TokenBody {
  expect(response.status).toBe(200);
  return response.body as TokenBody;
}

/** A form that redeems this code of `web`, as text. */
export function redemption(code: string, fields: Fields = {}): string {
  const known = {
    grant_type: "authorization_code",
    ...credentials("web"),
    code,
    code_verifier: codeVerifier,
  };
  return encode({ ...known, ...fields });
}

/** A good form by which `machine` gets a token of its own, as text. */
export const clientCredentials = encode({ grant_type: "client_credentials", ...credentials("machine") });

/** POST token with text. */
export const postTokenText = postTo(tokenPath);
