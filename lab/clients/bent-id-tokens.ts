/** ID tokens that a relying party must not accept (OpenID Connect Core §3.1.3.7), in the place of good ones that the host has just issued. */
import type { KeyObject } from "node:crypto";
import type { RequestHandler } from "express";
import { type Json, newRsaKey, readToken, rs256, writeToken } from "../../__tests__/requests/forged-tokens";

/** What is wrong with an ID token. */
export type Bend = "nonce" | "issuer" | "audience" | "time" | "signature";

const anHour = 3600;

const changes: Readonly<Record<Bend, (claims: Json) => Json>> = {
  nonce: () => ({ nonce: "of another sign-in" }),
  issuer: ({ iss }) => ({ iss: `${String(iss)}/another` }),
  audience: () => ({ aud: "another" }),
  time: ({ exp, iat }) => ({ exp: Number(exp) - 2 * anHour, iat: Number(iat) - 2 * anHour }),
  signature: () => ({}),
};

/** All of them. */
export const bends = Object.keys(changes) as readonly Bend[];

const nobodysKey = newRsaKey();

/** Replaces the ID token of each token answer, as long as something is wrong with it. `key` is the host's own: the signature is good. */
export function bendIdTokens(key: KeyObject): {
  bend: Bend | undefined;
  readonly middleware: RequestHandler;
} {
  const bending = {
    bend: undefined as Bend | undefined,
    middleware: ((req, res, next) => {
      const { bend } = bending;
      if (bend === undefined || !req.path.endsWith("/token")) return next();
      const end = res.end.bind(res) as (body: string) => typeof res;
      res.end = ((body: unknown) => {
        const answer = JSON.parse(String(body)) as { readonly id_token: string };
        const { header, claims } = readToken(answer.id_token);
        const by = rs256(bend === "signature" ? nobodysKey : key);
        const idToken = writeToken(header, { ...claims, ...changes[bend](claims) }, by);
        const changed = JSON.stringify({ ...answer, id_token: idToken });
        res.setHeader("Content-Length", Buffer.byteLength(changed));
        return end(changed);
      }) as typeof res.end;
      next();
    }) satisfies RequestHandler as RequestHandler,
  };
  return bending;
}
