/** `authmount signing-key`: a key alone, in a list, with a time, or in front of the keys that there are. RFC 7517 §4, §5. */
import { generateSigningKey, type PrivateJwk, type ScheduledKey, type SigningKeySource } from "../../lib";
import { readSigningKey } from "../../lib/signing/signing-key";
import { signingAlgorithms } from "../../lib/signing/verification-key";
import { failed, now, ran, wronglyWritten } from "./world";

const day = 86_400;

async function made(args: readonly string[], env: Record<string, string> = {}) {
  const { stdout, ...others } = await ran(["signing-key", ...args], { env });
  return { value: JSON.parse(stdout) as unknown, stdout, others };
}

const advice = ({ algorithm, kid }: { algorithm: string; kid: string }, use: string): object => ({
  exitCode: 0,
  stderr: `The line on stdout is a private key (${algorithm}, kid ${kid}). Store it where you keep secrets. Every process needs the same one.
To read it from an environment variable: signingKeys: ${use}
`,
});
const oneKey = '[process.env["SIGNING_KEY"] ?? ""]';

describe("authmount signing-key (RFC 7517 §4)", () => {
  it("makes a key for ES256 on one line, and says what to do with it", async () => {
    const { value, stdout, others } = await made([]);
    const key = readSigningKey(value as PrivateJwk);
    expect(stdout).toBe(`${JSON.stringify(value)}\n`);
    expect(others).toEqual(advice({ algorithm: "ES256", kid: key.kid }, oneKey));
  });

  it("makes a list with it", async () => {
    const { value, stdout, others } = await made(["--list"]);
    const [key, ...more] = value as PrivateJwk[];
    const { kid } = readSigningKey(key as PrivateJwk);
    expect([stdout, more]).toEqual([`${JSON.stringify(value)}\n`, []]);
    expect(others).toEqual(
      advice({ algorithm: "ES256", kid }, 'JSON.parse(process.env["SIGNING_KEYS"] || "[]")'),
    );
  });

  it("gives them as JSON", async () => {
    const one = await made(["--json"]);
    expect(one.value).toEqual({ signingKey: expect.objectContaining({ kty: "EC" }) as object });
    const list = await made(["--list", "--json"]);
    expect(list.value).toEqual({ signingKeys: [expect.objectContaining({ kty: "EC" })] });
    expect(one.others).toEqual({ exitCode: 0, stderr: "" });
    expect(list.others).toEqual({ exitCode: 0, stderr: "" });
  });

  it.each(["ES384", "ES512"])("makes one for %s", async (algorithm) => {
    const { value, others } = await made(["--alg", algorithm]);
    const key = readSigningKey(value as PrivateJwk);
    expect(key.algorithm).toBe(algorithm);
    expect(others).toEqual(advice(key, oneKey));
  });

  it.each([
    ["HS256", ' Did you mean "ES256"?'],
    ["es265", ' Did you mean "ES256"?'],
    ["ed25519", ""],
  ])("knows no --alg %s", async (alg, meant) => {
    expect(await ran(["signing-key", "--alg", alg])).toEqual(
      wronglyWritten(
        `--alg "${alg}" is unknown.${meant} Write one of: ES256, ES384, ES512, RS256, RS384, RS512, PS256, PS384, PS512.`,
      ),
    );
  });

  it("names each algorithm that there is", () => {
    expect(signingAlgorithms).toHaveLength(9);
  });
});

