/** Lists, adds and changes the clients in the table of a host's storage. A secret is printed once, and is never an argument. RFC 6749 §2, §2.3.1. */
import { checkClient, checkRedirectSchemes } from "../clients/client-record";
import {
  addClient,
  changeClient,
  type NewClient,
  rotateClientSecret,
  withDisabled,
  type WritableClients,
} from "../clients/manage-clients";
import { suggestion } from "../host/plain";
import type { AuthServerOptions } from "../options/options";
import { type Client, isClientId } from "../protocol/client";
import { hostMistake, mistakesOf } from "../protocol/mistake";
import { newClientEnd } from "../storage/end-marks";
import { type ClientTable, endMarksIn, tableIn, type TableNeeds } from "./client-table";
import { listed, listedText, shownRecord } from "./client-text";
import { type Answer, type Command, type Given, usageError, type World } from "./command";
import { parseDuration, timeInWords } from "./duration";
import { moduleOptions } from "./load-module";
import { aboutUmask, errorSentence, jsonText, printable, quoted } from "./wording";

const mistake = mistakesOf({
  "client-not-in-table": (clientId: string) =>
    `There is no client "${clientId}". See who is there with: npx authmount clients list FILE.`,
  "client-api-unknown": (api: string, known: readonly string[]) =>
    `--api: the options have no API ${api}.${suggestion(api, known)} Known: ${known.join(", ")}.`,
  "client-scope-unknown": (scope: string, known: readonly string[]) =>
    `--scopes: the API has no scope ${scope}.${suggestion(scope, known)} Known: ${known.join(", ")}.`,
});

/** Where a client is worked on. */
interface Place extends ClientTable {
  readonly given: Given;
  readonly world: World;
  readonly id: string;
}

const operand = { name: "FILE", text: "A module that exports the options.", isRequired: true };
const idOption = { value: "ID", text: "The id of the client." };
const yesOption = { text: "Do it. It cannot be undone." };
const file = "./auth-options.mjs";
const writing: TableNeeds = ["find", "replace"];

function needed({ options }: Given, name: string): string {
  const value = options[name];
  if (value === undefined) throw usageError(`--${name} is missing. See the help of this command: --help.`);
  return value;
}

function idIn({ options: { id } }: Given): string | undefined {
  if (id !== undefined && !isClientId(id)) throw usageError("--id takes 1 to 255 visible ASCII characters.");
  return id;
}

/** What was done, in words on stderr. */
function told(json: object, ...lines: readonly string[]): Answer {
  return { exitCode: 0, text: "", advice: lines.map((line) => `${printable(line)}\n`).join(""), json };
}

/** The same with a secret, which alone is on stdout. */
function toldWithSecret(
  json: { clientId: string; secret: string; oldSecretUntil?: number },
  line: string,
): Answer {
  const about =
    "The line on stdout is the secret. Give it to the client once, and do not keep a copy: only its digest is stored.";
  return { ...told(json, line, about), text: `${json.secret}\n` };
}

async function findClient({ clients, id }: Place): Promise<Client> {
  const found = await clients.find(id);
  // a table that ignores case must not turn one client into another
  if (found?.clientId !== id) throw mistake("client-not-in-table", id);
  return found;
}

interface AboutClient extends Pick<Command, "name" | "summary" | "help"> {
  readonly options?: Command["options"];
  readonly needs?: TableNeeds;
  /** True for what cannot be undone. */
  readonly asks?: boolean;
  /** What to read or run next. */
  readonly next: string;
  readonly work: (place: Place, client: Client) => Answer | Promise<Answer>;
}

/** A command about one client, which is there. */
function aboutClient({ name, needs = ["find"], asks = false, next, work, ...others }: AboutClient): Command {
  const options = { id: idOption, ...others.options, ...(asks && { yes: yesOption }), ...moduleOptions };
  const example = `npx authmount ${name} ${file} --id shop${asks ? " --yes" : ""}`;
  const help = `${others.help}\n\n  ${example}\n\nNext: ${next}`;
  return {
    name,
    summary: others.summary,
    operand,
    options,
    help,
    async run(given, world) {
      needed(given, "id");
      const id = idIn(given) ?? "";
      if (asks && given.options["yes"] === undefined)
        throw usageError("This cannot be undone. If you mean it, add --yes.");
      const place = { ...(await tableIn(given, { world, needs })), given, world, id };
      return work(place, await findClient(place));
    },
  };
}

const pageLimit = 1_000;

const list: Command = {
  name: "clients list",
  summary: "List clients: id, name, kind, APIs, and whether each is enabled.",
  operand,
  options: { after: { value: "ID", text: "Go on behind this client." }, ...moduleOptions },
  help: `One line each, with tabs between: id, name, kind (secret, key, native or browser), APIs, enabled or disabled.
${pageLimit} lines at most; --after goes on behind the last of them.

  npx authmount clients list ${file}

Next: npx authmount clients show ${file} --id ID`,
  async run(given, world): Promise<Answer> {
    const { clients } = await tableIn(given, { world, needs: ["list"] });
    const { after } = given.options;
    // one more than is shown tells whether there are others
    const page = await clients.list({ limit: pageLimit + 1, ...(after !== undefined && { after }) });
    const shown = page.slice(0, pageLimit).map(listed);
    const next = page.length > pageLimit ? shown.at(-1)?.clientId : undefined;
    const advice = next === undefined ? [] : [`There are more. Add: --after ${next}`];
    return { ...told({ clients: shown, next }, ...advice), text: shown.map(listedText).join("") };
  },
};

