// The form of a JWT access token, before anything of it is verified.
import { claimsOf, parseJwt } from "../../lib/signing/verify-jwt";

function part(value: unknown): string {
  return Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");
}

const header = part({ alg: "ES256", typ: "at+jwt", kid: "one" });
const payload = part({ sub: "alice" });

describe("the parts of a JWT access token (RFC 7515 §7.1, 9068 §4)", () => {
  it("are its three texts", () => {
    expect(parseJwt(`${header}.${payload}.c2ln`)).toEqual({
      kid: "one",
      alg: "ES256",
      payload,
      signed: `${header}.${payload}`,
      signature: "c2ln",
    });
  });

  it.each([
    ["four parts", `${header}.${payload}.c2ln.more`],
    ["an empty fourth part", `${header}.${payload}.c2ln.`],
    ["no text", ""],
    ["a header that is null", `${part("null")}.${payload}.c2ln`],
    ["a header that is a text", `${part('"header"')}.${payload}.c2ln`],
    ["a type that is no text", `${part({ typ: ["at+jwt"] })}.${payload}.c2ln`],
  ])("are not read from %s", (_, token) => {
    expect(parseJwt(token)).toBeUndefined();
  });

  it.each(["null", "[]", "7", '"text"', "true", "{"])(
    "have no claims in the payload %s (RFC 7519 §7.2)",
    (json) => {
      expect(claimsOf({ kid: "one", alg: "ES256", payload: part(json), signed: "", signature: "" })).toBe(
        undefined,
      );
    },
  );
});
