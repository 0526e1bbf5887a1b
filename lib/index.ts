/** The public names of `authmount`. */
export type { AuthServer } from "./auth-server";
export type { Assessment, AssessmentItem } from "./assessment/assess";
export type { AssessedStandard, AssessmentState } from "./assessment/requirement";
export { createAuthServer } from "./create-auth-server";
export {
  defaultLifetimes,
  type ApiOptions,
  type AuthServerOptions,
  type ScopeOptions,
} from "./options/options";
export type { HostApproval } from "./interaction/host-approval";
export type { ConsentPage } from "./pages/consent-page";
export type { ErrorPage } from "./pages/error-page";
export type { PageContent, PagesOptions } from "./pages/pages";
export type { PageTexts } from "./pages/page-texts";
export type { AuthorizationSummary, ClientSummary } from "./pages/summary";
export type {
  AuthenticationRequest,
  AuthMethod,
  ConsentAdapter,
  ConsentRequest,
  Interaction,
} from "./interaction/port";
export type {
  ActiveAuthorization,
  ActiveAuthorizations,
  RememberedConsents,
} from "./end-user/list-authorizations";
export type { Authentication, ConsentAnswer } from "./end-user/port";
export type { ClientAttempt, ClientOutcome, RateLimit, RateLimitDecision } from "./endpoints/rate-limit";
export type { AuthServerEvent, EventSubject, OnEvent } from "./events/port";
export type { ReadAccessToken } from "./http/access-tokens";
export type { RequestTrace, TracedEndpoint } from "./http/request-trace";
export type { McpAuth, ReadMcpAuth } from "./http/mcp-auth";
export type { ChallengeOptions, RequireBearer, RequireBearerOptions } from "./http/protect-routes";
export type { BearerHandler, BearerMiddleware } from "./http/require-bearer";
export type { AccessToken, EndUserAccessToken } from "./protocol/access-token";
export type {
  AuthenticationFacts,
  Authorization,
  AuthorizationCode,
  RefreshToken,
  RefreshTokenUse,
} from "./protocol/authorization";
export type { Prompt } from "./protocol/authorization-request";
export {
  browserOriginsOf,
  type Client,
  type ConfidentialClient,
  type GrantType,
  type KeyClient,
  type PublicClient,
  type PublicJwk,
  type PublicKeySet,
  type SelfDescription,
  type Subscription,
} from "./protocol/client";
export type {
  ClientMetadataDocumentAdapter,
  ClientRegistrationAdapter,
  DocumentDecision,
  RegistrationDecision,
  RegistrationMetadata,
} from "./clients/port";
export { generateClientKey } from "./clients/client-key";
export { digestClientSecret, generateClientSecret } from "./clients/client-secret";
export type { AuthorizationContext } from "./protocol/authorization-context";
export type { Consent, ConsentKey, ConsentSelection } from "./protocol/consent";
export type { EndMark } from "./protocol/end-mark";
export type { ScopeSentence } from "./protocol/issuer";
export type { Lifetimes } from "./protocol/issuer";
export type { EpochSeconds } from "./protocol/time";
export type { OAuthErrorCode } from "./protocol/oauth-error";
export type { TokenDigest, TokenHandle } from "./protocol/token-value";
export type { HostClaims } from "./protocol/host-claims";
export type { DecidedAuthorization, TokenAdapter, TokenDecision, TokenDecisionRequest } from "./tokens/port";
export {
  generateSigningKey,
  type PrivateJwk,
  type PrivateKeySource,
  type ScheduledKey,
  type SigningAlgorithm,
  type SigningKeySource,
} from "./signing/signing-key";
export { memoryStorage, type MemoryStorageOptions } from "./storage/memory/memory-storage";
export { maxConsents } from "./protocol/consent";
export { maxAuthorizations } from "./storage/port";
export type {
  AccessTokenStore,
  AuthorizationCodeStore,
  AuthorizationPage,
  AuthorizationSelection,
  AuthorizationStore,
  ClientStore,
  ConsentStore,
  EndMarkStore,
  ListedAuthorization,
  RefreshTokenStore,
  RevokedAccessToken,
  Storage,
  StoredAccessToken,
} from "./storage/port";
export type {
  ClientAssertionStore,
  ClientRegistration,
  ClientRegistrationStore,
  UsedAssertion,
} from "./storage/client-ports";
