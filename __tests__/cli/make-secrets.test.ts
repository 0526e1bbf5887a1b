/** The secrets that are made: what is for the client, and what to keep of it. RFC 6749 §2.3.1, 7523 §2.2. */
import type { generateClientKey } from "../../lib/clients/client-key";
import { parseSecretDigest, secretMatches } from "../../lib/clients/client-secret";
import { failed, ran, wronglyWritten } from "./world";

describe("authmount client-secret (RFC 6749 §2.3.1)", () => {
  it("gives the secret on stdout, and says on stderr where its digest goes", async () => {
    const { exitCode, stdout, stderr } = await ran(["client-secret"]);
    const [, digest = ""] = /\["(.*)"\]/.exec(stderr) ?? [];
    const parsed = parseSecretDigest(digest);
    expect([exitCode, parsed?.kind]).toEqual([0, "sha256"]);
    expect(parsed && (await secretMatches(stdout.slice(0, -1), parsed))).toBe(true);
    expect(stdout).toMatch(/^[\w-]{43}\n$/);
    expect(stderr).toBe(`The line on stdout is the secret. Give it to the client once, and do not keep a copy.
The digest is not secret. Add it to the client record: secretDigests: ["${digest}"]
`);
  });

  it("gives both as JSON", async () => {
    const { exitCode, stdout, stderr } = await ran(["client-secret", "--json"]);
    const { secret, digest, ...others } = JSON.parse(stdout) as { secret: string; digest: string };
    const parsed = parseSecretDigest(digest);
    expect([exitCode, stderr, others]).toEqual([0, "", {}]);
    expect(parsed && (await secretMatches(secret, parsed))).toBe(true);
  });
});

const chosen = "ein längeres Geheimnis";
const reading = (text: string) => ({ readInput: () => Promise.resolve(text) });

describe("authmount client-secret --read (RFC 6749 §2.3.1)", () => {
  it.each(["", "\n", "\r\n"])("gives the digest of a secret that is ended by %j", async (end) => {
    const { stdout, ...others } = await ran(["client-secret", "--read"], reading(chosen + end));
    const digest = parseSecretDigest(stdout.slice(0, -1));
    expect(stdout.endsWith("\n")).toBe(true);
    expect(digest && (await secretMatches(chosen, digest))).toBe(true);
    expect(others).toEqual({
      exitCode: 0,
      stderr: "This is the digest of the secret. Add it to the client record: secretDigests: [digest].\n",
    });
  });

  it("gives it as JSON", async () => {
    const { stdout, ...others } = await ran(["client-secret", "--read", "--json"], reading(chosen));
    const { digest } = JSON.parse(stdout) as { digest: string };
    expect(others).toEqual({ exitCode: 0, stderr: "" });
    expect(stdout).toBe(`{\n  "digest": "${digest}"\n}\n`);
    expect(parseSecretDigest(digest)?.kind).toBe("scrypt");
  });

  it.each(["", "\n", "\r\n"])("refuses an empty stdin: %j", async (text) => {
    expect(await ran(["client-secret", "--read"], reading(text))).toEqual(
      wronglyWritten("stdin is empty. Pipe the secret to --read."),
    );
  });

  it.each(["two lines of\ntext, and more", "two ends of one line\n\n", "\nthe end before it all"])(
    "takes away no line feed but the last: %j",
    async (text) => {
      const { exitCode, stderr } = await ran(["client-secret", "--read"], reading(text));
      expect([exitCode, stderr]).toEqual([1, expect.stringContaining("control characters")]);
    },
  );

  it("is told when stdin cannot be read", async () => {
    const world = { readInput: () => Promise.reject(new Error("closed")) };
    expect(await ran(["client-secret", "--read"], world)).toEqual(failed("closed"));
  });
});

type Made = ReturnType<typeof generateClientKey>;

describe("authmount client-key (RFC 7523 §2.2)", () => {
  it("gives the private key on stdout, and the public one on stderr", async () => {
    const { exitCode, stdout, stderr } = await ran(["client-key"]);
    const { d, ...publicHalf } = JSON.parse(stdout) as Record<string, string>;
    expect(exitCode).toBe(0);
    expect(d).toMatch(/^[\w-]{43}$/);
    expect(stdout).toMatch(/^\{.*\}\n$/);
    const [, jwks = "{}"] = /jwks: (.*)/.exec(stderr) ?? [];
    expect(JSON.parse(jwks)).toEqual({ keys: [publicHalf] });
    expect(stderr)
      .toBe(`The line on stdout is the private key. Give it to the client once, and do not keep a copy.
The public key is not secret. Add it to the client record: jwks: ${jwks}
`);
  });

  it("gives both as JSON", async () => {
    const { exitCode, stdout, stderr } = await ran(["client-key", "--json"]);
    const { privateKey, jwks, ...others } = JSON.parse(stdout) as Made;
    const { d: _, ...publicHalf } = privateKey as Record<string, unknown>;
    expect([exitCode, stderr, others, jwks]).toEqual([0, "", {}, { keys: [publicHalf] }]);
  });
});
