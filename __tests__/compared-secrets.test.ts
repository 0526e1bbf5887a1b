/** How lib/ compares secrets: by one function, in constant time. RFC 6749 §10.10, 6819 §5.1.4.1.3. */
import ts from "typescript";
import { filesUnder, nodesOf, offences } from "./sources/source-files";

const files = filesUnder("lib");

/** What is a secret, or was computed from one, by its name. */
const secretName = /(?:secret|digest|token|verifier|mac|hmac|signature|thumbprint|challenge|seal|password)$/i;

/** Comparisons of what an attacker cannot approach character by character, or may know. */
const explained: Readonly<Record<string, string>> = {
  "lib/bearer/bound-tokens.ts thumbprint": "the thumbprint of a public key, which a signature has proven",
  "lib/grants/device-code.ts device.code.digest":
    "both are digests of random values, and found by the first part",
  "lib/end-user/approval-basis.ts digest": "of a public metadata document",
  "lib/end-user/approval-basis.ts selfDescription.digest": "of a public metadata document",
  "lib/tokens/read-access-token.ts accessToken": "objects, the same one or another",
  "lib/tokens/read-access-token.ts validity.accessToken": "objects, the same one or another",
  "lib/grants/refresh-token.ts refreshToken":
    "two tokens that the server has made itself, for the name of an event",
};

/** The last name of an operand: `code.digest` is a digest. */
function nameOf(node: ts.Expression): string {
  if (ts.isPropertyAccessExpression(node)) return node.name.text;
  return ts.isIdentifier(node) ? node.text : "";
}

function isConstant(node: ts.Expression): boolean {
  return ts.isLiteralExpression(node) || ["undefined", "null", "true", "false"].includes(node.getText());
}

function comparedSecret(node: ts.Node): string | undefined {
  if (!ts.isBinaryExpression(node) || !/^[!=]==?$/.test(node.operatorToken.getText())) return undefined;
  const { left, right } = node;
  if (isConstant(left) || isConstant(right)) return undefined;
  return [left, right]
    .find((side) => secretName.test(nameOf(side)))
    ?.getText()
    .replace("?", "");
}

describe("secrets, and what is computed from them", () => {
  it("are compared by isSameSecret alone, which takes as long for any guess", () => {
    const uses = files.filter(({ tree }) =>
      [...nodesOf(tree)].some((node) => ts.isIdentifier(node) && node.text === "timingSafeEqual"),
    );
    expect(uses.map(({ path }) => path)).toEqual(["lib/protocol/token-value.ts"]);
  });

  it("are never compared with ===, but where it is said why", () => {
    const found = files.flatMap((file) => offences(file, comparedSecret));
    expect(found.map((place) => place.replace(/:\d+/, "")).toSorted()).toEqual(
      Object.keys(explained).toSorted(),
    );
  });
});
