/** The public names of `authmount`. */
export type { AuthServer } from "./auth-server";
export type { Assessment, AssessmentItem } from "./review/assess";
export type { AssessedStandard, AssessmentState } from "./review/requirement";
export type { WeaknessCode } from "./review/weaknesses";
export { createAuthServer } from "./create-auth-server";
export {
  defaultLifetimes,
  type ApiOptions,
  type AuthServerOptions,
  type DpopOptions,
  type OpenIdOptions,
  type ScopeOptions,
} from "./options/options";
export type { HostApproval } from "./interaction/consent-answers";
export type { ConsentPage } from "./pages/consent-page";
export type { ErrorPage } from "./pages/error-page";
export type { SignedOutPage } from "./pages/signed-out-page";
export type { PageContent, PagesOptions } from "./pages/pages";
export type { PageTexts } from "./pages/built-in-texts";
export type { AuthorizationSummary, ClientSummary } from "./pages/summary";
export type {
  AuthenticationRequest,
  AuthMethod,
  ConsentAdapter,
  ConsentRequest,
  Interaction,
  SignOutAnswer,
  SignOutRequest,
} from "./interaction/port";
export type {
  ActiveAuthorization,
  ActiveAuthorizations,
  RememberedConsents,
} from "./end-user/list-authorizations";
export type { Authentication, ConsentAnswer, IdentityAnswer, IdentityAssertions } from "./end-user/port";
export type { ClientAttempt, ClientOutcome, RateLimit, RateLimitDecision } from "./endpoints/rate-limit";
export type { AuthServerEvent, EventSubject, OnEvent, RefusalReason } from "./events/port";
export type { ReadAccessToken } from "./bearer/access-tokens";
export type { RequestTrace, TracedEndpoint } from "./http/request-trace";
export type { McpAuth, ReadMcpAuth } from "./bearer/mcp-auth";
export type {
  ChallengeOptions,
  McpScopes,
  McpScopesOptions,
  RequireBearer,
  RequireBearerOptions,
} from "./bearer/protect-routes";
export type { BearerHandler, BearerMiddleware } from "./bearer/require-bearer";
export type { AccessToken, EndUserAccessToken } from "./protocol/access-token";
export type { Actor } from "./protocol/actor";
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
export type { ExchangeSource, ScopeSentence } from "./protocol/issuer";
export type { Lifetimes } from "./protocol/issuer";
export type { EpochSeconds } from "./protocol/time";
export type { OAuthErrorCode } from "./protocol/oauth-error";
export type { TokenDigest, TokenHandle } from "./protocol/token-value";
export type { HostClaims } from "./protocol/host-claims";
export type { IdentityAssertion } from "./protocol/identity-assertion";
export type { IdentityClaims } from "./protocol/openid";
export type {
  DecidedAuthorization,
  IdentityAdapter,
  IdentityClaimsRequest,
  TokenAdapter,
  TokenDecision,
  TokenDecisionRequest,
} from "./tokens/port";
export {
  generateSigningKey,
  type PrivateJwk,
  type PrivateKeySource,
  type ScheduledKey,
  type SigningKeySource,
} from "./signing/signing-key";
export type { RemoteSigner } from "./signing/remote-signer";
export type { SigningAlgorithm } from "./signing/verification-key";
export type { MemoryStorage, MemoryStorageOptions } from "./adapters/memory/storage";
export { addClient, changeClient, memoryStorage, rotateClientSecret } from "./on-demand";
export type { AddedClient, NewClient, WritableClients } from "./clients/manage-clients";
export { maxConsents } from "./protocol/consent";
export { maxAuthorizations } from "./storage/port";
export type {
  AccessTokenStore,
  AuthorizationCodeStore,
  AuthorizationPage,
  AuthorizationSelection,
  AuthorizationStore,
  ClientRegistry,
  ClientStore,
  ConsentStore,
  EndMarkStore,
  ListedAuthorization,
  RefreshTokenStore,
  RevokedAccessToken,
  StepsAtOnce,
  Storage,
  StoredAccessToken,
} from "./storage/port";
export type {
  ClientAssertionStore,
  ClientRegistration,
  ClientRegistrationStore,
  DeviceRequest,
  ParkedRequest,
  ParkedRequestStore,
  UsedAssertion,
} from "./storage/client-ports";
