/** The host's limit on requests of clients, by client and outcome. RFC 6749 §10.10; 6585 §4; 9110 §10.2.3. */
import type { IncomingMessage } from "node:http";
import { type AnswerKeys, inTime, invalidAnswer, readAnswer } from "../host/ask";
import { type GrantType, grantTypes, isClientId } from "../protocol/client";
import { readClientAuthentication } from "../protocol/client-authentication";
import type { ClientEndpointName } from "../protocol/issuer";
import { because, type OAuthErrorCode, OAuthError } from "../protocol/oauth-error";
import { ownText } from "../protocol/parameters";
import {
  type EmptyResponse,
  errorOf,
  type JsonResponse,
  type ProtocolResponse,
} from "../protocol/protocol-response";
import {
  type ClientAnswer,
  type ClientEndpoint,
  type ClientEndpointPorts,
  type FormRequest,
  refuseClient,
  endpointReasons,
} from "./client-endpoint";

/**
 * A request at an endpoint for clients, or the preflight of a page's script, before anything is looked up or proven. Changing it
 * changes nothing.
 */
export interface ClientAttempt {
  /**
   * Behind Express, Express's `Request`. A preflight has the method `OPTIONS`. The body of a POST has been read. It contains the client's
   * secret, so do not log it.
   */
  readonly req: IncomingMessage;
  /**
   * Behind Express its `req.ip` without a port, so behind a proxy set `trust proxy`. With `auth.inFrontOf`, the address of the connection, which behind a
   * proxy is the proxy's. Empty where there is none, as on a Unix socket.
   */
  readonly ip: string;
  /**
   * `token`, `revocation`, `introspection`, `pushed_authorization_request` or `device_authorization`. And `device`: the page where people type
   * the code of a device, which somebody may guess.
   */
  readonly endpoint: ClientEndpointName | "device";
  /** Identifier of the issuer. For `device`, which is one page for all of them, `baseUrl`. */
  readonly issuer: string;
  /**
   * The client that the request claims to be from, read as client authentication reads it: 1 to 255 visible ASCII characters. It is not
   * proven, so never use it as a key without the address: anyone could lock a client out. Left out when the request names no client, or is
   * malformed.
   */
  readonly clientId?: string;
  /** At the token endpoint, if the server knows it. */
  readonly grantType?: GrantType;
}

/** How an allowed attempt was answered. */
export interface ClientOutcome {
  /** Status of the answer. */
  readonly status: number;
  /** The OAuth error code of an answer that refuses. `invalid_client` is a failed authentication. */
  readonly oauthError?: OAuthErrorCode;
  /** The client, once it is proven. A public client only names itself. */
  readonly clientId?: string;
}

/** What `rateLimit` answers. */
export type RateLimitDecision =
  | {
      readonly kind: "allowed";
      /**
       * Is called exactly once, before the answer is written, also when the server fails or the client has disconnected. It is not
       * waited for. What it throws or rejects with becomes the event `server-error`, and does not change the answer.
       */
      readonly answered?: (outcome: ClientOutcome) => void | Promise<void>;
    }
  | {
      /** The client gets 429 `temporarily_unavailable`. Nothing is looked up, compared or stored. */
      readonly kind: "limited";
      /** Whole seconds, at least 1. The client gets them as `Retry-After`. */
      readonly retryAfterSeconds: number;
    };

/**
 * Decides whether an attempt is looked at. It is asked once for each POST whose form could be read, and for each preflight. If it throws,
 * rejects, answers anything else or takes longer than five seconds, the request fails (500 or 503), and nothing is looked up.
 */
export type RateLimit = (attempt: ClientAttempt) => RateLimitDecision | Promise<RateLimitDecision>;

/** How an endpoint has answered, or the preflight of one. */
type AnyAnswer = ClientAnswer<JsonResponse | EmptyResponse>;

/** An attempt, how it is answered once the host has allowed it, and how it is refused. */
interface Limited<Answer extends ProtocolResponse, Refusal extends Answer & { readonly status: number }> {
  readonly ask: RateLimit;
  readonly attempt: ClientAttempt;
  readonly answer: () => Promise<ClientAnswer<Answer>>;
  readonly refuse: (thrown: unknown) => Refusal;
}

/** A request, and whom to ask about it. */
export interface LimitedRequest {
  readonly endpoint: ClientEndpoint;
  readonly request: FormRequest;
  readonly asked: {
    readonly rateLimit: RateLimit;
    readonly req: IncomingMessage;
    readonly ip: string;
    readonly name: ClientEndpointName;
  };
  /** How it is answered once the host has allowed it. */
  readonly answer: () => Promise<AnyAnswer>;
}

/** The client that authentication would look up. */
function claimedClientId({ malformed, parameters, headers }: FormRequest): string | undefined {
  if (malformed || parameters.unusable.size > 0) return undefined;
  const presented = readClientAuthentication(parameters, headers.authorization);
  // a copy: the host may keep it as a key, and the text that it was cut from would stay with it
  return "clientId" in presented && isClientId(presented.clientId) ? ownText(presented.clientId) : undefined;
}

