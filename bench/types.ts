/** The form of a server file. */
import type { RequestListener } from "node:http";

/** A request of a workload; `{value}` in a header or in the body stands for the token or code that it sends. */
export interface RequestTemplate {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** What a server can do; what is left out is not measured. */
export interface Routes {
  /** Client credentials; the client's secret is in the body. */
  readonly clientCredentials?: RequestTemplate;
  /** Sends the signed-in person on with a code (a redirect), without a question. */
  readonly authorize?: RequestTemplate;
  /** Buys tokens for the code `{value}`, with PKCE. */
  readonly exchange?: RequestTemplate;
  /** Buys tokens for the refresh token `{value}`. */
  readonly refresh?: RequestTemplate;
  /** `authorize` with `prompt=none`. */
  readonly silent?: RequestTemplate;
  /** A route that takes the access token `{value}`. */
  readonly protected?: RequestTemplate;
  /** Gives that many access tokens for `protected`, where the server issues none itself. */
  readonly accessTokens?: (count: number) => readonly string[];
}

export type Format = "jwt" | "opaque";

export interface Server {
  readonly listener: RequestListener;
  readonly routes: Routes;
}

export interface ServerFile {
  /** What it is called in the tables. */
  readonly title: string;
  readonly formats: readonly Format[];
  readonly start: (options: { readonly format: Format }) => Promise<Server>;
  /** What it can be asked besides while it runs. */
  readonly ask?: Readonly<Record<string, () => Promise<object>>>;
}
