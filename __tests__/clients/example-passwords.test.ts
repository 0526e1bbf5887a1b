// scrypt fills a short password up with NULs: a password with NULs at its end must not pass for it.
import { newPeople as newDemoPeople } from "../../examples/demo/people";
import { newPeople } from "../../examples/own-sign-in/people";

const password = "a password";
const padded = [`${password}\0`, `${password}\0\0`, `${password}\n`];

describe("passwords with control characters in the examples (RFC 6749 Appendix A.2)", () => {
  it.each(padded)("sign nobody in to examples/own-sign-in: %j", async (presented) => {
    const people = await newPeople([{ subject: "person-1", name: "alice", password }]);
    expect(await people.findByPassword("alice", presented)).toBeUndefined();
    const alice = { subject: "person-1", name: "alice" };
    expect(await people.findByPassword("alice", password)).toMatchObject(alice);
  });

  it("are not taken for a person of examples/own-sign-in", async () => {
    const alice = { subject: "person-1", name: "alice", password: `a${"\0".repeat(11)}` };
    await expect(newPeople([alice])).rejects.toThrow("alice has a control character");
  });

  it.each(padded)("sign nobody in to examples/demo: %j", async (presented) => {
    const people = newDemoPeople({ alice: password });
    expect(await people.passwordMatches("alice", presented)).toBe(false);
    expect(await people.passwordMatches("alice", password)).toBe(true);
  });
});