const show = aboutClient({
  name: "clients show",
  summary: "Show a client, without its secrets.",
  help: "It prints the record as JSON, with the number of secrets that work in place of their digests, and when the old one ends.",
  next: "npx authmount help clients rotate",
  work({ world }, client) {
    const shown = shownRecord(checkClient(client), world.clock());
    return { ...told({ client: shown }), text: jsonText(shown) };
  },
});

/** Public keys from a file, whose text is in no error: it may hold a private key. */
function readKeys(path: string, { readFile }: World): unknown {
  try {
    return JSON.parse(readFile(path));
  } catch (cause) {
    const text = `--key ${quoted(path)} could not be read: ${errorSentence(cause)}`;
    throw hostMistake("client-keys-not-read", text, { cause });
  }
}

/** How the client proves itself. */
function proofIn({ options, repeated = {} }: Given, world: World): object {
  const { key } = options;
  const [kind, other] = ["native", "browser", "key"].filter((name) => options[name] !== undefined);
  if (other !== undefined) throw usageError("Pass only one of: --native, --browser, --key.");
  if (key !== undefined) return { confidential: true, jwks: readKeys(key, world) };
  if (kind === undefined) return { confidential: true };
  if (!repeated["redirect"]) throw usageError(`--${kind} needs at least one --redirect URI.`);
  return { confidential: false, platform: kind };
}

function scopesIn({ options }: Given): readonly string[] | undefined {
  const { scopes: text, "all-scopes": all } = options;
  const scopes = text?.split(/\s/).filter(Boolean);
  if ((scopes === undefined) === (all === undefined) || scopes?.length === 0)
    throw usageError('Write which scopes the client may request: --scopes "a b", or --all-scopes.');
  return scopes;
}

/** @throws TypeError for an API or a scope that the options lack: the client would get nothing for it */
function checkNames(
  { options }: ClientTable,
  { api, scopes = [] }: { api: string; scopes: readonly string[] | undefined },
): void {
  // nothing has checked the options
  const { apis = {} } = options as Partial<AuthServerOptions>;
  if (!Object.hasOwn(apis, api)) throw mistake("client-api-unknown", api, Object.keys(apis));
  const known = Object.keys(apis[api]?.scopes ?? {});
  const unknown = scopes.find((scope) => !known.includes(scope));
  if (unknown !== undefined) throw mistake("client-scope-unknown", unknown, known);
}

/** The table, which takes no redirect URI that the server would refuse. */
function within({
  clients,
  options: { redirectSchemes = [] },
}: ClientTable): Pick<WritableClients, "replace"> {
  return {
    replace: (step) => {
      checkRedirectSchemes(step.to, redirectSchemes);
      return clients.replace(step);
    },
  };
}

const add: Command = {
  name: "clients add",
  summary: "Add a client. Its secret is printed once.",
  operand,
  options: {
    name: { value: "NAME", text: "The name that people see on the consent page." },
    redirect: { value: "URI", text: "Where people come back to. Repeat it for several.", repeats: true },
    api: { value: "API", text: "The API that the client may use: an id of apis in your options." },
    scopes: { value: '"A B"', text: "The scopes that it may request there." },
    "all-scopes": { text: "It may request all scopes of the API, also later ones." },
    native: { text: "An app on a device, without a secret." },
    browser: { text: "A script in a web page, without a secret." },
    key: { value: "PATH", text: "A JSON file with its public keys, in place of a secret." },
    id: { value: "ID", text: "Its id. Default: a random one." },
    ...moduleOptions,
  },
  help: `A client on a server keeps a secret. stdout contains only this secret; the id is on stderr:

  npx authmount clients add ${file} --id shop --name Shop --redirect https://shop.example/callback --api orders --scopes "read"

Give the secret to the client once. Only its digest is stored; if it is lost, make a new one with clients rotate. To write it into a file:

  (umask 077; npx authmount clients add ${file} --id job --name Job --api orders --all-scopes > secret.txt)

${aboutUmask}

With --key the file has {"keys": [...]}: the jwks that npx authmount client-key --json prints, or what the client sends you.
For clients with several APIs, logos or fewer grants, use addClient and changeClient in a script.

Next: docs/manage-clients.md`,
  async run(given, world): Promise<Answer> {
    const [id, name, api] = [idIn(given), needed(given, "name"), needed(given, "api")];
    const scopes = scopesIn(given);
    const record = {
      ...(id !== undefined && { clientId: id }),
      name,
      redirectUris: given.repeated?.["redirect"] ?? [],
      subscriptions: { [api]: scopes ? { scopes } : {} },
      ...proofIn(given, world),
    } as NewClient;
    const table = await tableIn(given, { world, needs: writing });
    checkNames(table, { api, scopes });
    const { client, secret } = await addClient(within(table), record);
    const { clientId } = client;
    const line = `Added client "${clientId}".`;
    return secret === undefined ? told({ clientId }, line) : toldWithSecret({ clientId, secret }, line);
  },
};

