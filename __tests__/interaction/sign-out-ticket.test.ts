/** A sign-out in the URLs that it leads through. OpenID Connect RP-Initiated Logout §2. */
import { createHmac } from "node:crypto";
import { openTicket, sealTicket, type SignOutTicket } from "../../lib/interaction/sign-out-ticket";

const ticket: SignOutTicket = {
  issuer: "https://host.example/i",
  subject: "zoë",
  state: "a b",
  expiresAt: 10,
};
const open = (sealed: string | undefined, { secrets = ["new", "old"], now = 9 } = {}) =>
  openTicket(sealed, { secrets, now });

describe("the ticket of a sign-out", () => {
  it("is opened by each secret, until its time is over", () => {
    for (const secret of ["new", "old"]) expect(open(sealTicket(ticket, secret))).toEqual(ticket);
    expect(open(sealTicket(ticket, "foreign"))).toBeUndefined();
    expect(open(sealTicket(ticket, "new"), { now: 10 })).toBeUndefined();
  });

  it("is sealed for this purpose only", () => {
    const text = Buffer.from(JSON.stringify(ticket)).toString("base64url");
    const key = createHmac("sha256", "new").update("authmount sign-out").digest();
    const seal = createHmac("sha256", key).update(text).digest("base64url");
    expect(sealTicket(ticket, "new")).toBe(`${text}.${seal}`);
    expect(open(`${text}.${createHmac("sha256", "new").update(text).digest("base64url")}`)).toBeUndefined();
  });

  it.each([".", ".x", "=", "&sure=yes", ".&sure=yes", "\u00e9", "\u4e00", "\r\nX: y"])(
    "has one form: not with %j behind it",
    (more) => {
      expect(open(sealTicket(ticket, "new") + more)).toBeUndefined();
    },
  );

  it.each([undefined, "", ".", "a", "a.b", "a.b.c", "\u0000.\u0000"])("is not %j", (sealed) => {
    expect(open(sealed)).toBeUndefined();
  });
});
