/** Authorization requests by POST. Loaded only where an API has `openid`. OpenID Connect Core §3.1.2.1. */
import type { Request } from "express";
import { refuseByPage } from "../endpoints/authorization";
import { authorizationParameterNames } from "../protocol/authorization-request";
import { because, OAuthError, type RefusalCode } from "../protocol/oauth-error";
import type { ErrorPageResponse } from "../protocol/protocol-response";
import { checkUsable } from "../requests/check-parameters";
import { type Form, formProblem, readForm } from "./request";
import { authorizationRoute, type Route, type RouteHandler } from "./routes";

/** Refusals of requests that are only for POST. */
export const postedRequestReasons = {
  "posted-request-too-long":
    "the parameters are longer than 8 KB as a query, to which a POST is redirected (OpenID Connect Core §3.1.2.1): send shorter ones",
} as const;

/** Servers and proxies accept headers of 16 KB or of 8 KB, in which the cookies have to fit too. */
const maxQueryBytes = 8_192;

const tooLarge: ReadonlySet<RefusalCode> = new Set<RefusalCode>([
  "form-too-large",
  "posted-request-too-long",
]);

/** What the endpoint reads, also to refuse it. Nothing else goes into a URL. */
const carried = [...authorizationParameterNames, "id_token_hint", "request", "request_uri"] as const;

/** The page with the status of a request that is too large. @rfc 9110 §15.5.14 */
export function posted(page: ErrorPageResponse): ErrorPageResponse {
  return tooLarge.has(page.error.code) ? { ...page, status: 413 } : page;
}

/** The request as a query. @throws OAuthError `invalid_request` when it cannot be one */
function queryOf(form: Form): string {
  if (form.kind !== "form") throw formProblem(form);
  checkUsable(form.parameters);
  const query = new URLSearchParams();
  for (const name of carried) {
    const value = form.parameters.get(name);
    if (value !== undefined) query.set(name, value);
  }
  if (query.toString().length <= maxQueryBytes) return query.toString();
  throw new OAuthError("invalid_request", {
    description: "The authorization request is too long.",
    ...because(postedRequestReasons, "posted-request-too-long"),
  });
}

/** The same request by GET: browsers send no Lax cookie with a POST of another site, so the person would look signed out. */
const redirectToGet: RouteHandler<Request> = async ({ ports }, { req, issuer }) => {
  const form = await readForm(req);
  try {
    return { kind: "redirect", location: `${issuer.identifier}/authorize?${queryOf(form)}` };
  } catch (thrown) {
    return posted(refuseByPage(ports, { issuer, thrown }));
  }
};

/** The authorization endpoint of APIs with `openid`. */
export const authorizeByPost: Route<Request> = {
  ...authorizationRoute,
  on: ({ api }) => api.openid !== undefined,
  methods: { ...authorizationRoute.methods, POST: redirectToGet },
};