const rotate = aboutClient({
  name: "clients rotate",
  summary: "Make a new secret for a client. The old one works for a while.",
  options: {
    overlap: { value: "TIME", text: "How long the old secret works: 30m, 12h, 7d, or 0. Default: 7d." },
  },
  help: `stdout contains only the new secret. It works at once, in every process; so does the old one until the overlap is over. To write it
into a file that only your account can read, put the command between (umask 077; and > secret.txt), as in: authmount help client-secret.

The event old-secret-used says that a client still uses its old secret. Secrets older than the last one end at once.
If a secret has leaked, add --overlap 0, and then run clients end.`,
  next: `npx authmount clients show ${file} --id shop`,
  needs: writing,
  async work({ clients: table, id, given, world }) {
    const { overlap = "7d" } = given.options;
    const overlapSeconds = parseDuration(overlap);
    if (overlapSeconds === undefined || overlapSeconds > 366 * 86_400)
      throw usageError(`--overlap ${quoted(overlap)} is no time of at most a year. Write 30m, 12h, 7d or 0.`);
    const now = world.clock();
    const { secret } = await rotateClientSecret(table, { clientId: id, overlapSeconds, now });
    if (overlapSeconds === 0)
      return toldWithSecret(
        { clientId: id, secret },
        `Client "${id}" has a new secret. The old one has ended.`,
      );
    const oldSecretUntil = now + overlapSeconds;
    const ofOld = `The old one works until ${timeInWords(oldSecretUntil)}.`;
    return toldWithSecret(
      { clientId: id, secret, oldSecretUntil },
      `Client "${id}" has a new secret. ${ofOld}`,
    );
  },
});

/** Switches a client off or on. It may be deleted by now. */
async function setDisabled({ clients: table, id }: Place, disabled: boolean): Promise<Answer> {
  const changed = await changeClient(table, id, (client) => withDisabled(client, disabled));
  if (!changed) throw mistake("client-not-in-table", id);
  return told({ clientId: id, disabled }, `Client "${id}" is ${disabled ? "disabled" : "enabled"}.`);
}

const disable = aboutClient({
  name: "clients disable",
  summary: "Switch a client off. Nothing is deleted.",
  help: `The client is unknown everywhere, and so are its tokens, in each process within revocationLagSeconds (5, unless you set it). JWTs at APIs
in other processes stay valid until they expire. Nothing is deleted: after clients enable, its refresh tokens work again.`,
  next: "npx authmount help clients enable, or clients end, which ends its tokens for good",
  needs: writing,
  work: (place) => setDisabled(place, true),
});

const enable = aboutClient({
  name: "clients enable",
  summary: "Switch a client on again.",
  help: "It works at once, with the tokens that it had.",
  next: `npx authmount clients show ${file} --id shop`,
  needs: writing,
  work: (place) => setDisabled(place, false),
});

const end = aboutClient({
  name: "clients end",
  summary: "End all codes and tokens of a client, and keep the client.",
  help: "It does what auth.clients.revoke does. If the secret has leaked, make a new one first.",
  next: "docs/tokens.md says when each token stops",
  asks: true,
  async work({ id, world, options }) {
    await endMarksIn(options).save(newClientEnd(id, world.clock()), world.clock());
    return told({ clientId: id, ended: true }, `Everything that client "${id}" had has ended.`);
  },
});

const remove = aboutClient({
  name: "clients remove",
  summary: "Delete a client, and end all codes and tokens of it.",
  help: "To keep the record, use clients disable.",
  next: `npx authmount clients list ${file}`,
  needs: ["find", "delete"],
  asks: true,
  async work({ clients: table, id, world, options }) {
    const endMarks = endMarksIn(options);
    await table.delete(id);
    // again, for a table that keeps its clients apart from the end marks
    await endMarks.save(newClientEnd(id, world.clock()), world.clock());
    return told({ clientId: id, removed: true }, `Client "${id}" is deleted, and all that it had has ended.`);
  },
});

/** `authmount clients` */
export const clients: Command = {
  name: "clients",
  summary: "List, add and change the clients in your storage.",
  options: {},
  parts: [list, show, add, rotate, disable, enable, end, remove],
  help: `Each takes the module that exports your options, as check does. The module is imported, so its code runs; no server starts.

  npx authmount clients list ${file}
  npx authmount clients add --help

Secrets are printed once, on stdout, and are never arguments.

Next: docs/manage-clients.md`,
  run() {
    throw usageError(
      "The second word is missing, as in: authmount clients list FILE. See: authmount help clients.",
    );
  },
};
