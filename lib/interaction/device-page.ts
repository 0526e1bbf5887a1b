/** The page where people type the code of a device, one for all issuers. Loaded only where an API has `deviceAuthorization`. RFC 8628 §3.3. */
import type { Request } from "express";
import type { ClientAnswer } from "../endpoints/client-endpoint";
import type { DeviceRequests } from "../endpoints/device-authorization";
import { type EmitEvent, refusalEvent } from "../events/port";
import type { Pages } from "../pages/pages";
import { parseUserCode } from "../protocol/device";
import type { Issuer } from "../protocol/issuer";
import { because, isFailure, OAuthError, toOAuthError } from "../protocol/oauth-error";
import { type Parameters, parametersFromObject } from "../protocol/parameters";
import {
  errorPage,
  type ErrorPageResponse,
  type PageResponse,
  type ProtocolResponse,
} from "../protocol/protocol-response";
import type { Clock } from "../protocol/time";
import { isSameOrigin, notFromOurPage } from "./consent-answers";
import { newPending, type PendingRequests } from "./pending-request";
import { notOpened, tooLong, withInteraction } from "./show-page";

/** Refusals of codes that people type. */
export const devicePageReasons = {
  "user-code-malformed":
    "somebody has typed what is no code of this server: eight letters without vowels and Y (RFC 8628 §6.1)",
} as const;

/** What the page uses. */
export interface DevicePageOptions {
  readonly devices: Pick<DeviceRequests, "recognise">;
  readonly pendingRequests: Pick<PendingRequests, "seal">;
  readonly findIssuer: (authMethodId: string, apiId: string) => Issuer | undefined;
  readonly pages: Pick<Pages, "device">;
  readonly baseUrl: string;
  readonly emit: EmitEvent;
  readonly randomId: () => string;
  readonly clock: Clock;
}

/** The page. */
export interface DevicePageFlow {
  readonly baseUrl: string;
  /** Asks for the code. One in the URL is filled in, and nothing is looked up: a link must neither send it nor learn anything. */
  readonly show: (req: Request, query: Parameters) => PageResponse;
  /** Leads to the sign-in, or says that no device waits with this code. Never more: anyone may be guessing. */
  readonly submit: (req: Request, form: Parameters) => Promise<ClientAnswer<ProtocolResponse>>;
  /** Tells of a form that was refused. */
  readonly refuse: (thrown: unknown) => ErrorPageResponse;
}

/** The page with the form. `error`: why it is shown again. */
function formPage(
  { pages, baseUrl }: DevicePageOptions,
  { req, userCode, error }: { req: Request; userCode: string | undefined; error?: OAuthError },
): PageResponse {
  const html = pages.device(req, { action: `${baseUrl}/device`, userCode, isUnknown: error !== undefined });
  const refusal = error && ({ status: 400, error: error.error } as const);
  // the form leads to the host's sign-in page, which may have another origin
  const formTargets = ["https:", ...(baseUrl.startsWith("http:") ? ["http:"] : [])];
  return { kind: "page", html, formTargets, ...refusal };
}

/** Keeps the request in its cookie, and goes on as from any other page. */
async function leadOn(
  options: DevicePageOptions,
  { req, typed }: { req: Request; typed: string },
): Promise<ClientAnswer<ProtocolResponse>> {
  const userCode = parseUserCode(typed);
  if (userCode === undefined)
    throw new OAuthError("invalid_request", {
      description: "The code is malformed.",
      ...because(devicePageReasons, "user-code-malformed"),
    });
  const { devices, findIssuer, pendingRequests } = options;
  const { request } = await devices.recognise({
    userCode,
    issuerOf: ({ authMethodId, apiId }) => findIssuer(authMethodId, apiId),
  });
  const pending = newPending(options, { request, parameters: parametersFromObject({}) });
  const cookies = pendingRequests.seal(pending, req);
  if (!cookies) throw tooLong(pending);
  const location = withInteraction(`${request.issuer.identifier}/authorize/resume`, pending.interactionId);
  return { response: { kind: "redirect", location, cookies }, clientId: undefined };
}

/** Puts the page together. */
export function devicePageFlow(options: DevicePageOptions): DevicePageFlow {
  const { baseUrl, emit } = options;
  const report = (thrown: unknown): OAuthError => {
    const error = toOAuthError(thrown);
    emit(refusalEvent("device-refused", { error, subject: {} }));
    return error;
  };
  const refuse = (thrown: unknown): ErrorPageResponse => errorPage(report(thrown));
  return {
    baseUrl,
    refuse,
    show: (req, query) => formPage(options, { req, userCode: parseUserCode(query.get("user_code") ?? "") }),
    async submit(req, form) {
      const foreign = isSameOrigin(req, new URL(baseUrl).origin) ? notOpened(req) : notFromOurPage();
      if (foreign) return { response: refuse(foreign), clientId: undefined };
      const typed = form.get("user_code") ?? "";
      try {
        return await leadOn(options, { req, typed });
      } catch (thrown) {
        const error = report(thrown);
        const userCode = parseUserCode(typed);
        const response = isFailure(error) ? errorPage(error) : formPage(options, { req, userCode, error });
        return { response, clientId: undefined };
      }
    },
  };
}
