/** The storage contract: what every adapter must do, as tests for any test runner. RFC 6749 §4.1.2, §10.5; 9700 §4.14.2. */
import type { Client } from "../../protocol/client";
import { accessTokenRules } from "./access-token-rules";
import { assertionRules } from "./assertion-rules";
import { authorizationLimitRules } from "./authorization-limit-rules";
import { authorizationListRules } from "./authorization-list-rules";
import { authorizationRules } from "./authorization-rules";
import { clientDeleteRules } from "./client-delete-rules";
import { clientRules } from "./client-rules";
import { clientSaveRules } from "./client-save-rules";
import { codeRules } from "./code-rules";
import { consentDeleteRules } from "./consent-delete-rules";
import { consentRules } from "./consent-rules";
import { endMarkRules } from "./end-mark-rules";
import { eraseRules } from "./erase-rules";
import { lastUseRules } from "./last-use-rules";
import { lastingRules } from "./lasting-rules";
import { newClients } from "./records";
import { refreshTokenRules } from "./refresh-token-rules";
import { registrationLimitRules } from "./registration-limit-rules";
import { registrationRules } from "./registration-rules";
import { retryRules } from "./retry-rules";
import { revokeAllRules } from "./revoke-all-rules";
import type { OpenStorage, Rule } from "./rule";
import { ownershipRules, unreachableRule } from "./store-rules";

/** The options of `storageContract`. */
export interface StorageContractOptions {
  /** The `test` or `it` function of your test runner. */
  readonly test: (name: string, run: () => Promise<void>) => void;
  /** Opens the storage under test, with these clients registered. It is called for each test, and may open the same store again. */
  readonly open: (given: { readonly clients: readonly Client[] }) => Promise<OpenStorage>;
  /** Opens a storage whose store cannot be reached. Without it, the test that every call then rejects is left out. */
  readonly openUnreachable?: () => Promise<OpenStorage>;
}

const rules: readonly Rule[] = [
  ...clientRules,
  ...clientSaveRules,
  ...clientDeleteRules,
  ...consentRules,
  ...consentDeleteRules,
  ...authorizationRules,
  ...revokeAllRules,
  ...authorizationListRules,
  ...authorizationLimitRules,
  ...eraseRules,
  ...codeRules,
  ...refreshTokenRules,
  ...retryRules,
  ...lastUseRules,
  ...lastingRules,
  ...accessTokenRules,
  ...endMarkRules,
  ...assertionRules,
  ...registrationRules,
  ...registrationLimitRules,
  ...ownershipRules,
];

async function tryRule({ check }: Rule, open: StorageContractOptions["open"]): Promise<void> {
  const clients = newClients();
  const { storage, peer = storage, close } = await open({ clients });
  try {
    await check({ storage, peer, clients, now: Math.floor(Date.now() / 1000) });
  } finally {
    await close?.();
  }
}

/**
 * Declares a test for each duty of a `Storage`, including races of simultaneous redemptions and rotations. A failing test throws an
 * `AssertionError` of `node:assert` that says what went wrong.
 */
export function storageContract({ test, open, openUnreachable }: StorageContractOptions): void {
  for (const rule of rules) test(rule.name, () => tryRule(rule, open));
  if (openUnreachable) test(unreachableRule.name, () => tryRule(unreachableRule, openUnreachable));
}
