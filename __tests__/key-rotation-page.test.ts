/** The commands and the code of docs/key-rotation.md, as they stand on the page, one after the other. */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import type { AuthServer, ScheduledKey, SigningKeySource } from "../lib";
import { buildOnce } from "./fixture/build-once";
import { stopClock } from "./fixture/clock";
import { program } from "./fixture/command-line";
import { codeBelow, runBlock } from "./fixture/doc-block";
import { testHost } from "./fixture/host";
import { goodOptions } from "./fixture/options";
import { kidOf, mint, publishedKids, statusOf } from "./fixture/signing-keys";

const page = "key-rotation.md";
const inVariable = "Keys in an environment variable";
const repository = path.resolve(__dirname, "..");

let folder: string;

beforeAll(async () => {
  buildOnce();
  folder = await mkdtemp(path.join(tmpdir(), "authmount-key-rotation-"));
  await mkdir(path.join(folder, "node_modules"));
  await symlink(repository, path.join(folder, "node_modules", "authmount"), "junction");
});
afterEach(() => jest.restoreAllMocks());
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Runs a command of the page with this variable, and gives what it prints. */
async function run(
  { heading, index = 0 }: { heading: string; index?: number },
  keys?: string,
): Promise<string> {
  const written = codeBelow(page, heading, "sh")[index] ?? "";
  const command = written.replace("npx authmount", `"${process.execPath}" "${program}"`);
  const env = { ...process.env, ...(keys !== undefined && { SIGNING_KEYS: keys }) };
  return (await promisify(execFile)("sh", ["-c", command], { cwd: folder, env })).stdout.trim();
}

const first = (): Promise<string> => run({ heading: inVariable });
const add = (keys: string): Promise<string> => run({ heading: "A rotation" }, keys);
const forget = (keys: string): Promise<string> => run({ heading: "A rotation", index: 1 }, keys);

/** Starts the server of the page with these variables. */
const start = (env: Readonly<Record<string, string>>): unknown =>
  runBlock({ page, heading: inVariable }, { options: goodOptions, process: { env } })["auth"];

const read = (keys: string) => JSON.parse(keys) as SigningKeySource[];

/** `auth.rotateKeys` as the page calls it in a running process. */
async function rotate(auth: AuthServer, keys: string): Promise<void> {
  const readSecret = (name: string) => Promise.resolve(name === "SIGNING_KEYS" ? keys : "");
  const { takeNewKeys } = runBlock({ page, heading: "Without a restart" }, { auth, readSecret });
  await (takeNewKeys as () => Promise<void>)();
}

describe("key rotation, as it stands on the page (RFC 7517 §5)", () => {
  it("starts with the list of each command, and refuses to forget the only key that may sign", async () => {
    const one = await first();
    const two = await add(one);
    for (const SIGNING_KEYS of [one, two]) expect(start({ SIGNING_KEYS })).toHaveProperty("rotateKeys");
    const tooEarly = await forget(two);
    expect(() => start({ SIGNING_KEYS: tooEarly })).toThrow("Keep the old key until the new one signs.");
  });

  it.each([{}, { SIGNING_KEYS: "" }])("says what is missing: %j", (env) => {
    expect(() => start(env)).toThrow("Write a list of private keys, the active one first.");
  });

  it("leads from one key to the next, and no valid token is refused", async () => {
    const [one, clock] = [await first(), stopClock(Math.floor(Date.now() / 1000))];
    const host = testHost({ signingKeys: read(one) });
    const [old] = await publishedKids(host);
    const two = await add(one);
    await rotate(host.auth, two);
    const [next] = await publishedKids(host);
    clock.advance(540);
    const before = await mint(host);
    expect([next === old, kidOf(before)]).toEqual([false, old]);
    clock.advance(120);
    expect(kidOf(await mint(host))).toBe(next);
    expect(await statusOf(host, before)).toBe(200);
    await rotate(host.auth, await forget(two));
    expect(await publishedKids(host)).toEqual([next]);
    // the program has the real clock, by which the second key does not sign yet
    const [{ key }] = read(await forget(two)) as [ScheduledKey];
    const three = await add(JSON.stringify([{ key, signsFrom: 1 }]));
    expect(read(three)).toHaveLength(2);
  });

  it("replaces a key that has leaked at once", async () => {
    const host = testHost({ signingKeys: read(await first()), revocationLagSeconds: 0 });
    const stolen = await mint(host);
    await rotate(host.auth, await first());
    expect(await statusOf(host, stolen)).toBe(401);
    expect(await statusOf(host, await mint(host))).toBe(200);
  });
});
