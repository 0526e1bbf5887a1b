/** Sealed values in URLs. NIST SP 800-38D. */
import { createCipheriv, createHash } from "node:crypto";
import { sealer } from "../../lib/signing/sealer";

const ticket = { issuer: "https://host.example/i", subject: "zoë", state: "a b" };
const purpose = "authmount sign-out";
const seal = (value: object, secret: string) => sealer(purpose, [secret]).seal(value);
const open = (sealed: string) => sealer(purpose, ["new", "old"]).open(sealed);

/** With one bit turned over. */
function bent(sealed: string, at: number): string {
  const bytes = Buffer.from(sealed, "base64url");
  bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
  return bytes.toString("base64url");
}

describe("a sealed value", () => {
  it("is opened by each secret, and by no other", () => {
    for (const secret of ["new", "old"]) expect(open(seal(ticket, secret))).toEqual(ticket);
    expect(open(seal(ticket, "foreign"))).toBeUndefined();
  });

  it("is opened by a process of another version: its form stays", () => {
    const sealed =
      "7rHCKDfBI4d3dCxN0pZZrrYQ0UdkEhPy2M3FuM2GUJ-L-OouPLXhh15aAZHthgVlIdP-KfpSUGVG3lP7i4yTO1e6QRq8SpcGrdW5FpBDoz3aCdGWgMZZIj6zgyvpfQ";
    expect(open(sealed)).toEqual(ticket);
  });

  it("shows nothing of the person in logs", () => {
    const [one, other] = [ticket, { ...ticket, state: "a c" }].map((each) => seal(each, "new"));
    // the first bytes are the nonce, which no two texts may share
    expect(one?.slice(0, 16)).not.toBe(other?.slice(0, 16));
    expect(Buffer.from(one ?? "", "base64url").toString("latin1")).not.toMatch(/zo|host|subject/);
    expect(one).toMatch(/^[\w-]+$/);
  });

  it("is opened for its own purpose only", () => {
    expect(sealer("authmount pushed request", ["new"]).open(seal(ticket, "new"))).toBeUndefined();
  });

  it("is opened by no key but the one for this purpose", () => {
    const nonce = Buffer.alloc(12);
    const cipher = createCipheriv("aes-256-gcm", createHash("sha256").update("new").digest(), nonce);
    const parts = [nonce, cipher.update(JSON.stringify(ticket)), cipher.final(), cipher.getAuthTag()];
    expect(open(Buffer.concat(parts).toString("base64url"))).toBeUndefined();
  });

  it("is worth nothing once any bit of it has changed", () => {
    const sealed = seal(ticket, "new");
    const { length } = Buffer.from(sealed, "base64url");
    for (let at = 0; at < length; at += 1) expect(open(bent(sealed, at))).toBeUndefined();
    for (let end = 0; end < sealed.length; end += 1) expect(open(sealed.slice(0, end))).toBeUndefined();
  });

  it.each([".", ".x", "=", "&sure=yes", ".&sure=yes", "\u00e9", "\u4e00", "\r\nX: y"])(
    "has one form: not with %j behind it",
    (more) => {
      expect(open(seal(ticket, "new") + more)).toBeUndefined();
    },
  );

  it.each(["", ".", "a", "a.b", "\u0000.\u0000", "A".repeat(37), "A".repeat(38), "A".repeat(4_000)])(
    "is not %j",
    (sealed) => {
      expect(open(sealed)).toBeUndefined();
    },
  );
});