describe("authmount signing-key --signs-from", () => {
  it.each([
    ["+0s", now],
    ["+5s", now + 5],
    ["+10m", now + 600],
    ["+2h", now + 7_200],
    ["+1d", now + day],
    ["+999999s", now + 999_999],
    ["+366d", now + 366 * day],
    ["2027-01-15T08:00:00Z", now],
    ["2027-01-15T08:00Z", now],
    ["2027-01-15T10:00:30+01:30", now + 1_830],
    ["2027-01-15T07:00:00-02:00", now + 3_600],
    ["2028-01-16T08:00:00Z", now + 366 * day],
  ])("%s", async (time, signsFrom) => {
    const { value, stdout, others } = await made(["--signs-from", time]);
    const { kid } = readSigningKey(value as ScheduledKey);
    expect([stdout, (value as ScheduledKey).signsFrom]).toEqual([`${JSON.stringify(value)}\n`, signsFrom]);
    expect(others).toEqual(advice({ algorithm: "ES256", kid }, oneKey));
  });

  const noTime = "is not a time. Write +10m, +2h or +1d from now, or a time such as 2027-01-31T04:00:00Z.";
  it.each([
    "tomorrow",
    "+1234567s",
    "+10x",
    "+10",
    "+m",
    "+10mm",
    "x+10m",
    "10m",
    "+1.5h",
    "2027-01-31",
    "2027-01-31T04:00:00",
    "2027-13-41T00:00:00Z",
    "(a)2027-01-31T04:00:00Z",
    "2027-01-31T04:00:00Z (a)",
    "2027-01-31T04:00:00.5Z",
    "2027-01-31T04Z",
    "027-01-31T04:00:00Z",
  ])("refuses %s", async (time) => {
    const message = `--signs-from "${time}" ${noTime}`;
    expect(await ran(["signing-key", "--signs-from", time])).toEqual(wronglyWritten(message));
  });

  const past = "--signs-from is in the past. Leave it out for a key that signs now.";
  const tooLate = "--signs-from is more than a year ahead. Write an earlier time.";
  it.each<readonly [readonly string[], string]>([
    [["--signs-from", "2027-01-15T07:59:59Z"], past],
    [["--signs-from", "2028-01-16T08:00:01Z"], tooLate],
    [["--signs-from", "+367d"], tooLate],
    [
      ["--signs-from", "+1h", "--list"],
      "--list cannot be used with --signs-from: a list needs a key that signs now. Use --add-to instead.",
    ],
    [["--add-to", "KEYS", "--list"], "--list cannot be used with --add-to, which prints a list anyway."],
    [["--add-to", "KEYS", "--signs-from", "+367d"], tooLate],
    ...["[{}]", "A B", "A!", "!A"].map(
      (name) =>
        [
          ["--add-to", name],
          "--add-to takes the name of an environment variable, such as SIGNING_KEYS.",
        ] as const,
    ),
  ])("refuses %j", async (args, message) => {
    expect(await ran(["signing-key", ...args])).toEqual(wronglyWritten(message));
  });
});

const listOf = (...keys: SigningKeySource[]) => ({ KEYS: JSON.stringify(keys) });
const told = (time: string, gone = ""): object => ({
  exitCode: 0,
  stderr: `The line on stdout is the new value of KEYS, with the new key first. The new key signs from ${time}.
${gone}Give the new value to every process at least five minutes before that time: APIs cache the published keys for that long.
`,
});
const own = (kid: string): PrivateJwk => ({ ...generateSigningKey(), kid });

