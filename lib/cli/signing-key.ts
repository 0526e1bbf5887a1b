/** Makes a key that signs access tokens, alone or in front of the keys that there are. RFC 7517 §4, §5; 7518 §3. */
import { suggestion } from "../host/plain";
import { optionMessage } from "../options/problem";
import { signingKeyProblems } from "../options/signing-keys";
import { hostMistake } from "../protocol/mistake";
import type { EpochSeconds } from "../protocol/time";
import { keyRing, serves } from "../signing/jwt-signer";
import {
  generateSigningKey,
  readSigningKey,
  type ScheduledKey,
  type SigningKeySource,
} from "../signing/signing-key";
import { type SigningAlgorithm, signingAlgorithms } from "../signing/verification-key";
import { type Answer, type Command, usageError, type World } from "./command";
import { parseDuration, timeInWords } from "./duration";
import { aboutUmask, quoted } from "./wording";

/** The longest life that an access token can have: no token of a key that was replaced longer ago is valid. */
const longestTokenSeconds = 86_400;
/** How long a new key is published before it signs, where nobody says otherwise. */
const defaultDelay = "+10m";
const timeForms = "+10m, +2h or +1d from now, or a time such as 2027-01-31T04:00:00Z";

function parseTime(text: string, now: EpochSeconds): EpochSeconds | undefined {
  const duration = text.startsWith("+") && text !== "+0" ? parseDuration(text.slice(1)) : undefined;
  if (duration !== undefined) return now + duration;
  // without a zone, the time would be another one on another machine
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d)?(?:Z|[+-]\d\d:\d\d)$/.test(text)) return undefined;
  const time = Date.parse(text) / 1000;
  return Number.isNaN(time) ? undefined : time;
}

function readTime(text: string, now: EpochSeconds): EpochSeconds {
  const time = parseTime(text, now);
  if (time === undefined) throw usageError(`--signs-from ${quoted(text)} is not a time. Write ${timeForms}.`);
  if (time < now) throw usageError("--signs-from is in the past. Leave it out for a key that signs now.");
  if (time > now + 366 * 86_400)
    throw usageError("--signs-from is more than a year ahead. Write an earlier time.");
  return time;
}

function readAlgorithm(text: string): SigningAlgorithm {
  const found = signingAlgorithms.find((one) => one === text);
  if (found) return found;
  throw usageError(
    `--alg ${quoted(text)} is unknown.${suggestion(text, signingAlgorithms)} Write one of: ${signingAlgorithms.join(", ")}.`,
  );
}

/** The keys in an environment variable. Neither they nor their JSON is in any error. */
function keysIn(name: string, { env, clock }: World): readonly SigningKeySource[] {
  if (!/^\w+$/.test(name))
    throw usageError("--add-to takes the name of an environment variable, such as SIGNING_KEYS.");
  const text = env[name];
  if (!text)
    throw hostMistake(
      "keys-variable-not-set",
      `The environment variable ${name} is not set. Set it to the list of keys, or leave out --add-to.`,
    );
  const keys = parseList(text);
  if (!keys)
    throw hostMistake(
      "keys-variable-not-a-list",
      `${name} is not a JSON list. Write the keys as [{…}], as npx authmount signing-key --list does.`,
    );
  const [problem] = signingKeyProblems(keys, { now: clock() });
  if (problem) throw hostMistake(problem.code, `${name}: ${optionMessage(problem)}`);
  return keys;
}

function parseList(text: string): readonly SigningKeySource[] | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? (value as SigningKeySource[]) : undefined;
  } catch {
    // what JSON.parse says may quote the key
    return undefined;
  }
}

/** Without keys that were replaced so long ago that no token of theirs can be valid. Any RS256 key may sign ID tokens. */
function stillNeeded(keys: readonly SigningKeySource[], now: EpochSeconds): readonly SigningKeySource[] {
  const read = keys.map((source) => ({ source, key: readSigningKey(source) }));
  const marked = read.flatMap(({ key }) => (key.for ? key.algorithm : []));
  const ring = keyRing({
    keys: read.map(({ key }) => key),
    tokenSeconds: longestTokenSeconds,
    idAlgorithms: ["RS256", ...marked],
  });
  const needed = ring.published(now);
  return read.filter(({ key }) => needed.includes(key)).map(({ source }) => source);
}

/** A new key in front of those of an environment variable. */
interface Addition {
  readonly source: ScheduledKey;
  /** When it signs, if that was said. */
  readonly from: EpochSeconds | undefined;
  readonly world: World;
}

