import {
  checkAuthentication,
  checkConsentAnswer,
  endUserProblem,
  ownContext,
} from "../../lib/end-user/check-host-answer";
import { clockDriftSeconds } from "../../lib/protocol/time";

const now = 1_800_000_000;
const url =
  'url must be an absolute URL, or a path that begins with a slash, such as "/sign-in", in visible ASCII characters';

/** What is thrown; `undefined` when nothing is. The hosts that get it wrong do not have the types. */
function thrownBy(check: () => unknown): unknown {
  try {
    check();
  } catch (error) {
    return error;
  }
  return undefined;
}

describe("an end user whom the host names (RFC 9068 §2.2)", () => {
  const text = "subject must be a string of 1 to 255 characters";
  const wellFormed = "subject must be well-formed Unicode without NUL";
  const wholeSeconds = "authTime must be whole seconds since 1970";
  const future = "authTime must not be in the future; it is in seconds, not milliseconds";
  const list = "amr must be a list of strings";

  const shortText = "signedInFrom must be text of at most 200 characters, without control characters";

  it.each<readonly [string, object, string | undefined]>([
    ["no subject", { subject: undefined }, text],
    ["a number for a subject", { subject: 7 }, text],
    ["an empty subject", { subject: "" }, text],
    ["a subject of 256 characters", { subject: "a".repeat(256) }, text],
    ["a subject of 255 characters", { subject: "a".repeat(255) }, undefined],
    ["a subject with NUL", { subject: "a\0b" }, wellFormed],
    ["a subject with half a character", { subject: "a\ud800" }, wellFormed],
    ["a number for a name", { displayName: 7 }, "displayName must be a string"],
    ["an empty name", { displayName: "" }, undefined],
    ["half a second", { authTime: now - 0.5 }, wholeSeconds],
    ["a time as text", { authTime: String(now) }, wholeSeconds],
    ["milliseconds", { authTime: now * 1_000 }, future],
    ["a clock that is ahead by more than clocks differ", { authTime: now + clockDriftSeconds + 1 }, future],
    ["a clock that is ahead by what clocks differ", { authTime: now + clockDriftSeconds }, undefined],
    ["one method as text", { amr: "pwd" }, list],
    ["a method among others that is no text", { amr: ["pwd", 2] }, list],
    ["two methods", { amr: ["pwd", "otp"] }, undefined],
    ["a number for a class", { acr: 2 }, "acr must be a string"],
    ["a class", { acr: "2" }, undefined],
    ["a number for where", { signedInFrom: 7 }, shortText],
    ["nothing for where", { signedInFrom: null }, shortText],
    ["201 characters for where", { signedInFrom: "a".repeat(201) }, shortText],
    ["200 characters for where", { signedInFrom: "😀".repeat(200) }, undefined],
    ["no character for where", { signedInFrom: "" }, undefined],
    ...["\0", "\n", "\u001b", "\u007f", "\u0085"].map(
      (control) =>
        [`where with ${JSON.stringify(control)}`, { signedInFrom: `a${control}` }, shortText] as const,
    ),
    ["where in any script", { signedInFrom: "Chrome, \u202bالقاهرة 👩‍💻" }, undefined],
    ["a subject alone", {}, undefined],
  ])("%s", (_, changes, problem) => {
    expect(endUserProblem({ subject: "alice", ...changes }, now)).toBe(problem);
  });
});

describe("what authenticate returns (RFC 6749 §4.1.2.1)", () => {
  const description = 'description must be ASCII text without " and \\';

  it.each<[string, unknown, string]>([
    ["a wrong person", { kind: "authenticated" }, "subject must be a string of 1 to 255 characters"],
    ["no page", { kind: "interaction" }, url],
    ["a path without a slash", { kind: "interaction", url: "sign-in" }, url],
    ["a page with a space", { kind: "interaction", url: "/sign in" }, url],
    ["a description that no header carries", { kind: "denied", description: 'a "quote"' }, description],
    ["an empty description", { kind: "denied", description: "" }, description],
  ])("is refused with what to fix: %s", (_, answer, problem) => {
    expect(thrownBy(() => checkAuthentication(answer as never, now))).toEqual(
      new TypeError(`authenticate returned an invalid answer: ${problem}.`),
    );
  });

  it.each<[string, unknown]>([
    ["a person", { kind: "authenticated", subject: "alice" }],
    ["a path", { kind: "interaction", url: "/sign-in" }],
    ["an https URL", { kind: "interaction", url: "https://id.example/sign-in" }],
    ["an http URL, for development", { kind: "interaction", url: "http://localhost:3000/sign-in" }],
    ["a scheme in capitals", { kind: "interaction", url: "HTTPS://id.example/" }],
    ["a no", { kind: "denied" }],
    ["a no with a description", { kind: "denied", description: "Your account is closed." }],
  ])("is taken: %s", (_, answer) => {
    expect(thrownBy(() => checkAuthentication(answer as never, now))).toBeUndefined();
  });
});

describe("what consent.decide returns (RFC 6749 §4.1.2.1)", () => {
  const scopes = "scopes must be a list of strings";

  it.each<[string, unknown, string]>([
    ["no scopes", { kind: "granted" }, scopes],
    ["scopes in one text", { kind: "granted", scopes: "orders:read" }, scopes],
    ["a scope among others that is no text", { kind: "granted", scopes: ["orders:read", 7] }, scopes],
    ["no page", { kind: "interaction" }, url],
  ])("is refused with what to fix: %s", (_, answer, problem) => {
    expect(thrownBy(() => checkConsentAnswer(answer as never))).toEqual(
      new TypeError(`consent.decide returned an invalid answer: ${problem}.`),
    );
  });

  it.each<[string, unknown]>([
    ["scopes", { kind: "granted", scopes: ["orders:read"] }],
    ["no scope", { kind: "granted", scopes: [] }],
    ["a no", { kind: "denied" }],
    ["the built-in page", { kind: "ask" }],
    ["an own page", { kind: "interaction", url: "/ask" }],
  ])("is taken: %s", (_, answer) => {
    expect(thrownBy(() => checkConsentAnswer(answer as never))).toBeUndefined();
  });
});

describe("the context in an answer (RFC 6749 §1.3)", () => {
  it("is none where the answer has none, and not one that its prototype has", () => {
    expect(ownContext({}, "authenticate")).toBeUndefined();
    const inherited: object = Object.create({ context: { key: "acme" } }) as object;
    expect(ownContext(inherited, "authenticate")).toBeUndefined();
  });

  it("is a copy, which stays as it was checked", () => {
    const context = { key: "acme", data: { seats: 3 } };
    const own = ownContext({ context }, "consent.decide");
    context.data.seats = 4;
    expect(own).toEqual({ key: "acme", data: { seats: 3 } });
  });

  it.each(["authenticate", "consent.decide"] as const)(
    "that is there and undefined is refused: a look-up may have failed (%s)",
    (name) => {
      expect(thrownBy(() => ownContext({ context: undefined }, name))).toEqual(
        new TypeError(
          `${name} returned an invalid answer: context must be { key } or { key, data }, as JSON.`,
        ),
      );
    },
  );
});
