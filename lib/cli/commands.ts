/** All commands, in the order of the help. */
import { check } from "./check";
import type { Command } from "./command";
import { clientKey, clientSecret, secret } from "./make-secrets";
import { migrate } from "./migrate";
import { migrations } from "./migrations";
import { signingKey } from "./signing-key";

/** All commands. */
export const commands: readonly Command[] = [
  secret,
  signingKey,
  clientSecret,
  clientKey,
  check,
  migrate,
  migrations,
];
