/** Keys and secrets that the command line makes: what is on stdout can be used as it is. RFC 6749 §2.3.1, 7517 §4, §5. */
import { type AuthServerOptions, createAuthServer, memoryStorage, type SigningKeySource } from "../../lib";
import { readClientKey } from "../../lib/clients/client-key";
import { parseSecretDigest, secretMatches } from "../../lib/clients/client-secret";
import { readSigningKey, type PrivateJwk, type ScheduledKey } from "../../lib/signing/signing-key";
import { signingAlgorithms } from "../../lib/signing/verification-key";
import { authmount, jsonOf } from "../servers/command-line";

function accepted(some: Partial<AuthServerOptions>): boolean {
  createAuthServer({
    baseUrl: "https://host.example/login",
    secrets: ["0123456789abcdefghijklmnopqrstuvwxyz"],
    storage: memoryStorage({ clients: [] }),
    authMethods: { password: { authenticate: () => ({ kind: "denied" }) } },
    apis: { orders: { audience: "https://host.example/orders", authMethods: ["password"], scopes: {} } },
    onEvent: () => undefined,
    ...some,
  });
  return true;
}

beforeEach(() => void jest.spyOn(process, "emitWarning").mockImplementation(() => undefined));
afterEach(() => jest.restoreAllMocks());

describe("authmount secret", () => {
  it("prints a secret that createAuthServer accepts, another one each time", async () => {
    const made = [await authmount(["secret"]), await authmount(["secret"])];
    const secrets = made.map(({ stdout }) => stdout.trimEnd());
    expect(new Set(secrets).size).toBe(2);
    expect(accepted({ secrets })).toBe(true);
    expect(made[0]?.stdout).toMatch(/^[\w-]{43}\n$/);
    expect(made[0]?.stderr).not.toContain(secrets[0]);
  });

  it("with --json there is nothing on stderr", async () => {
    const ended = await authmount(["secret", "--json"]);
    expect(ended).toMatchObject({ code: 0, stderr: "" });
    expect(jsonOf(ended)).toEqual({ secret: expect.stringMatching(/^[\w-]{43}$/) });
  });
});

describe("authmount client-secret (RFC 6749 §2.3.1)", () => {
  it("prints the secret on stdout and its digest on stderr", async () => {
    const { stdout, stderr } = await authmount(["client-secret"]);
    const digest = parseSecretDigest(/"(sha256:[^"]+)"/.exec(stderr)?.[1] ?? "");
    expect(digest && (await secretMatches(stdout.trimEnd(), digest))).toBe(true);
    expect(stderr).not.toContain(stdout.trimEnd());
  });

  it("prints both with --json", async () => {
    const { secret, digest } = jsonOf(await authmount(["client-secret", "--json"])) as {
      secret: string;
      digest: string;
    };
    const parsed = parseSecretDigest(digest);
    expect(parsed && (await secretMatches(secret, parsed))).toBe(true);
  });

  it.each(["\n", "\r\n", ""])("--read prints the digest of a secret from stdin, ended by %j", async (end) => {
    const chosen = "ein längeres Geheimnis";
    const { code, stdout, stderr } = await authmount(["client-secret", "--read"], { input: chosen + end });
    const digest = parseSecretDigest(stdout.trimEnd());
    expect([code, digest?.kind]).toEqual([0, "scrypt"]);
    expect(digest && (await secretMatches(chosen, digest))).toBe(true);
    expect(stderr).not.toContain(chosen);
  });

  it.each([
    ["", 2, "stdin is empty"],
    ["\n", 2, "stdin is empty"],
    ["too short", 1, "at least 12 characters"],
    ["two lines of\ntext, and more", 1, "control characters"],
  ])("--read refuses %j", async (input, code, message) => {
    const ended = await authmount(["client-secret", "--read"], { input });
    expect([ended.code, ended.stdout]).toEqual([code, ""]);
    expect(ended.stderr).toContain(message);
  });
});

