/** Checks the options in a module of the host: what would be refused, what is weak, what clients will find. RFC 8414, 9700. */
import { assess, type Assessment, assessmentText } from "../review/assess";
import type { AuthServerOptions } from "../options/options";
import { plainOptions } from "../options/shape";
import { type RefusedOption, refusals } from "../options/refused-options";
import { optionMessage } from "../options/problem";
import { resolveOptions } from "../options/resolve";
import { exchangeClientProblems } from "../options/token-exchange";
import { type Weakness, weaknessesOf } from "../review/weaknesses";
import { generateSigningKey } from "../signing/signing-key";
import { type HostMistake, hostMistake } from "../protocol/mistake";
import type { ListedClients } from "../clients/client-lookup";
import { listsClients } from "../review/find";
import { type Storage, storagePortNames } from "../storage/port";
import { type ReadTable, readTable } from "./client-table";
import type { Answer, Command, World } from "./command";
import { type Found, foundByClients, foundText } from "./documents";
import { fromModule, moduleOptions, optionsIn } from "./load-module";
import { errorSentence, printable } from "./wording";

/** What was found. */
interface Findings {
  readonly refused: readonly RefusedOption[];
  /** Only looked for when nothing is refused. */
  readonly weaknesses: readonly Weakness[];
  readonly found: Found | undefined;
  readonly assessment: Assessment | undefined;
  /** With `--clients`, what was read; `undefined` for clients that are known from the start. */
  readonly table?: ReadTable;
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

const unknownError = {
  code: "server-refuses",
  message: "createAuthServer threw something that is not an Error",
} as const;

/** What the server itself says, should the rules have missed something. */
function refusedByServer(options: AuthServerOptions, world: World): readonly RefusedOption[] {
  try {
    world.tryServer(complete(options, world));
    return [];
  } catch (error) {
    const { code, message } = error instanceof Error ? (error as Partial<HostMistake> & Error) : unknownError;
    const text = message.replace(/^createAuthServer: /, "");
    return [{ code: code ?? unknownError.code, path: "options", message: text }];
  }
}

function examine(given: AuthServerOptions, world: World): Findings {
  const now = world.clock();
  const { options } = plainOptions(given);
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

/** The same with the records of the table, as if they were known from the start: the rules for clients then look at them. */
async function withTable(findings: Findings, options: AuthServerOptions): Promise<Findings> {
  if (findings.refused.length > 0 || listsClients(options)) return findings;
  const table = await readTable(options);
  const ports = Object.fromEntries(storagePortNames.map((name) => [name, options.storage[name]])) as unknown;
  const storage = { ...(ports as Storage), clients: { records: table.records } as ListedClients };
  const known = { ...options, storage };
  const unfit = exchangeClientProblems(known).map((one) => ({ ...one, message: optionMessage(one) }));
  const wrong = [...table.wrong, ...unfit.map(({ code, path, message }) => ({ code, path, message }))];
  return {
    ...findings,
    weaknesses: weaknessesOf(known),
    assessment: assess(known),
    table: { ...table, wrong },
  };
}

/** A getter of the host may throw. */
function examineSafely(options: AuthServerOptions, world: World): Findings {
  try {
    return examine(options, world);
  } catch (error) {
    const text = `The options could not be read: ${errorSentence(error)}`;
    throw hostMistake("options-not-readable", text, { cause: error });
  }
}

function count(things: readonly unknown[], word: string): string {
  return `${things.length === 0 ? "no" : things.length} ${word}${things.length === 1 ? "" : "s"}`;
}

function weaknessText({ code, path, problem, why, fix }: Weakness): string {
  return `  - ${printable(`${path} ${problem}. ${why}`)}\n    ${printable(fix)} [${code}]\n`;
}

function assessmentLines(assessment: Assessment): string {
  return assessmentText(assessment).split("\n").map(printable).join("\n");
}

function section(title: string, lines: readonly string[]): string {
  return lines.length === 0 ? "" : `${title}\n${lines.join("")}\n`;
}

function refusedText({ code, message }: Pick<RefusedOption, "code" | "message">): string {
  return `  - ${printable(message)} [${code}]\n`;
}

/** How many clients were looked at. */
function tableText({ records, wrong, hasMore }: ReadTable): string {
  return `Clients: ${records.length + wrong.length} read${hasMore ? ", not all that there are" : ""}.\n`;
}

function report({ refused, weaknesses, found, assessment, table }: Findings, production: boolean): string {
  const ofLevel = (level: Weakness["level"]): readonly Weakness[] =>
    weaknesses.filter((one) => one.level === level);
  const [weak, notes] = [ofLevel("weak"), ofLevel("note")];
  const mode = production ? "for production" : "for development";
  const summary =
    refused.length > 0
      ? `Checked ${mode}: ${count(refused, "problem")}. Fix them to see weak spots.`
      : `Checked ${mode}: no problems, ${count(weak, "weak spot")}, ${count(notes, "note")}.`;
  return [
    section("createAuthServer would refuse:", refused.map(refusedText)),
    section("Clients that the server refuses when it finds them:", table?.wrong.map(refusedText) ?? []),
    section("Weak:", weak.map(weaknessText)),
    section("Notes:", notes.map(weaknessText)),
    found ? `${foundText(found)}\n` : "",
    assessment ? `Standards (docs/assessment.md explains each item):\n${assessmentLines(assessment)}\n` : "",
    table ? tableText(table) : "",
    `${summary}\n`,
  ].join("");
}

/** What the module did besides, which a check does not want. */
function sideEffects({ isListening }: World): readonly string[] {
  return isListening()
    ? [
        "The module listens on a port, so it starts a server. The check stops it. If the port is taken, the check fails: move the options to a separate module.",
      ]
    : [];
}

/** `authmount check` */
export const check: Command = {
  name: "check",
  summary: "Check your options: what would be refused, what is weak, what clients find.",
  operand: { name: "FILE", text: "A module that exports the options.", isRequired: true },
  options: {
    production: { text: "Check for production. Sets NODE_ENV=production while the module loads, too." },
    clients: {
      text: "Check the clients in the table of the storage too: it is read, 10000 records at most.",
    },
    strict: { text: "Treat weak spots as problems: exit code 1." },
    ...moduleOptions,
  },
  help: `The module exports the object that you pass to createAuthServer, as options or as the default export: the object itself, a promise
of it, or a function without parameters that returns it. CommonJS and ES modules work, and TypeScript if your Node.js can read it.

  npx authmount check ./auth-options.js --production

The check lists everything that createAuthServer would refuse, what is weak and how to fix it, the documents that clients find at
the root of your origin, and how the options compare with RFC 9700, OAuth 2.1, FAPI 2.0 and OWASP ASVS 5.0 (--json lists each item).
It starts no server, opens no connection, reads no clients from a database unless you add --clients, and prints no secrets or keys. But
it imports the module, so the module's code runs: a module that listens on a port does so until the check ends.
If the module awaits storage.migrate(), its warnings are listed as weak spots.
What the module prints goes to stderr.

Exit codes: 0 if nothing is refused; 1 if options or clients are refused, if the module cannot be loaded, or with --strict if something
is weak.

Next: docs/deployment.md covers what a check of the options cannot show.`,
  async run(given, world): Promise<Answer> {
    if (given.options["production"] !== undefined) world.useProduction();
    const options = await fromModule(given, { world, find: optionsIn });
    const byOptions = examineSafely(options, world);
    const findings = given.options["clients"] === undefined ? byOptions : await withTable(byOptions, options);
    const { refused, weaknesses, found, assessment, table } = findings;
    const isWeak = weaknesses.some(({ level }) => level === "weak");
    const isWrong = refused.length > 0 || (table?.wrong ?? []).length > 0;
    const isRefused = isWrong || (given.options["strict"] !== undefined && isWeak);
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
        ...(table && { clients: { ...table, records: table.records.length } }),
        notes: effects,
      },
    };
  },
};
