/** The routes that a browser is sent to. RFC 6749 §3.1. */
import type { Request } from "express";
import { errorPage } from "../protocol/protocol-response";
import { type Endpoint, formProblem, type Route } from "./exchange";
import { readForm, readQuery } from "./read-request";

// a link checker's HEAD must not use up anything, so it learns nothing either
const empty: Endpoint<Request> = async () => ({ kind: "empty", status: 200 });

const authorize: Endpoint<Request> = ({ flow }, { req, issuer }) =>
  flow.start(req, { issuer, parameters: readQuery(req) });

const resume: Endpoint<Request> = ({ flow }, { req, issuer }) =>
  flow.resume(req, { issuer, interactionId: readQuery(req).get("interaction") });

const submitConsent: Endpoint<Request> = async ({ flow }, { req, issuer }) => {
  const form = await readForm(req);
  if (form.kind !== "form") return errorPage(formProblem(form));
  return flow.submitConsent(req, { issuer, form: form.parameters });
};

/** Name of the endpoint → its route. */
export const pageRoutes: Readonly<Record<string, Route<Request>>> = {
  authorize: { methods: { GET: authorize, HEAD: empty }, failure: errorPage },
  "authorize/resume": { methods: { GET: resume, HEAD: empty }, failure: errorPage },
  "authorize/consent": { methods: { POST: submitConsent }, failure: errorPage },
};