describe("authmount signing-key --add-to (RFC 7517 §5)", () => {
  it("puts a new key in front, which signs in ten minutes", async () => {
    const keys = [{ key: own("a"), signsFrom: now - 60 }, own("b")];
    const { value, stdout, others } = await made(["--add-to", "KEYS"], listOf(...keys));
    const [first, ...older] = value as ScheduledKey[];
    expect(stdout).toBe(`${JSON.stringify(value)}\n`);
    expect([first?.signsFrom, readSigningKey(first?.key as PrivateJwk).algorithm]).toEqual([
      now + 600,
      "ES256",
    ]);
    expect(older).toEqual(keys);
    expect(others).toEqual(told("2027-01-15T08:10:00Z"));
  });

  it("puts one in front that signs at the time that was written", async () => {
    const { value, others } = await made(
      ["--add-to", "KEYS", "--signs-from", "+1h", "--alg", "ES384"],
      listOf(own("a")),
    );
    const [first] = value as ScheduledKey[];
    expect([first?.signsFrom, readSigningKey(first?.key as PrivateJwk).algorithm]).toEqual([
      now + 3_600,
      "ES384",
    ]);
    expect(others).toEqual(told("2027-01-15T09:00:00Z"));
  });

  it("leaves out the keys that were replaced a day ago, the longest life of a token", async () => {
    const keys = [
      { key: own("now"), signsFrom: now - day + 1 },
      { key: own("before"), signsFrom: now - day },
      { key: own("old"), signsFrom: now - 2 * day },
      own("oldest"),
    ];
    const { value, others } = await made(["--add-to", "KEYS"], listOf(...keys));
    expect((value as object[]).slice(1)).toEqual(keys.slice(0, 2));
    expect(others).toEqual(
      told("2027-01-15T08:10:00Z", "Old keys removed: 2. None of their tokens can still be valid.\n"),
    );
  });

  it("gives it as JSON", async () => {
    const keys = [{ key: own("now"), signsFrom: now - day }, own("old")];
    const { value, others } = await made(["--add-to", "KEYS", "--json"], listOf(...keys));
    const first = { key: expect.objectContaining({ kty: "EC" }) as object, signsFrom: now + 600 };
    expect(value).toEqual({ signingKeys: [first, keys[0]], signsFrom: now + 600, leftOut: 1 });
    expect(others).toEqual({ exitCode: 0, stderr: "" });
  });

  it("lets the first key for ID tokens sign at once, and the next one in ten minutes", async () => {
    const access = own("a");
    const { value } = await made(["--add-to", "KEYS", "--for", "id_token"], listOf(access));
    const [first, ...older] = value as [ScheduledKey];
    expect(first).toMatchObject({ for: "id_token", signsFrom: now, key: { kty: "RSA", alg: "RS256" } });
    expect(older).toEqual([access]);
    const again = await made(["--add-to", "KEYS", "--for", "id_token"], listOf(first, access));
    expect(again.value).toMatchObject([{ for: "id_token", signsFrom: now + 600 }, first, access]);
    expect(again.others).toMatchObject({
      stderr: expect.stringContaining("The new key signs ID tokens from 2027-01-15T08:10:00Z.") as string,
    });
  });

  it("keeps what still signs ID tokens, marked or not", async () => {
    const rsa = { key: generateSigningKey("RS256"), signsFrom: now - 9 * day };
    const marked = { key: generateSigningKey("PS256"), signsFrom: now - 9 * day, for: "id_token" };
    const keys = [{ key: own("now"), signsFrom: now - 2 * day }, rsa, marked];
    const { value } = await made(["--add-to", "KEYS"], listOf(...keys));
    expect((value as object[]).slice(1)).toEqual(keys);
  });

  it("takes no other use", async () => {
    expect(await ran(["signing-key", "--for", "access"])).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining(
        '--for "access" is unknown. Write --for id_token, or leave it out.',
      ) as string,
    });
  });

  const notSet =
    "The environment variable KEYS is not set. Set it to the list of keys, or leave out --add-to.";
  const noList =
    "KEYS is not a JSON list. Write the keys as [{…}], as npx authmount signing-key --list does.";
  const fix =
    'Write a private key as PEM, JWK or KeyObject: EC P-256, P-384 or P-521, or RSA of at least 2048 bits; or { key, signsFrom } with signsFrom in epoch seconds, or { key, for: "id_token" }.';
  it.each([
    [undefined, notSet],
    ["", notSet],
    ["CANARY, which is no JSON", noList],
    ['{"d":"CANARY"}', noList],
    ["null", noList],
    ["[]", "KEYS: signingKeys has no key that may sign now. Keep the old key until the new one signs."],
    ['["CANARY"]', `KEYS: signingKeys.0 is not a usable private key. ${fix}`],
    ['["", "CANARY"]', `KEYS: signingKeys.0 is empty: the environment variable may not be set. ${fix}`],
  ])("refuses what is no list of keys, and does not print it: %j", async (KEYS, message) => {
    expect(await ran(["signing-key", "--add-to", "KEYS"], { env: { KEYS } })).toEqual(failed(message));
  });

  it("refuses a list whose only key signs a second later", async () => {
    const env = listOf({ key: own("a"), signsFrom: now + 1 });
    const message =
      "KEYS: signingKeys has no key that may sign now. Keep the old key until the new one signs.";
    expect(await ran(["signing-key", "--add-to", "KEYS"], { env })).toEqual(failed(message));
  });
});