function attemptOf({ request, asked: { req, ip, name } }: LimitedRequest): ClientAttempt {
  const clientId = claimedClientId(request);
  const sent = name === "token" ? request.parameters.get("grant_type") : undefined;
  const grantType = grantTypes.find((known) => known === sent);
  return {
    req,
    ip,
    endpoint: name,
    issuer: request.issuer.identifier,
    ...(clientId !== undefined && { clientId }),
    ...(grantType && { grantType }),
  };
}

const decisionKeys: AnswerKeys<RateLimitDecision> = {
  allowed: { answered: true },
  limited: { retryAfterSeconds: true },
};

/** The checked answer. @throws TypeError when it is invalid */
function checkedDecision(given: unknown): RateLimitDecision {
  const decision = readAnswer<RateLimitDecision>("rateLimit", { given, keys: decisionKeys });
  if (decision.kind === "allowed") {
    const { answered = () => undefined } = decision;
    if (typeof answered === "function") return decision;
    throw invalidAnswer("rateLimit", "answered must be a function, or be left out");
  }
  const { retryAfterSeconds } = decision;
  if (Number.isSafeInteger(retryAfterSeconds) && retryAfterSeconds >= 1) return decision;
  throw invalidAnswer("rateLimit", "retryAfterSeconds must be whole seconds, at least 1");
}

/** Tells the host how the request was answered. Its failure is reported, and changes nothing. */
function tell(
  decision: RateLimitDecision,
  { outcome, report }: { outcome: ClientOutcome; report: (cause: unknown) => void },
): void {
  if (decision.kind !== "allowed" || !decision.answered) return;
  try {
    Promise.resolve(decision.answered(outcome)).catch(report);
  } catch (cause) {
    report(cause);
  }
}

/** @throws whatever the host throws, TypeError when its answer is invalid, and an error that means "later" when there is none in time */
async function askHost(
  { ask, attempt }: { ask: RateLimit; attempt: ClientAttempt },
  report: (cause: unknown) => void,
): Promise<RateLimitDecision> {
  const answer = Promise.resolve(ask(attempt));
  const outcome: ClientOutcome = { status: 503, oauthError: "temporarily_unavailable" };
  // the request has been refused by then, but the host may have counted it as under way
  const onLate = (): void =>
    void answer.then((late) => tell(checkedDecision(late), { outcome, report })).catch(() => undefined);
  return checkedDecision(await inTime("rateLimit", () => answer, onLate));
}

function tooMany(retryAfterSeconds: number): OAuthError {
  return new OAuthError("temporarily_unavailable", {
    description: "Too many requests: try again later.",
    ...because(endpointReasons, "rate-limited"),
    retryAfterSeconds,
  });
}

/** A redirect is the answer to a form. */
function statusOf(response: ProtocolResponse): number {
  return "status" in response ? (response.status ?? 200) : response.kind === "redirect" ? 303 : 200;
}

function outcomeOf({ response, clientId }: ClientAnswer<ProtocolResponse>): ClientOutcome {
  const oauthError = errorOf(response);
  return {
    status: statusOf(response),
    ...(oauthError && { oauthError }),
    ...(clientId !== undefined && { clientId }),
  };
}

/**
 * Answers an attempt that the host allows, and tells it the outcome. Everything that costs something comes after the host's answer.
 *
 * @rfc 6585 §4, 9110 §10.2.3
 */
export async function answerAllowed<
  Answer extends ProtocolResponse,
  Refusal extends Answer & { readonly status: number },
>(
  { emit }: Pick<ClientEndpointPorts, "emit">,
  { ask, attempt, answer, refuse }: Limited<Answer, Refusal>,
): Promise<Answer> {
  const { issuer } = attempt;
  const report = (cause: unknown): void => emit({ kind: "server-error", issuer, cause });
  let decision: RateLimitDecision;
  try {
    decision = await askHost({ ask, attempt }, report);
  } catch (thrown) {
    return refuse(thrown);
  }
  if (decision.kind === "limited") return { ...refuse(tooMany(decision.retryAfterSeconds)), status: 429 };
  const failed = (thrown: unknown): ClientAnswer<Answer> => ({
    response: refuse(thrown),
    clientId: undefined,
  });
  const given = await answer().catch(failed);
  tell(decision, { outcome: outcomeOf(given), report });
  return given.response;
}

/** The same for a request at an endpoint for clients. */
export function answerWithinLimit(
  ports: Pick<ClientEndpointPorts, "emit">,
  limited: LimitedRequest,
): Promise<AnyAnswer["response"]> {
  const { endpoint, request, asked, answer } = limited;
  const refuse = (thrown: unknown): JsonResponse => refuseClient(ports, { endpoint, request, thrown });
  return answerAllowed(ports, { ask: asked.rateLimit, attempt: attemptOf(limited), answer, refuse });
}
