/** The routes of the logout endpoint. Loaded only where people can sign out. OpenID Connect RP-Initiated Logout §2. */
import type { Request } from "express";
import type { SignOutFlow } from "../interaction/sign-out";
import { endpoints } from "../protocol/issuer";
import { errorPage } from "../protocol/protocol-response";
import { posted } from "./authorize-by-post";
import { formProblem, readForm, readQuery } from "./request";
import { empty, type Route, type RouteHandler } from "./routes";

/** The logout endpoint, by GET and POST, and the way back to it. */
export function signOutRoutes(flow: SignOutFlow): readonly Route<Request>[] {
  const get: RouteHandler<Request> = (_, { req, issuer }) =>
    flow.start(req, { issuer, parameters: readQuery(req) });
  const post: RouteHandler<Request> = async (_, { req, issuer }) => {
    const form = await readForm(req);
    return form.kind === "form"
      ? flow.start(req, { issuer, parameters: form.parameters })
      : posted(flow.refuse(issuer, formProblem(form)));
  };
  const resume: RouteHandler<Request> = (_, { req, issuer }) =>
    flow.resume(req, { issuer, sealed: readQuery(req).get("interaction") });
  const { path, ...where } = endpoints.end_session;
  const same = { ...where, endpoint: "end_session", failure: errorPage } as const;
  return [
    { ...same, path, methods: { GET: get, POST: post, HEAD: empty } },
    { ...same, path: `${path}/resume`, methods: { GET: resume, HEAD: empty } },
  ];
}
