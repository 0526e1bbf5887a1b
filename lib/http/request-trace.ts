/** Tells subscribers of `node:diagnostics_channel` of each request: what was asked for, and how it was answered. */
import { tracingChannel } from "node:diagnostics_channel";
import type { EndpointName } from "../protocol/issuer";

/**
 * What a request was for: an endpoint of an issuer; `resume` and `consent`, the ways back from a page to the authorization endpoint;
 * `device`, the page for the code of a device; `metadata` and `keys`, the public documents; `approve` and `deny`, which a page of the host calls; `bearer`, the check of
 * `requireBearer`.
 */
export type TracedEndpoint =
  EndpointName | "metadata" | "keys" | "resume" | "consent" | "device" | "approve" | "deny" | "bearer";

/**
 * The message of the channels `tracing:authmount:request:start`, `:end`, `:asyncStart`, `:asyncEnd` and `:error`: one object for each
 * request, the same in all of them. How it was answered is known at `asyncStart` and `asyncEnd`. It contains no URL, header, parameter,
 * token or secret, and all of its texts come from your options or from a standard, except `method`, which Node has checked.
 */
export interface RequestTrace {
  readonly endpoint: TracedEndpoint;
  /** The method of the request. */
  readonly method: string;
  /**
   * The path with the names of its parameters, as in `/oauth/auth/:authMethodId/api/:apiId/token`. For a document at the root of the origin it
   * is the path itself. None for your own routes.
   */
  readonly route?: string;
  /** Identifier of the (authentication method, API) pair, at an endpoint of one. */
  readonly issuer?: string;
  /** Id of the API, at an endpoint of an issuer and for `bearer`. */
  readonly apiId?: string;
  /**
   * Status of the answer. There is none when `requireBearer` let the request pass, and when the client disconnected before its request
   * had been read.
   */
  readonly status?: number;
  /** The OAuth error code of an answer that refuses, also of one that redirects to the client. */
  readonly oauthError?: string;
  /** What was thrown when not even a failure could be answered. Node sets it, at `error`. The library cannot know what it contains. */
  readonly error?: unknown;
}

type Mutable<T> = { -readonly [Name in keyof T]: T[Name] };

/** A trace of a request that is not answered yet. */
export type OpenTrace = Mutable<RequestTrace>;

/** What is used of the channels. Node's own type of them has other parameters in its newest declarations. */
interface RequestChannels {
  readonly hasSubscribers: boolean;
  tracePromise(work: () => Promise<void>, trace: OpenTrace): Promise<void>;
}

/** The channels. `hasSubscribers` is to be asked first: a request that nobody watches must cost nothing. */
export const tracedRequests: RequestChannels = tracingChannel("authmount:request");

/** Does the work between the messages of a request, in the asynchronous context that subscribers have bound to it. */
export async function traceRequest<T>(trace: OpenTrace, work: (trace: OpenTrace) => Promise<T>): Promise<T> {
  const answers: T[] = [];
  await tracedRequests.tracePromise(async () => {
    // not returned: Node would put it into the message
    answers.push(await work(trace));
  }, trace);
  return answers[0] as T;
}

/** Does the work, traced when somebody has subscribed. */
export function whileTraced<T>(
  begin: OpenTrace,
  work: (trace: OpenTrace | undefined) => Promise<T>,
): Promise<T> {
  return tracedRequests.hasSubscribers ? traceRequest(begin, work) : work(undefined);
}
