import { generateSigningKey } from "../../lib";
import { readSigningKeys, signingKeyProblems } from "../../lib/options/signing-keys";

const [one, other] = [generateSigningKey(), generateSigningKey()];
const reading = { by: "rotateKeys", now: 1_000 } as const;
const fix =
  "Write a private key as PEM, JWK or KeyObject: EC P-256, P-384 or P-521, or RSA of at least 2048 bits; or { key, signsFrom } with signsFrom in epoch seconds.";
const sameKid =
  "rotateKeys: signingKeys has two keys with the same kid. Leave one out, or give each its own kid.";
const tooEarly =
  "rotateKeys: signingKeys has no key that may sign now. Keep the old key until the new one signs.";
const later = { key: other, signsFrom: 1_001 };

describe("what is wrong with signing keys (RFC 7517 §4.5, §5)", () => {
  it.each([
    ["nothing", [one, other], []],
    ["nothing, as one signs already", [{ key: one, signsFrom: 1_000 }, later], []],
    [
      "each one that cannot be used",
      ["", one, "no key"],
      [
        `rotateKeys: signingKeys.0 is empty. Is the environment variable set? ${fix}`,
        `rotateKeys: signingKeys.2 is not a usable private key. ${fix}`,
      ],
    ],
    ["two with one kid", [one, one], [sameKid]],
    ["none that signs", [later], [tooEarly]],
    ["none at all", [], [tooEarly]],
  ])("is told: %s", (_, sources, problems) => {
    expect(signingKeyProblems(sources, reading)).toEqual(problems);
    const read = (): unknown => readSigningKeys(sources, reading);
    if (problems[0] === undefined) expect(read).not.toThrow();
    else expect(read).toThrow(new TypeError(problems[0]));
  });

  it("is told when they are no list", () => {
    expect(() => readSigningKeys(one as never, reading)).toThrow(
      new TypeError("rotateKeys: signingKeys is not a list. Write a list of private keys."),
    );
  });
});
