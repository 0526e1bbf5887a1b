/** Signing out at the wish of a relying party. Loaded only where it is possible. OpenID Connect RP-Initiated Logout 1.0. */
import type { Request } from "express";
import type { ClientLookup, RegisteredClient } from "../clients/client-lookup";
import { isPageUrl, pageUrlRule } from "../end-user/check-host-answer";
import { type EmitEvent, refusalEvent } from "../events/port";
import { type AnswerKeys, askHost, invalidAnswer } from "../host/ask";
import type { Pages } from "../pages/pages";
import { summarizeClient } from "../pages/summary";
import { withParameters } from "../protocol/authorization-response";
import type { Issuer } from "../protocol/issuer";
import { because, OAuthError, toOAuthError } from "../protocol/oauth-error";
import type { IdTokenVerifier } from "../protocol/openid";
import type { Parameters } from "../protocol/parameters";
import { verifyPostLogoutUri } from "../protocol/post-logout-uri";
import { errorPage, type ErrorPageResponse, type ProtocolResponse } from "../protocol/protocol-response";
import { checkUsable } from "../requests/check-parameters";
import { sealer } from "../signing/sealer";
import type { AuthMethod, SignOutAnswer } from "./port";
import { notOpened, withInteraction } from "./show-page";

/** What signing out uses. */
export interface SignOutOptions {
  readonly authMethods: Readonly<Record<string, AuthMethod>>;
  readonly clients: Pick<ClientLookup, "findRegistered">;
  readonly idTokens: IdTokenVerifier;
  readonly pages: Pages;
  /** The first one seals, all of them open. */
  readonly secrets: readonly [string, ...string[]];
  readonly emit: EmitEvent;
}

/**
 * A sign-out that was checked. It is bound to no browser and to no time: anyone can make the link that begins it. It is encrypted, because
 * URLs stand in logs, and it names a person.
 */
interface SignOutTicket {
  /** Identifier of the issuer. */
  readonly issuer: string;
  /** The client of the hint, or the one that the request names. */
  readonly clientId?: string | undefined;
  /** The person of the hint. */
  readonly subject?: string | undefined;
  /** Where the person goes afterwards; checked again then. */
  readonly target?: string | undefined;
  readonly state?: string | undefined;
  readonly uiLocales?: string | undefined;
}

/** The logout endpoint of an issuer, and the way back to it. */
export interface SignOutFlow {
  /** A request of a relying party. */
  start(req: Request, request: { issuer: Issuer; parameters: Parameters }): Promise<ProtocolResponse>;
  /** The browser comes from there, or from a page of the host. */
  resume(req: Request, from: { issuer: Issuer; sealed: string | undefined }): Promise<ProtocolResponse>;
  /** Tells of a request that was refused. */
  refuse(issuer: Issuer, thrown: unknown): ErrorPageResponse;
  /** `auth.resume` on a sign-out page of the host; `undefined` where no sign-out is under way. */
  leadBack(sealed: string | undefined): ProtocolResponse | undefined;
}

/** Refusals of sign-outs. */
export const signOutReasons = {
  "logout-hint-not-ours":
    "id_token_hint is no ID token of this issuer (RP-Initiated Logout §2): send the client's last one, or leave it out",
  "logout-client-differs":
    "client_id is not the client of id_token_hint (RP-Initiated Logout §2): send the one that the ID token is for, or leave it out",
  "logout-target-without-hint":
    "post_logout_redirect_uri came without an id_token_hint that can be verified, so anyone could have sent it (RP-Initiated Logout §2): send the client's last ID token with it",
  "logout-target-not-registered":
    "post_logout_redirect_uri is not in postLogoutRedirectUris of the client's record, character for character (RP-Initiated Logout §3): register it, or leave it out",
  "logout-unknown":
    "no secret of this server has sealed this sign-out for this issuer: it began before secrets was changed, at a process with other secrets, or nowhere. Give every process the same secrets",
  "logout-request-too-long":
    "state, ui_locales or post_logout_redirect_uri is too long to be kept in a URL: send at most 1,000 bytes in all",
} as const;

function refused(description: string, code: keyof typeof signOutReasons): OAuthError {
  return new OAuthError("invalid_request", { description, ...because(signOutReasons, code) });
}

type Hinted = Pick<SignOutTicket, "clientId" | "subject">;

/** Whom and which client a hint names. One that nobody can verify any more is as good as none. */
function readHint(
  hint: string | undefined,
  { issuer, idTokens }: { issuer: Issuer; idTokens: IdTokenVerifier },
): Hinted {
  if (hint === undefined || idTokens.isOfNoKey(hint)) return {};
  const { iss, aud, sub } = idTokens.verify(hint) ?? {};
  if (iss === issuer.identifier && typeof aud === "string" && typeof sub === "string")
    return { clientId: aud, subject: sub };
  throw refused("id_token_hint is no ID token of this issuer.", "logout-hint-not-ours");
}

async function findClient(
  { clients }: SignOutOptions,
  { clientId, issuer }: { clientId: string | undefined; issuer: Issuer },
): Promise<RegisteredClient["client"] | undefined> {
  if (clientId === undefined) return undefined;
  return (await clients.findRegistered(clientId, { issuer, mayFetch: () => false }))?.client;
}

