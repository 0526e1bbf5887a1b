/** An authentication method for tests: who is at the browser is what the test says. RFC 6749 §3.1. */
import { endUserProblem } from "../end-user/check-host-answer";
import type { Authentication } from "../end-user/port";
import type { AuthMethod } from "../interaction/port";
import type { AuthenticationFacts } from "../protocol/authorization";
import { type AuthorizationContext, readContext } from "../protocol/authorization-context";
import { hostMistake } from "../protocol/mistake";
import { currentTime } from "./test-clock";
import { checkKeys } from "../host/plain";
import { refuseProduction } from "./production";

/** A person, as `authenticate` of a host would describe them. */
export interface TestPerson extends AuthenticationFacts {
  /** The stable id of the end user. */
  readonly subject: string;
  /** The name on the consent page. Default: the subject. */
  readonly displayName?: string;
  /** What the person chose while they signed in, such as an organization. */
  readonly context?: AuthorizationContext;
  /** By what the person will know this sign-in. */
  readonly signedInFrom?: string;
}

/** A fake authentication method, and who is signed in there. */
export interface TestSignIn {
  /** For `authMethods` in the options of the app under test. */
  readonly authMethod: AuthMethod;
  /**
   * From now on this person is signed in at every browser. They sign in at this moment, unless `authTime` says otherwise.
   *
   * @throws TypeError when a part is unknown, `undefined` or wrong
   */
  readonly signIn: (person: string | TestPerson) => void;
  /** From now on nobody is signed in: the browser is sent to `url`. */
  readonly signOut: () => void;
}

/** Where the browser is sent while nobody is signed in. */
export interface TestSignInOptions {
  /** The sign-in page: absolute, or a path. The app need not have it. Default: `/sign-in`. */
  readonly url?: string;
}

type Authenticated = Extract<Authentication, { kind: "authenticated" }>;

const personKeys = ["subject", "displayName", "context", "signedInFrom", "authTime", "acr", "amr"];

function readPerson(given: string | TestPerson): Authenticated {
  const by = "signIn";
  const person = typeof given === "string" ? { subject: given } : given;
  checkKeys(person, { by, known: personKeys });
  const { context } = person;
  const read = context === undefined ? undefined : readContext(context);
  const problem = typeof read === "string" ? read : endUserProblem(person, currentTime());
  if (problem !== undefined) throw hostMistake("wrong-person", `${by}: ${problem}.`);
  return { kind: "authenticated", authTime: currentTime(), ...person };
}

/** What a person signs in again with: the best `acr` that the client asks for, unless theirs is one of them. */
function acrOf({ acr = "" }: Authenticated, acrValues: readonly string[]): { acr?: string } {
  const [best] = acrValues.includes(acr) ? [] : acrValues;
  return best === undefined ? {} : { acr: best };
}

/**
 * A fake authentication method, so that a test gets through authorize requests without your sign-in page. Where the person has to sign in
 * again (`prompt=login`, `max_age`, `acr_values`), they do so at once, with the `acr` that the client wants. Where they have to choose an account (`prompt=select_account`), the browser
 * is sent to `url`.
 *
 * @throws TypeError in production, and so does the method itself when it is asked there
 */
export function testSignIn(options: TestSignInOptions = {}): TestSignIn {
  refuseProduction("testSignIn");
  checkKeys(options, { by: "testSignIn", known: ["url"] });
  const { url = "/sign-in" } = options;
  let person: Authenticated | undefined;
  return {
    authMethod: {
      authenticate({ reauthenticate, prompt, acrValues }) {
        refuseProduction("testSignIn");
        if (!person || (reauthenticate && prompt.includes("select_account")))
          return { kind: "interaction", url };
        if (reauthenticate) person = { ...person, ...acrOf(person, acrValues), authTime: currentTime() };
        return person;
      },
    },
    signIn(given) {
      person = readPerson(given);
    },
    signOut() {
      person = undefined;
    },
  };
}
