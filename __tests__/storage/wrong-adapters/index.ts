/** Adapters with one small mistake each. Each is one that somebody would make. */
import { accessTokenMistakes } from "./access-tokens";
import { codeMistakes } from "./authorization-codes";
import { authorizationMistakes } from "./authorizations";
import { clientMistakes } from "./clients";
import { consentMistakes } from "./consents";
import { endMarkMistakes } from "./end-marks";
import { expiryMistakes } from "./ends";
import { swallowedFailures } from "./failures";
import { fieldMistakes } from "./fields";
import { sharedMistakes } from "./ownership";
import { refreshTokenMistakes } from "./refresh-tokens";
import { subjectMistakes } from "./subjects";
import { tableStorage } from "./table-storage";
import type { WrongAdapter } from "./wrong-adapter";

/** All of them. */
export const wrongAdapters: readonly WrongAdapter[] = [
  ...clientMistakes,
  ...consentMistakes,
  ...authorizationMistakes,
  ...codeMistakes,
  ...refreshTokenMistakes,
  ...accessTokenMistakes,
  ...endMarkMistakes,
  ...expiryMistakes,
  ...fieldMistakes,
  ...sharedMistakes,
  ...swallowedFailures,
  ...subjectMistakes(tableStorage),
];