describe("authmount client-key (RFC 7523 §2.2)", () => {
  it("prints the private key on stdout, and the public one of the same pair on stderr", async () => {
    const { stdout, stderr } = await authmount(["client-key"]);
    const { d = "", ...publicHalf } = JSON.parse(stdout) as PrivateJwk & { d?: string };
    const { keys } = JSON.parse(/jwks: (.*)/.exec(stderr)?.[1] ?? "") as { keys: PrivateJwk[] };
    expect(keys).toEqual([publicHalf]);
    expect(keys[0] && readClientKey(keys[0], "ES256")).toBeDefined();
    expect(stderr).not.toContain(d);
  });

  it("prints both with --json", async () => {
    const made = jsonOf(await authmount(["client-key", "--json"]));
    expect(made).toEqual({
      privateKey: expect.objectContaining({ d: expect.any(String) as string }) as object,
      jwks: { keys: [expect.not.objectContaining({ d: expect.anything() as string })] },
    });
  });
});

describe("authmount signing-key (RFC 7517 §4)", () => {
  it.each(signingAlgorithms)("makes a key for %s", async (algorithm) => {
    const { code, stdout, stderr } = await authmount(["signing-key", "--alg", algorithm]);
    expect(code).toBe(0);
    expect(readSigningKey(stdout).algorithm).toBe(algorithm);
    expect(accepted({ signingKeys: [stdout] })).toBe(true);
    expect(stderr).not.toContain((JSON.parse(stdout) as PrivateJwk)["d"]);
  });

  it("--list prints what signingKeys takes", async () => {
    const { stdout } = await authmount(["signing-key", "--list"]);
    expect(accepted({ signingKeys: JSON.parse(stdout) as SigningKeySource[] })).toBe(true);
  });

  it("--signs-from gives the key a time", async () => {
    const inAnHour = await authmount(["signing-key", "--signs-from", "+1h", "--json"]);
    const { signingKey } = jsonOf(inAnHour) as { signingKey: ScheduledKey };
    expect(signingKey.signsFrom).toBeGreaterThan(Date.now() / 1000);
    const then = new Date(Date.now() + 86_400_000).toISOString().replace(/\.\d+Z$/, "Z");
    const at = jsonOf(await authmount(["signing-key", "--signs-from", then])) as Required<ScheduledKey>;
    expect(at.signsFrom * 1000).toBe(Date.parse(then));
  });
});

/** The list that is printed for these keys in the variable. */
async function listed(keys: readonly SigningKeySource[]): Promise<readonly ScheduledKey[]> {
  const env = { KEYS: JSON.stringify(keys) };
  const { stdout } = await authmount(["signing-key", "--add-to", "KEYS"], { env });
  return JSON.parse(stdout) as readonly ScheduledKey[];
}

const daysAgo = (days: number): number => Math.floor(Date.now() / 1000) - days * 86_400;

describe("authmount signing-key --add-to (RFC 7517 §5)", () => {
  it("puts a new key in front, which signs later; the old one stays", async () => {
    const [old] = JSON.parse((await authmount(["signing-key", "--list"])).stdout) as PrivateJwk[];
    const [first, second, ...others] = await listed([old as PrivateJwk]);
    expect(first?.signsFrom).toBeGreaterThan(Date.now() / 1000 + 300);
    expect([second, others]).toEqual([old, []]);
    expect(accepted({ signingKeys: [first, second] as SigningKeySource[] })).toBe(true);
  });

  it("leaves out keys that no living token can have been signed with", async () => {
    const [a, b, c] = await Promise.all(
      [1, 2, 3].map(async () => JSON.parse((await authmount(["signing-key"])).stdout) as PrivateJwk),
    );
    const keys = [
      { key: c as PrivateJwk, signsFrom: daysAgo(0.5) },
      { key: b as PrivateJwk, signsFrom: daysAgo(3) },
      a as PrivateJwk,
    ];
    expect((await listed(keys)).slice(1)).toEqual(keys.slice(0, 2));
  });

  it.each([
    ["", "is not set"],
    ["CANARY, which is no JSON", "is not a JSON list"],
    ['{"d":"CANARY"}', "is not a JSON list"],
    ["[]", "no key that may sign now"],
    ['[{"kty":"EC","d":"CANARY"}]', "signingKeys.0 is not a usable private key"],
    ['["CANARY"]', "signingKeys.0 is not a usable private key"],
  ])("refuses what is no list of keys, and does not print it: %j", async (KEYS, message) => {
    const { code, stdout, stderr } = await authmount(["signing-key", "--add-to", "KEYS"], { env: { KEYS } });
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toContain(message);
    expect(stderr).not.toContain("CANARY");
  });
});
