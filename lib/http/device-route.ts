/** The route of the page for devices. Loaded only where an API has `deviceAuthorization`. RFC 8628 §3.3. */
import type { Request } from "express";
import { answerAllowed } from "../endpoints/rate-limit";
import type { DevicePageFlow } from "../interaction/device-page";
import { errorPage } from "../protocol/protocol-response";
import { answerProblem, readAddress, readForm, readQuery } from "./request";
import { empty, type Route, type RouteHandler } from "./routes";

/** The page, by GET and POST. It belongs to no issuer. */
export function deviceRoute(flow: DevicePageFlow): Route<Request, undefined> {
  const get: RouteHandler<Request, undefined> = async (_, { req }) => flow.show(req, readQuery(req));
  const post: RouteHandler<Request, undefined> = async ({ ports, rateLimit }, { req }) => {
    const form = await readForm(req);
    if (form.kind !== "form") return flow.refuse(answerProblem(form));
    const answer = (): ReturnType<DevicePageFlow["submit"]> => flow.submit(req, form.parameters);
    if (!rateLimit) return (await answer()).response;
    const attempt = { req, ip: readAddress(req), endpoint: "device", issuer: flow.baseUrl } as const;
    return answerAllowed(ports, { ask: rateLimit.ask, attempt, answer, refuse: flow.refuse });
  };
  return {
    path: "device",
    endpoint: "device",
    methods: { GET: get, POST: post, HEAD: empty },
    failure: errorPage,
  };
}
