/** The file in which examples/command-line keeps its refresh token and keys, in a folder where others can write (RFC 8252 §8.6). */
import { execFile } from "node:child_process";
import {
  chmod,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";

const moduleUrl = pathToFileURL(path.resolve(__dirname, "../../examples/command-line/kept-token.mjs")).href;
const kept = JSON.stringify({
  issuer: "A",
  refreshToken: "rt-4711",
  keys: { privateKey: {}, publicKey: {} },
});

let outside: string;
let folder: string;
let file: string;

beforeEach(async () => {
  outside = await mkdtemp(path.join(tmpdir(), "authmount-kept-token-"));
  folder = path.join(outside, "config");
  file = path.join(folder, "token.json");
  await mkdir(folder, { mode: 0o700 });
});
afterEach(() => rm(outside, { recursive: true }));

/** Runs lines of a program that has the functions of the module; gives what it has printed, or why it has failed. */
async function run(lines: string): Promise<string> {
  const script = `import { symlinkSync } from "node:fs";
    import { keepToken, useToken } from ${JSON.stringify(moduleUrl)};
    try { ${lines} } catch (error) { console.log(error.message); }`;
  const env = { ...process.env, ORDERS_CONFIG: folder };
  const args = ["--input-type=module", "--eval", script];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { env });
  return (stdout + stderr).trim();
}

const keep = (): Promise<string> => run(`await keepToken(${kept});`);
const take = (): Promise<string> =>
  run('console.log(await useToken("A", async ({ refreshToken }) => refreshToken));');
const modeOf = async (name: string): Promise<number> => (await stat(name)).mode & 0o777;

describe("examples/command-line: somebody has put something in the place of the token file", () => {
  it("writes through no symbolic link where its own file will be", async () => {
    const victim = path.join(outside, "victim");
    await writeFile(victim, "precious");
    await run(`symlinkSync(${JSON.stringify(victim)}, ${JSON.stringify(file)} + "." + process.pid);
      await keepToken(${kept});`);
    expect(await readFile(victim, "utf8")).toBe("precious");
  });

  it("replaces a symbolic link, and not what it leads to", async () => {
    const victim = path.join(outside, "victim");
    await writeFile(victim, "precious");
    await symlink(victim, file);
    await keep();
    expect(await readFile(victim, "utf8")).toBe("precious");
    expect(JSON.parse(await readFile(file, "utf8"))).toMatchObject({ refreshToken: "rt-4711" });
  });

  it("gives a file of before, which others could read, the mode of its own", async () => {
    await writeFile(file, "{}", { mode: 0o644 });
    await keep();
    expect(await modeOf(file)).toBe(0o600);
  });

  it("takes no token through a symbolic link, and leaves the link where it is", async () => {
    const elsewhere = path.join(outside, "elsewhere");
    await writeFile(elsewhere, kept, { mode: 0o600 });
    await symlink(elsewhere, file);
    const said = await take();
    expect(said).toContain("token.json");
    expect(said).not.toContain("rt-4711");
    expect(await readlink(file)).toBe(elsewhere);
  });

  it.each([0o644, 0o640, 0o604])(
    "takes no token that others could read (mode %o), and says so",
    async (mode) => {
      await writeFile(file, kept);
      await chmod(file, mode);
      const said = await take();
      expect(said).toContain("others");
      expect(said).not.toContain("rt-4711");
      expect(await readdir(folder)).toEqual(["token.json"]);
    },
  );

  it("keeps no token in a folder where others can write", async () => {
    await chmod(folder, 0o777);
    expect(await keep()).toContain("others");
    expect(await readdir(folder)).toEqual([]);
  });

  it("says of a broken file that it is broken, and nothing of what is in it", async () => {
    await writeFile(file, kept.slice(0, -3), { mode: 0o600 });
    const said = await take();
    expect(said).toContain("token.json");
    expect(said).not.toContain("rt-47");
  });

  it("takes what it has kept, and leaves nothing behind", async () => {
    await keep();
    expect(await take()).toBe("rt-4711");
    expect(await readdir(folder)).toEqual([]);
  });

  it("keeps it, and its keys, when it could not be used: it may still be valid", async () => {
    await keep();
    expect(await run('await useToken("A", async () => { throw new Error("offline"); });')).toBe("offline");
    expect(await readdir(folder)).toEqual(["token.json"]);
    expect(await readFile(file, "utf8")).toBe(kept);
    expect(await modeOf(file)).toBe(0o600);
  });

  it("has no token where none was kept", async () => {
    expect(await take()).toBe("undefined");
  });
});
