/** The shape of a server file. */
import type { RequestListener } from "node:http";

/** A request of a workload; `{value}` in the path, a header or the body is replaced by the token or code that it sends. */
export interface RequestTemplate {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** What a server supports; what is left out is not measured. */
export interface Routes {
  /** Client credentials; the client's secret is in the body. */
  readonly clientCredentials?: RequestTemplate;
  /** Redirects the signed-in person with a code, without asking. */
  readonly authorize?: RequestTemplate;
  /** The same, always by one person; left out where `authorize` is that too. */
  readonly authorizeOne?: RequestTemplate;
  /** Pushes the same request. */
  readonly push?: RequestTemplate;
  /** Redirects the person with a code, by the `request_uri` `{value}`. */
  readonly authorizePushed?: RequestTemplate;
  /** Exchanges the code `{value}` for tokens, with PKCE. */
  readonly exchange?: RequestTemplate;
  /** Exchanges the refresh token `{value}` for tokens. */
  readonly refresh?: RequestTemplate;
  /** `authorize` with `prompt=none`. */
  readonly silent?: RequestTemplate;
  /** Asks what the access token `{value}` means. */
  readonly introspect?: RequestTemplate;
  /** A route that accepts the access token `{value}`. */
  readonly protected?: RequestTemplate;
  /** Returns that many access tokens for `protected`, if the server issues none itself. */
  readonly accessTokens?: (count: number) => readonly string[];
}

export type Format = "jwt" | "opaque";

export interface Server {
  readonly listener: RequestListener;
  readonly routes: Routes;
}

export interface ServerFile {
  /** Its name in the tables. */
  readonly title: string;
  readonly formats: readonly Format[];
  readonly start: (options: { readonly format: Format }) => Promise<Server>;
  /** Additional questions that it can answer while it runs. */
  readonly ask?: Readonly<Record<string, () => Promise<object>>>;
}
