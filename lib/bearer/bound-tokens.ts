/** Checks at an API that the sender of an access token has the key that it is bound to. Loaded only where an API has `dpop`. RFC 9449 §7. */
import { verifyProof } from "../clients/verify-proof";
import { headerValues, type HttpRequest, readPath } from "../http/request";
import { formatChallenge } from "../protocol/bearer-token";
import type { ApiDpop, ProtectedApi } from "../protocol/issuer";
import { because, type RefusalCode } from "../protocol/oauth-error";
import { proofAlgorithms } from "../protocol/signed-jwt";
import type { Clock } from "../protocol/time";
import { type DpopGuard, invalidToken, type Refusal, type SentToken } from "./require-bearer";
import { type NoteProof, seenProofs } from "./seen-proofs";

/** Refusals of tokens by what they are bound to. */
export const boundTokenReasons = {
  "access-token-without-proof":
    "the access token is bound to a key, and was sent with Bearer (RFC 9449 §7.2): send Authorization: DPoP <token>, and a proof in the DPoP header. If the client did so, somebody else may have its token",
  "access-token-not-bound":
    "the access token is not bound to a key, and was sent with DPoP (RFC 9449 §7.1): send it with Bearer, or send a proof to the token endpoint to get one that is bound",
  "access-token-must-be-bound":
    'the access token is not bound to a key, and dpop of the API has tokens: "required" (RFC 9449 §7.1): send a proof to the token endpoint to get one that is bound',
  "proof-missing": "the request has no DPoP header (RFC 9449 §7.1): send a proof beside the access token",
  "proof-of-another-key":
    "the proof is of another key than that of the access token (RFC 9449 §7.1): sign with the key that got the token",
  "proof-used-before": "the proof was used before (RFC 9449 §11.1): sign a new one for each request",
} as const;

/** A request without a good proof. @rfc 9449 §7.1 */
function badProof(why: { readonly code: RefusalCode; readonly reason: string }): Refusal {
  const description = "The DPoP proof is missing, invalid or was used before.";
  return { status: 401, error: "invalid_dpop_proof", description, ...why };
}

/** The URL of a request to a route of the host. Not by `Host`, which the sender of the request chooses. */
function urlOfRoute(
  req: HttpRequest & { readonly originalUrl?: string },
  { audience, dpop }: ProtectedApi,
): string {
  const root = dpop?.publicUrl ?? new URL(audience).origin;
  const path = readPath({ url: req.originalUrl ?? req.url ?? "/" });
  // a target such as @evil.example must not become a part of the host
  return `${root}/${path.replace(/^\//, "")}`;
}

/** What a guard checks with. */
interface ProofPorts {
  readonly api: ProtectedApi;
  readonly clock: Clock;
  readonly note: NoteProof;
}

/** What is wrong with the proof of a request, or whose key it is. */
function proofProblem(
  { req, url, token, accessToken }: SentToken,
  { api, clock, note }: ProofPorts,
): Refusal | undefined {
  const { method = "" } = req;
  const now = clock();
  const expected = { method, url: url ?? urlOfRoute(req, api), now, accessToken: token };
  const verdict = verifyProof(headerValues(req, "dpop"), expected);
  if (verdict.kind === "absent") return badProof(because(boundTokenReasons, "proof-missing"));
  if (verdict.kind === "invalid") return badProof(verdict);
  const { thumbprint, proofId } = verdict;
  if (thumbprint !== accessToken.boundKey)
    return invalidToken(because(boundTokenReasons, "proof-of-another-key"));
  // only good proofs with their token are noted: nobody else can fill the memory
  const isFirst = note({ thumbprint, proofId, now });
  return isFirst ? undefined : badProof(because(boundTokenReasons, "proof-used-before"));
}

/** Which rule a token breaks that was sent without a proof, or that needs none. */
function schemeProblem(
  { scheme, accessToken: { boundKey } }: SentToken,
  { required }: ApiDpop,
): keyof typeof boundTokenReasons | undefined {
  if (boundKey !== undefined) return scheme === "DPoP" ? undefined : "access-token-without-proof";
  if (required) return "access-token-must-be-bound";
  return scheme === "DPoP" ? "access-token-not-bound" : undefined;
}

/** Makes the guards of APIs. They share the proofs that were seen. */
export function dpopGuards(clock: Clock): (api: ProtectedApi, dpop: ApiDpop) => DpopGuard {
  const note = seenProofs();
  const algs = proofAlgorithms.join(" ");
  return (api, dpop) => ({
    refusalOf(sent) {
      const code = schemeProblem(sent, dpop);
      const { scheme, accessToken } = sent;
      if (code === undefined && scheme === "Bearer") return undefined;
      const refusal = code
        ? invalidToken(because(boundTokenReasons, code))
        : proofProblem(sent, { api, clock, note });
      return refusal && { ...refusal, accessToken };
    },
    challenge({ place, said, scheme }) {
      if (dpop.required) return formatChallenge("DPoP", { ...place, algs, ...said });
      const bearer = formatChallenge("Bearer", { ...place, ...(scheme === "Bearer" && said) });
      return `${bearer}, ${formatChallenge("DPoP", { algs, ...(scheme === "DPoP" && said) })}`;
    },
  });
}
