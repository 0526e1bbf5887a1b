/** The options of `createAuthServer`: what each means, and its default. */
import type { PagesOptions } from "../pages/pages";
import type { AuthMethod, ConsentAdapter } from "../interaction/port";
import type { OnEvent } from "../events/port";
import type { ScopeSentence } from "../protocol/issuer";
import type { Lifetimes } from "../protocol/issuer";
import type { SigningKeySource } from "../signing/signing-key";
import type { Storage } from "../storage/port";

/** A scope that comes with others. */
export interface ScopeOptions {
  /** The sentence that people read, in one language or in several. */
  readonly text: ScopeSentence;
  /**
   * Scopes of this API that are granted with it, and shown beneath it on the consent page, as far as the client's subscription has
   * them. Never itself, not in a circle either.
   */
  readonly implies?: readonly string[];
}

/** Tells the two forms apart: no language is called `text` or `implies`, as their tags begin with two or three letters. */
export function isScopeOptions(scope: ScopeSentence | ScopeOptions): scope is ScopeOptions {
  return typeof scope === "object" && ("text" in scope || "implies" in scope);
}

/** One API: what its access tokens are for, and which ways of signing in it accepts. */
export interface ApiOptions {
  /** What the consent page calls it; its id when left out. */
  readonly name?: string;
  /** Resource identifier, an absolute https URL: the `aud` of its access tokens (RFC 8707, 9068). */
  readonly audience: string;
  /** Ids of the authentication methods that are valid for it: each makes one issuer. */
  readonly authMethods: readonly string[];
  /**
   * Scope → the sentence that people read on the consent page, in one language or in several: `{ en: "…", de: "…" }`. A scope that
   * comes with others says so: `{ text: "…", implies: ["orders:read"] }`.
   */
  readonly scopes: Readonly<Record<string, ScopeSentence | ScopeOptions>>;
  /** Scopes of a request that names none; default: none. */
  readonly defaultScopes?: readonly string[];
  /** Lifetime of its access tokens in seconds, 1 to 86,400; default 3,600. */
  readonly accessTokenSeconds?: number;
  /** `"jwt"` (RFC 9068, default) or `"opaque"` (kept in storage). */
  readonly accessTokenFormat?: "jwt" | "opaque";
  /** Must an authorization request name its `redirect_uri`? Default `"required"`. */
  readonly redirectUri?: "required" | "optional";
  /** Must a request name its `scope`? Default `"optional"`. */
  readonly scope?: "required" | "optional";
  /**
   * What happens to scopes that this API does not have or the client's subscription does not: `"refuse"` (default) answers
   * `invalid_scope`, `"ignore"` leaves them out, with an event, as long as one is left. Some clients ask for `openid` or
   * `offline_access` everywhere.
   */
  readonly unknownScopes?: "refuse" | "ignore";
  /** Lifetimes in seconds at this API, over those of the server. */
  readonly lifetimes?: Partial<Lifetimes>;
}

/** What `createAuthServer` takes. */
export interface AuthServerOptions {
  /**
   * Public URL of the place where the router is mounted, without a slash at its end: `https://host/login` for
   * `app.use("/login", auth.router)`. Every URL in an answer comes from here, never from the request.
   */
  readonly baseUrl: string;
  /**
   * Secrets of at least 32 characters that seal pending requests: the first one seals, all of them open. Share them between
   * processes. Left out: throw-away ones, with a warning; refused in production.
   */
  readonly secrets?: readonly string[];
  /**
   * Private keys (PEM, JWK or KeyObject) that sign access tokens: the first one signs, all of them verify. P-256 keys sign
   * ES256, RSA keys RS256 unless their JWK names another `alg`. `{ key, signsFrom }` publishes a key before it signs (see
   * `auth.rotateKeys`). Left out: a throw-away one, with a warning; refused in
   * production.
   */
  readonly signingKeys?: readonly SigningKeySource[];
  /** Where clients, consents, codes and tokens are kept. */
  readonly storage: Storage;
  /** Authentication method id → how end users sign in. */
  readonly authMethods: Readonly<Record<string, AuthMethod>>;
  /** API id → the API. */
  readonly apis: Readonly<Record<string, ApiOptions>>;
  /** Decides about consent; default: the built-in page asks. */
  readonly consent?: ConsentAdapter;
  /** How the built-in pages look and what they say. */
  readonly pages?: PagesOptions;
  /** Lifetimes in seconds; see `defaultLifetimes`. */
  readonly lifetimes?: Partial<Lifetimes>;
  /**
   * How long, in seconds, the server may go without asking storage again: `requireBearer` about a token that it has accepted,
   * and every endpoint about a client that it has found; 0 to 300, default 5. With 0 it asks every time.
   */
  readonly revocationLagSeconds?: number;
  /**
   * Schemes without a dot, in lower case, that native clients may have in their redirect URIs: `["cursor"]` for `cursor://…`. Default:
   * none, as RFC 8252 §7.1 wants a dot. What browsers know (`javascript`, `data`, `file`, `mailto` …) is refused.
   */
  readonly redirectSchemes?: readonly string[];
  /** Hears what happens. What it throws is ignored. */
  readonly onEvent?: OnEvent;
}

/** Codes one minute, interactions ten minutes, refresh tokens 14 days idle and 90 days in all, consents one year. */
export const defaultLifetimes: Lifetimes = {
  authorizationCodeSeconds: 60,
  interactionSeconds: 600,
  refreshTokenIdleSeconds: 1_209_600,
  refreshTokenSeconds: 7_776_000,
  consentSeconds: 31_536_000,
};
