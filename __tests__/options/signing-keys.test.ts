import { generateSigningKey } from "../../lib";
import { readSigningKeys, signingKeyProblems } from "../../lib/options/signing-keys";
import { thrownBy } from "../records/options";

const [one, other] = [generateSigningKey(), generateSigningKey()];
const reading = { by: "rotateKeys", now: 1_000 } as const;
const later = { key: other, signsFrom: 1_001 };

describe("what is wrong with signing keys (RFC 7517 §4.5, §5)", () => {
  it.each([
    ["nothing", [one, other], []],
    ["nothing, as one signs already", [{ key: one, signsFrom: 1_000 }, later], []],
    [
      "each one that cannot be used",
      ["", one, "no key"],
      [
        { path: "signingKeys.0", code: "variable-not-set" },
        { path: "signingKeys.2", code: "unusable-signing-key" },
      ],
    ],
    ["two with one kid", [one, one], [{ path: "signingKeys", code: "signing-keys-with-one-kid" }]],
    ["none that signs", [later], [{ path: "signingKeys", code: "no-key-signs-now" }]],
    ["none at all", [], [{ path: "signingKeys", code: "no-key-signs-now" }]],
  ])("is told: %s", async (_, sources, problems) => {
    const found = signingKeyProblems(sources, reading);
    expect(found).toMatchObject(problems);
    expect(found).toHaveLength(problems.length);
    const read = (): unknown => readSigningKeys(sources, reading);
    if (!found[0]) return expect(read).not.toThrow();
    const { code, path, problem, fix } = found[0];
    const { message, ...thrown } = await thrownBy(read);
    expect([message, thrown]).toEqual([`rotateKeys: ${path} ${problem}. ${fix}`, { code }]);
  });

  it("is told when they are no list", async () => {
    expect(await thrownBy(() => readSigningKeys(one as never, reading))).toHaveProperty(
      "code",
      "signing-keys-not-a-list",
    );
  });
});
