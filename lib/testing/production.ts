/** Keeps the tools for tests out of production: with them, anyone could sign in as any person. */
import { isProduction } from "../options/resolve";
import { hostMistake } from "../protocol/mistake";

/**
 * Lets tests go on.
 *
 * @throws TypeError when `NODE_ENV` is `production`. `by` is the function that was called.
 */
export function refuseProduction(by: string): void {
  if (isProduction())
    throw hostMistake(
      "testing-in-production",
      `${by}: authmount/testing is for tests, and NODE_ENV is production. Run tests with another NODE_ENV, and import it in tests only.`,
    );
}