function added(name: string, { source, from, world }: Addition): Answer {
  const now = world.clock();
  const keys = keysIn(name, world);
  const { algorithm } = readSigningKey(source);
  // the first key for ID tokens takes over from none
  const isFirst = source.for !== undefined && !keys.some((key) => serves(readSigningKey(key), algorithm));
  const signsFrom = from ?? (isFirst ? now : readTime(defaultDelay, now));
  const kept = stillNeeded(keys, now);
  const list = [{ ...source, signsFrom }, ...kept];
  const gone = keys.length - kept.length;
  return {
    exitCode: 0,
    text: `${JSON.stringify(list)}\n`,
    advice: `The line on stdout is the new value of ${name}, with the new key first. The new key signs ${source.for ? "ID tokens " : ""}from ${timeInWords(signsFrom)}.
${gone === 0 ? "" : `Old keys removed: ${gone}. None of their tokens can still be valid.\n`}Give the new value to every process at least five minutes before that time: APIs cache the published keys for that long.
`,
    json: { signingKeys: list, signsFrom, leftOut: gone },
  };
}

function alone(source: SigningKeySource, isList: boolean): Answer {
  const made = isList ? [source] : source;
  const use = isList
    ? 'signingKeys: JSON.parse(process.env["SIGNING_KEYS"] || "[]")'
    : 'signingKeys: [process.env["SIGNING_KEY"] ?? ""]';
  const { kid, algorithm } = readSigningKey(source);
  return {
    exitCode: 0,
    text: `${JSON.stringify(made)}\n`,
    advice: `The line on stdout is a private key (${algorithm}, kid ${kid}). Store it where you keep secrets. Every process needs the same one.
To read it from an environment variable: ${use}
`,
    json: isList ? { signingKeys: made } : { signingKey: made },
  };
}

/** `authmount signing-key` */
export const signingKey: Command = {
  name: "signing-key",
  summary: "Make a key that signs access tokens, for the signingKeys option.",
  options: {
    alg: {
      value: "ALG",
      text: `The algorithm: ${signingAlgorithms.join(", ")}. Default: ES256.`,
    },
    for: {
      value: "USE",
      text: "id_token: the key signs ID tokens only, where an API has openid. Its default algorithm is RS256.",
    },
    list: { text: "Print the key in a list, for a variable that holds all keys." },
    "signs-from": { value: "TIME", text: `When the key starts to sign: ${timeForms}. Default: now.` },
    "add-to": {
      value: "NAME",
      text: `Print the list of keys in this environment variable, with the new key first. The new key signs from ${defaultDelay}.`,
    },
  },
  help: `stdout contains only the private key, as JSON on one line:

  (umask 077; npx authmount signing-key --list > signing-keys.json)

${aboutUmask}

Store it where your platform keeps secrets, for example in the environment variable SIGNING_KEYS, and write
  signingKeys: JSON.parse(process.env["SIGNING_KEYS"] || "[]")
Every process needs the same list. The public key is published automatically at {baseUrl}/jwks.

To change the key while valid tokens keep working, print the new list from the old one, and store it as SIGNING_KEYS:
  npx authmount signing-key --add-to SIGNING_KEYS

The first API with openid needs a key that signs ID tokens:
  npx authmount signing-key --for id_token --add-to SIGNING_KEYS

Next: npx authmount check ./auth-options.js, and docs/tokens.md.`,
  run({ options }, world): Answer {
    const now = world.clock();
    const { "add-to": addTo, "signs-from": from, for: use } = options;
    if (use !== undefined && use !== "id_token")
      throw usageError(`--for ${quoted(use)} is unknown. Write --for id_token, or leave it out.`);
    const signsFrom = from === undefined ? undefined : readTime(from, now);
    const key = generateSigningKey(readAlgorithm(options["alg"] ?? (use ? "RS256" : "ES256")));
    const mark = use && ({ for: use } as const);
    const isList = options["list"] !== undefined;
    if (addTo !== undefined) {
      if (isList) throw usageError("--list cannot be used with --add-to, which prints a list anyway.");
      return added(addTo, { source: { key, ...mark }, from: signsFrom, world });
    }
    if (signsFrom === undefined) return alone(mark ? { key, ...mark } : key, isList);
    if (isList)
      throw usageError(
        "--list cannot be used with --signs-from: a list needs a key that signs now. Use --add-to instead.",
      );
    return alone({ key, signsFrom, ...mark }, isList);
  },
};
