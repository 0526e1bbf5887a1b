/** The public names. */
export type { AuthServer, ChallengeOptions, RequireBearer, RequireBearerOptions } from "./auth-server";
export { createAuthServer } from "./create-auth-server";
export { defaultLifetimes, type ApiOptions, type AuthServerOptions, type ScopeOptions } from "./options";
export type { ConsentPage } from "./interaction/consent-page";
export type { ErrorPage } from "./interaction/error-page";
export type { PageContent, PagesOptions } from "./interaction/pages";
export type { PageTexts } from "./interaction/page-texts";
export type {
  AuthenticationRequest,
  AuthMethod,
  AuthorizationSummary,
  ClientSummary,
  ConsentAdapter,
  ConsentRequest,
  Interaction,
} from "./interaction/port";
export type { Authentication, ConsentAnswer } from "./endpoints/end-user";
export type { AuthServerEvent, EventSubject, OnEvent } from "./events/port";
export type { BearerHandler } from "./http/require-bearer";
export type { AccessToken, EndUserAccessToken } from "./protocol/access-token";
export type { AuthenticationFacts, Authorization } from "./protocol/authorization";
export type { AuthorizationCode } from "./protocol/authorization-code";
export type { Prompt } from "./protocol/authorization-request";
export {
  browserOriginsOf,
  type Client,
  type ConfidentialClient,
  type GrantType,
  type PublicClient,
  type Subscription,
} from "./protocol/client";
export { digestClientSecret, generateClientSecret } from "./protocol/client-secret";
export type { Consent, ConsentKey } from "./protocol/consent";
export type { EndMark } from "./protocol/end-mark";
export type { ScopeSentence } from "./protocol/issuer";
export type { Lifetimes } from "./protocol/lifetimes";
export type { EpochSeconds } from "./protocol/epoch-seconds";
export type { OAuthErrorCode } from "./protocol/oauth-error";
export type { RefreshToken } from "./protocol/refresh-token";
export type { TokenDigest, TokenHandle } from "./protocol/token-value";
export {
  generateSigningKey,
  type PrivateJwk,
  type PrivateKeySource,
  type ScheduledKey,
  type SigningAlgorithm,
  type SigningKeySource,
} from "./signing/signing-key";
export { memoryStorage, type MemoryStorageOptions } from "./storage/memory";
export type {
  AccessTokenStore,
  AuthorizationCodeStore,
  AuthorizationStore,
  ClientStore,
  ConsentStore,
  EndMarkStore,
  RefreshTokenStore,
  RevokedAccessToken,
  Storage,
  StoredAccessToken,
} from "./storage/port";