const maxBytes = 1_000;

/** The sign-out that a request asks for. @throws OAuthError `invalid_request` */
async function checkRequest(
  options: SignOutOptions,
  { issuer, parameters }: { issuer: Issuer; parameters: Parameters },
): Promise<SignOutTicket> {
  checkUsable(parameters);
  const hinted = readHint(parameters.get("id_token_hint"), { issuer, idTokens: options.idTokens });
  const { clientId: ofHint, subject } = hinted;
  const clientId = parameters.get("client_id") ?? ofHint;
  if (ofHint !== undefined && ofHint !== clientId)
    throw refused("client_id is not the client of id_token_hint.", "logout-client-differs");
  const target = parameters.get("post_logout_redirect_uri");
  const client = await findClient(options, { clientId, issuer });
  if (target !== undefined && ofHint === undefined)
    throw refused("post_logout_redirect_uri needs an id_token_hint.", "logout-target-without-hint");
  if (target !== undefined && !(client && verifyPostLogoutUri(client, target)))
    throw refused("The post_logout_redirect_uri is not registered.", "logout-target-not-registered");
  const [state, uiLocales] = [parameters.get("state"), parameters.get("ui_locales")];
  if (Buffer.byteLength([target, state, uiLocales].join("")) > maxBytes)
    throw refused("The request is too long.", "logout-request-too-long");
  return { issuer: issuer.identifier, clientId: client?.clientId, subject, target, state, uiLocales };
}

const answerKeys: AnswerKeys<SignOutAnswer> = { "signed-out": {}, interaction: { url: true } };

/** Asks the host to sign the person out, or where to send them for it. */
async function askSignOut(
  { authMethods }: SignOutOptions,
  {
    req,
    issuer,
    client,
    ticket,
  }: { req: Request; issuer: Issuer; client: RegisteredClient["client"] | undefined; ticket: SignOutTicket },
): Promise<SignOutAnswer> {
  const { subject, uiLocales } = ticket;
  const question = {
    req,
    ...(client && { client: summarizeClient(client) }),
    ...(subject !== undefined && { subject }),
    uiLocales,
  };
  const ask = (): unknown => authMethods[issuer.authMethodId]?.signOut?.(question);
  const answer = await askHost<SignOutAnswer>("signOut", { ask, keys: answerKeys });
  if (answer.kind === "interaction" && !isPageUrl(answer.url)) throw invalidAnswer("signOut", pageUrlRule);
  return answer;
}

/** Leads to the host's page, or where the person goes when they are signed out. */
async function signOut(
  options: SignOutOptions,
  { req, issuer, sealed, ticket }: { req: Request; issuer: Issuer; sealed: string; ticket: SignOutTicket },
): Promise<ProtocolResponse> {
  const { clientId, subject, target = "", state, uiLocales } = ticket;
  // it may have been changed, disabled or deleted since
  const client = await findClient(options, { clientId, issuer });
  const answer = await askSignOut(options, { req, issuer, client, ticket });
  if (answer.kind === "interaction")
    return { kind: "redirect", location: withInteraction(answer.url, sealed) };
  options.emit({
    kind: "signed-out",
    issuer: issuer.identifier,
    ...(client && { clientId: client.clientId }),
    ...(subject !== undefined && { subject }),
  });
  const proven = client && verifyPostLogoutUri(client, target);
  if (proven) return { kind: "redirect", location: withParameters(proven, { state }) };
  return { kind: "page", html: options.pages.signedOut(req, { uiLocales }), formTargets: [] };
}

/** A POST of another site has no cookies of the host, and the request that this one leads to has. */
function resumeAt({ issuer, target }: SignOutTicket, sealed: string): ProtocolResponse {
  const location = withInteraction(`${issuer}/logout/resume`, sealed);
  return { kind: "redirect", location, destination: target };
}

/** Puts the logout endpoint together. */
export function signOutFlow(options: SignOutOptions): SignOutFlow {
  const { secrets, emit } = options;
  const tickets = sealer<SignOutTicket>("authmount sign-out", secrets);
  const refuse: SignOutFlow["refuse"] = (issuer, thrown) => {
    const error = toOAuthError(thrown);
    emit(refusalEvent("sign-out-refused", { error, subject: { issuer: issuer.identifier } }));
    return errorPage(error);
  };
  return {
    refuse,
    async start(req, { issuer, parameters }) {
      try {
        const unopened = notOpened(req);
        if (unopened) throw unopened;
        const ticket = await checkRequest(options, { issuer, parameters });
        return resumeAt(ticket, tickets.seal(ticket));
      } catch (thrown) {
        return refuse(issuer, thrown);
      }
    },
    async resume(req, { issuer, sealed = "" }) {
      try {
        const ticket = tickets.open(sealed);
        if (ticket?.issuer !== issuer.identifier)
          throw refused("The sign-out is not known here.", "logout-unknown");
        const unopened = notOpened(req);
        if (unopened) throw unopened;
        return await signOut(options, { req, issuer, sealed, ticket });
      } catch (thrown) {
        return refuse(issuer, thrown);
      }
    },
    leadBack(sealed = "") {
      const ticket = tickets.open(sealed);
      return ticket && resumeAt(ticket, sealed);
    },
  };
}
