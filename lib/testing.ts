/** The public names of `authmount/testing`. */
export { storageContract, type StorageContractOptions } from "./testing/contract/storage-contract";
export type { OpenStorage } from "./testing/contract/rule";
export type { RouteAnswer, SendRequest, TestRouteRequest } from "./testing/check-route";
export { type MintToken, type RefusedKind, refusedKinds } from "./testing/token-request";
export { type TestClock, testClock } from "./testing/test-clock";
export { testKey, type TestKey, type TestProof } from "./testing/test-key";
export { type TestPerson, testSignIn, type TestSignIn, type TestSignInOptions } from "./testing/test-sign-in";
export { testTokens, type TestTokens } from "./testing/test-tokens";
export type { TestTokenRequest } from "./testing/token-request";
