/** The commands and the code about signing keys in docs/tokens.md, as they stand on the page, one after the other. */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import type { AuthServer, ScheduledKey, SigningKeySource } from "../lib";
import { buildOnce } from "./servers/build-once";
import { stopClock } from "./hosts/clock";
import { program } from "./servers/command-line";
import { codeBelow, runBlock } from "./sources/doc-block";
import { testHost } from "./hosts/host";
import { goodOptions } from "./records/options";
import { kidOf, mint, publishedKids, statusOf } from "./records/signing-keys";

const page = "tokens.md";
const heading = "Change signing keys";
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
async function run(index: number, keys?: string): Promise<string> {
  const written = codeBelow(page, heading, "sh")[index] ?? "";
  const command = written.replace("npx authmount", `"${process.execPath}" "${program}"`);
  const env = { ...process.env, ...(keys !== undefined && { SIGNING_KEYS: keys }) };
  return (await promisify(execFile)("sh", ["-c", command], { cwd: folder, env })).stdout.trim();
}

const first = (): Promise<string> => run(0);
const add = (keys: string): Promise<string> => run(1, keys);
const forget = (keys: string): Promise<string> => run(2, keys);

/** Starts the server of the page with these variables. */
const start = (env: Readonly<Record<string, string>>): unknown =>
  runBlock({ page, heading }, { options: goodOptions, process: { env } })["auth"];

const read = (keys: string) => JSON.parse(keys) as SigningKeySource[];

/** `auth.rotateKeys` as the page calls it in a running process. */
async function rotate(auth: AuthServer, keys: string): Promise<void> {
  const readSecret = (name: string) => Promise.resolve(name === "SIGNING_KEYS" ? keys : "");
  const { takeNewKeys } = runBlock({ page, heading, index: 1 }, { auth, readSecret });
  await (takeNewKeys as () => Promise<void>)();
}

describe("key rotation, as it stands on the page (RFC 7517 §5)", () => {
  it("starts with the list of each command, and refuses to forget the only key that may sign", async () => {
    const one = await first();
    const two = await add(one);
    for (const SIGNING_KEYS of [one, two]) expect(start({ SIGNING_KEYS })).toHaveProperty("rotateKeys");
    const tooEarly = await forget(two);
    expect(() => start({ SIGNING_KEYS: tooEarly })).toThrow(
      expect.objectContaining({ code: "no-key-signs-now" }),
    );
  });

  it.each([{}, { SIGNING_KEYS: "" }])("says what is missing: %j", (env) => {
    expect(() => start(env)).toThrow(
      expect.objectContaining({
        code: "option-empty",
        message: expect.stringContaining("signingKeys") as string,
      }),
    );
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
