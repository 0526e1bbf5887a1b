/** Checks the options in a module of the host: what would be refused, what is weak, what clients will find. RFC 8414, 9700. */
import { assess, type Assessment } from "../assessment/assess";
import { assessmentText } from "../assessment/text";
import type { AuthServerOptions } from "../options/options";
import { plainOptions } from "../options/plain-options";
import { type RefusedOption, refusals } from "../options/problems";
import { resolveOptions } from "../options/resolve";
import type { Weakness } from "../options/weakness";
import { weaknessesOf } from "../options/weaknesses";
import { generateSigningKey } from "../signing/signing-key";
import type { Answer, Command, World } from "./command";
import { type Found, foundByClients, foundText } from "./documents";
import { optionsIn } from "./exported";
import { fromModule, moduleOptions } from "./load-module";
import { errorSentence, printable } from "./wording";

/** What was found. */
interface Findings {
  readonly refused: readonly RefusedOption[];
  /** Only looked for when nothing is refused. */
  readonly weaknesses: readonly Weakness[];
  readonly found: Found | undefined;
  readonly assessment: Assessment | undefined;
}

/** The same with what would be generated, so that no warning says that it was. */
function complete(options: AuthServerOptions, { randomToken }: World): AuthServerOptions {
  const own = {
    secrets: options.secrets ?? [randomToken()],
    signingKeys: options.signingKeys ?? [generateSigningKey()],
    // the host must not hear of a server that is none
    onEvent: () => undefined,
  };
  return { ...options, ...own };
}

/** What the server itself says, should the rules have missed something. */
function refusedByServer(options: AuthServerOptions, world: World): readonly RefusedOption[] {
  try {
    world.tryServer(complete(options, world));
    return [];
  } catch (error) {
    const message =
      error instanceof Error ? error.message : "createAuthServer threw something that is no Error";
    return [{ path: "options", message: message.replace(/^createAuthServer: /, "") }];
  }
}

function examine(given: AuthServerOptions, world: World): Findings {
  const now = world.clock();
  const options = plainOptions(given);
  const byRules = refusals(options, now);
  const refused = byRules.length > 0 ? byRules : refusedByServer(options, world);
  if (refused.length > 0) return { refused, weaknesses: [], found: undefined, assessment: undefined };
  return {
    refused,
    weaknesses: weaknessesOf(options),
    found: foundByClients(resolveOptions(options, now), now),
    assessment: assess(options),
  };
}

/** A getter of the host may throw. */
function examineSafely(options: AuthServerOptions, world: World): Findings {
  try {
    return examine(options, world);
  } catch (error) {
    throw new Error(`The options could not be read: ${errorSentence(error)}`, { cause: error });
  }
}

function count(things: readonly unknown[], word: string): string {
  return `${things.length === 0 ? "no" : things.length} ${word}${things.length === 1 ? "" : "s"}`;
}

function weaknessText({ path, problem, why, fix }: Weakness): string {
  return `  - ${printable(`${path} ${problem}. ${why}`)}\n    ${printable(fix)}\n`;
}

function assessmentLines(assessment: Assessment): string {
  return assessmentText(assessment).split("\n").map(printable).join("\n");
}

function section(title: string, lines: readonly string[]): string {
  return lines.length === 0 ? "" : `${title}\n${lines.join("")}\n`;
}

function report({ refused, weaknesses, found, assessment }: Findings, production: boolean): string {
  const ofLevel = (level: Weakness["level"]): readonly Weakness[] =>
    weaknesses.filter((one) => one.level === level);
  const [weak, notes] = [ofLevel("weak"), ofLevel("note")];
  const mode = production ? "as in production" : "as outside production";
  const summary =
    refused.length > 0
      ? `Checked ${mode}: ${count(refused, "problem")}. Weak spots are looked for once nothing is refused.`
      : `Checked ${mode}: no problems, ${count(weak, "weak spot")}, ${count(notes, "note")}.`;
  return [
    section(
      "createAuthServer would refuse:",
      refused.map(({ message }) => `  - ${printable(message)}\n`),
    ),
    section("Weak:", weak.map(weaknessText)),
    section("Notes:", notes.map(weaknessText)),
    found ? `${foundText(found)}\n` : "",
    assessment
      ? `Standards (each item with its meaning: docs/assessment.md):\n${assessmentLines(assessment)}\n`
      : "",
    `${summary}\n`,
  ].join("");
}

/** What the module did besides, which a check does not want. */
function sideEffects({ isListening }: World): readonly string[] {
  return isListening()
    ? [
        "The module listens on a port, so it is a server and not only its options. The check ends it. If the port had been taken, the check would have failed: move the options into a module of their own.",
      ]
    : [];
}

/** `authmount check` */
export const check: Command = {
  name: "check",
  summary: "Check your options: what would be refused, what is weak, what clients find.",
  operand: { name: "FILE", text: "A module that exports the options.", isRequired: true },
  options: {
    production: { text: "Check as with NODE_ENV=production, which is also set while the module loads." },
    strict: { text: "Weak spots count as problems: exit code 1." },
    ...moduleOptions,
  },
  help: `The module exports the object that you pass to createAuthServer, as options or by default: the object, a promise of it, or a
function without parameters that returns it. It may be CommonJS or an ES module, and TypeScript if your Node.js reads it.

  npx authmount check ./auth-options.js --production

It lists everything that createAuthServer would refuse, what is weak and what to write instead, the documents that clients find at
the root of your origin, and how the options stand to RFC 9700, OAuth 2.1, FAPI 2.0 and OWASP ASVS 5.0 (--json has each item).
It creates no server, connects to nothing by itself, asks no database for clients, and prints no secret and no key. But it
imports the module, and whatever the module does when it is loaded happens: one that listens on a port does so until the check ends.
If it awaits storage.migrate(), what that warns of is among the weak spots.
What the module prints goes to stderr.

Exit codes: 0 nothing is refused; 1 something is refused, the module could not be loaded, or --strict and something is weak.

Next: docs/deployment.md has what options cannot show.`,
  async run(given, world): Promise<Answer> {
    if (given.options["production"] !== undefined) world.useProduction();
    const options = await fromModule(given, { world, find: optionsIn });
    const findings = examineSafely(options, world);
    const { refused, weaknesses, found, assessment } = findings;
    const isWeak = weaknesses.some(({ level }) => level === "weak");
    const isRefused = refused.length > 0 || (given.options["strict"] !== undefined && isWeak);
    const effects = sideEffects(world);
    return {
      exitCode: isRefused ? 1 : 0,
      text: report(findings, world.isProduction()),
      advice: effects.map((effect) => `${effect}\n`).join(""),
      json: {
        ok: !isRefused,
        production: world.isProduction(),
        problems: refused,
        weaknesses,
        ...(found && { documents: found.documents, jwksUri: found.jwksUri, keys: found.keys }),
        ...(assessment && { assessment }),
        notes: effects,
      },
    };
  },
};
