/** Adapters with one small mistake each. Each is one that somebody would make. */
import { accessTokenMistakes } from "./access-tokens";
import { assertionMistakes } from "./assertions";
import { codeMistakes } from "./authorization-codes";
import { limitMistakes } from "./authorization-limits";
import { eraseMistakes, listMistakes } from "./authorization-lists";
import { authorizationMistakes } from "./authorizations";
import { clientMistakes } from "./clients";
import { consentMistakes } from "./consents";
import { endMarkMistakes } from "./end-marks";
import { expiryMistakes } from "./ends";
import { swallowedFailures } from "./failures";
import { fieldMistakes } from "./fields";
import { lastUseMistakes } from "./last-use";
import { forgettingMistakes, partialMistakes } from "./lasting";
import { lengthMistakes } from "./lengths";
import { sharedMistakes } from "./ownership";
import { refreshTokenMistakes } from "./refresh-tokens";
import { registrationLimitMistakes, registrationMistakes } from "./registrations";
import { retryMistakes } from "./retries";
import { revokeAllMistakes } from "./revoke-all";
import { subjectMistakes } from "./subjects";
import { tableStorage } from "./table-storage";
import type { WrongAdapter } from "./wrong-adapter";

/** All of them. */
export const wrongAdapters: readonly WrongAdapter[] = [
  ...clientMistakes,
  ...consentMistakes,
  ...authorizationMistakes,
  ...revokeAllMistakes,
  ...listMistakes,
  ...limitMistakes,
  ...eraseMistakes,
  ...codeMistakes,
  ...refreshTokenMistakes,
  ...retryMistakes,
  ...lastUseMistakes,
  ...forgettingMistakes,
  ...partialMistakes,
  ...lengthMistakes,
  ...accessTokenMistakes,
  ...endMarkMistakes,
  ...assertionMistakes,
  ...registrationMistakes,
  ...registrationLimitMistakes,
  ...expiryMistakes,
  ...fieldMistakes,
  ...sharedMistakes,
  ...swallowedFailures,
  ...subjectMistakes(tableStorage),
];
