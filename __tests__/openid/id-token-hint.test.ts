import { createHmac, createPublicKey, generateKeyPairSync } from "node:crypto";
import jwt from "jsonwebtoken";
import type { Response } from "supertest";
import type { Authentication } from "../../lib";
import { readSigningKey, type SigningKeySource } from "../../lib/signing/signing-key";
import { authorize, redirectParameters } from "../browser/authorize";
import type { Fields } from "../browser/browser";
import { allow, outcomeOf, outcomeOfVisit } from "../browser/consent";
import { interactionOf, resumePath, signIn, visit } from "../browser/interaction";
import { obtainTokens, type Tokens } from "../browser/journey";
import { issuer } from "../hosts/apis";
import { clients } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { alice, bob, signedIn, signedOut, type TestHost } from "../hosts/host";
import { accessKey, idKey, provider, type ProviderOptions } from "./provider";

const clock = stopClockForEachTest();

type IdTokens = Tokens & { readonly id_token: string };

const kidOf = (source: SigningKeySource): string => readSigningKey(source).kid;
const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");

/** Claims of an ID token of Alice for `web` that has expired. */
const ofAlice = { iss: issuer, sub: "alice", aud: "web", iat: 1, exp: 2 };

/** An ID token as this server would have made it. */
function hintOf(claims: object = {}, { key = idKey, header = {} } = {}): string {
  const text = JSON.stringify({ ...ofAlice, ...claims });
  return jwt.sign(text, key, {
    algorithm: "RS256",
    header: { alg: "RS256", typ: "JWT", kid: kidOf(key), ...header },
  });
}

/** A provider where Alice has allowed `web` a sign-in before. */
async function known(options: ProviderOptions = {}): Promise<{ host: TestHost; tokens: IdTokens }> {
  const host = provider(options);
  const tokens = (await obtainTokens(host, { client: "web", fields: { scope: "openid" } })) as IdTokens;
  host.asked.length = 0;
  return { host, tokens };
}

/** The request of `web` for a sign-in of the person whom the hint names. */
function expecting(hint: string | readonly string[], fields: Fields = {}) {
  return { client: "web", fields: { scope: "openid", id_token_hint: hint, ...fields } } as const;
}

/** How the client and the host are told of a refusal. */
function refusal(host: TestHost, response: Response): object {
  const { error, error_description } = redirectParameters(response);
  return { error, error_description, event: host.events.at(-1) };
}

const wrongPerson = { kind: "authorization-denied", code: "not-the-hinted-person" };
const reauthenticated = (host: TestHost): readonly boolean[] =>
  host.asked.map(({ reauthenticate }) => reauthenticate);

describe("id_token_hint (OpenID Connect Core §3.1.2.1)", () => {
  it("lets the person in whom it names, also when the token has expired, and asks the host once", async () => {
    const { host, tokens } = await known();
    clock.advance(30 * 86_400);
    expect(await outcomeOfVisit(host, expecting(tokens.id_token, { prompt: "none" }))).toBe("granted");
    expect(reauthenticated(host)).toEqual([false]);
  });

  it("may be of a key that signs no longer", async () => {
    const { host, tokens } = await known();
    const newKey = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
    host.auth.rotateKeys([accessKey, { key: newKey, signsFrom: clock.now() }, idKey]);
    clock.advance(30 * 86_400);
    expect(await outcomeOfVisit(host, expecting(tokens.id_token, { prompt: "none" }))).toBe("granted");
  });

  it("of a key that was dropped leads to login_required at once, without a page", async () => {
    const { host, tokens } = await known();
    const newKey = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
    host.auth.rotateKeys([accessKey, newKey]);
    const response = await authorize(host.browser(), expecting(tokens.id_token));
    expect(refusal(host, response)).toMatchObject({
      error: "login_required",
      error_description: "The id_token_hint can no longer be verified.",
      event: { code: "id-token-hint-of-no-key" },
    });
    expect(host.asked).toEqual([]);
  });

  it("is left out where it is empty", async () => {
    const { host } = await known();
    host.session = bob;
    expect(await outcomeOfVisit(host, expecting(""))).toBe("asked");
  });

  it("is ignored at an API without openid, whatever it is", async () => {
    const host = provider();
    const asked = { client: "web", pair: { api: "files" }, fields: { id_token_hint: "nonsense" } } as const;
    expect(await outcomeOfVisit(host, asked)).toBe("asked");
  });
});

describe("id_token_hint of somebody else than is signed in (OpenID Connect Core §3.1.2.1)", () => {
  it("asks the host to sign the person in again, and then takes the hinted one", async () => {
    const { host, tokens } = await known();
    host.session = bob;
    const browser = host.browser();
    const first = await authorize(browser, expecting(tokens.id_token));
    expect(outcomeOf(first)).toBe("/signin?interaction");
    expect(reauthenticated(host)).toEqual([false, true]);
    expect(outcomeOf(await signIn({ browser, id: interactionOf(first) }, "alice"))).toBe("granted");
  });

  it("refuses whom the host names all the same", async () => {
    const { host, tokens } = await known();
    host.session = () => bob;
    const response = await authorize(host.browser(), expecting(tokens.id_token));
    expect(refusal(host, response)).toEqual({
      error: "login_required",
      error_description: "Someone other than the hinted end user is signed in.",
      event: expect.objectContaining(wrongPerson) as object,
    });
    expect(reauthenticated(host)).toEqual([false, true]);
  });

  it("takes the hinted one, where the host knows both", async () => {
    const { host, tokens } = await known();
    host.session = ({ reauthenticate }) => (reauthenticate ? signedIn : bob);
    expect(await outcomeOfVisit(host, expecting(tokens.id_token))).toBe("granted");
  });

  it.each<[string, Fields]>([
    ["nothing else", {}],
    ["prompt=login", { prompt: "login" }],
    ["max_age", { max_age: "0" }],
    ["prompt=select_account", { prompt: "select_account" }],
    ["prompt=consent", { prompt: "consent" }],
  ])(
    "beside %s tells the client when somebody else comes back from the sign-in page, without a loop",
    async (_, fields) => {
      const { host, tokens } = await known();
      const { browser, id } = await visit(host, expecting(tokens.id_token, fields));
      const back = await signIn({ browser, id }, "bob");
      expect(refusal(host, back)).toMatchObject({ error: "login_required", event: wrongPerson });
      expect(host.events.some(({ kind }) => kind === "sign-in-repeated")).toBe(false);
      expect((await browser.get(resumePath(id))).status).toBe(400);
    },
  );

  it.each<[string, Fields, unknown]>([
    ["prompt=login", { prompt: "login" }, "granted"],
    ["max_age", { max_age: "0" }, "granted"],
    ["prompt=select_account", { prompt: "select_account" }, "granted"],
    ["prompt=consent", { prompt: "consent" }, "asked"],
  ])("beside %s takes the hinted person who signs in", async (_, fields, outcome) => {
    const { host, tokens } = await known();
    host.session = bob;
    const browser = host.browser();
    const first = await authorize(browser, expecting(tokens.id_token, fields));
    expect(host.asked.at(-1)?.reauthenticate).toBe(true);
    clock.advance(5);
    expect(outcomeOf(await signIn({ browser, id: interactionOf(first) }, "alice"))).toBe(outcome);
  });

  it("beside max_age asks the hinted person whose session is too old once more", async () => {
    const { host, tokens } = await known();
    const { browser, id } = await visit(host, expecting(tokens.id_token, { max_age: "60" }));
    host.session = alice(clock.now() - 600);
    expect(outcomeOf(await browser.get(resumePath(id)))).toBe("/signin?interaction");
    host.session = ({ reauthenticate }) => (reauthenticate ? bob : alice(clock.now() - 600));
    const back = await browser.get(resumePath(id));
    expect(refusal(host, back)).toMatchObject({ error: "login_required", event: wrongPerson });
  });

  it("beside prompt=select_account refuses a host that shows no page, as without a hint", async () => {
    const { host, tokens } = await known();
    host.session = () => signedIn;
    const asked = expecting(tokens.id_token, { prompt: "select_account" });
    expect(await outcomeOfVisit(host, asked)).toBe("interaction_required");
  });

  it("never lets another person answer the consent page", async () => {
    const { host, tokens } = await known();
    const browser = host.browser();
    const page = await authorize(browser, expecting(tokens.id_token, { scope: "openid email" }));
    expect(outcomeOf(page)).toBe("asked");
    host.session = bob;
    const answer = await browser.answer(page, "approve");
    expect(refusal(host, answer)).toMatchObject({ error: "login_required", event: wrongPerson });
    expect(host.events.filter(({ kind }) => kind === "authorization-granted")).toHaveLength(1);
  });

  it('is not overridden by "Not you? Use another account"', async () => {
    const { host, tokens } = await known();
    const browser = host.browser();
    const page = await authorize(browser, expecting(tokens.id_token, { scope: "openid email" }));
    const answer = await browser.answer(page, "switch");
    expect(outcomeOf(answer)).toBe("/signin?interaction");
    const back = await signIn({ browser, id: interactionOf(answer) }, "bob");
    expect(refusal(host, back)).toMatchObject({ error: "login_required", event: wrongPerson });
  });

  it('lets the hinted person come back from "Not you?"', async () => {
    const { host, tokens } = await known();
    const browser = host.browser();
    const page = await authorize(browser, expecting(tokens.id_token, { scope: "openid email" }));
    const answer = await browser.answer(page, "switch");
    const anew = await signIn({ browser, id: interactionOf(answer) }, "alice");
    expect(outcomeOf(anew)).toBe("asked");
    expect(outcomeOf(await browser.answer(anew, "approve"))).toBe("granted");
  });

  it("never lets another person answer the host's own consent page", async () => {
    const host = provider({ consent: { decide: () => ({ kind: "interaction", url: "/ask" }) } });
    const browser = host.browser();
    const page = await authorize(browser, expecting(hintOf()));
    host.session = bob;
    const answer = await browser.post("/allow", { interaction: interactionOf(page) });
    expect(refusal(host, answer)).toMatchObject({ error: "login_required", event: wrongPerson });
  });

  it("holds where the host is asked again because everything of the person was ended before", async () => {
    const trusted = { ...clients.web, subscriptions: { orders: { trusted: true } } };
    const { host, tokens } = await known({ clients: [trusted] });
    await host.auth.subjects.revoke("alice");
    const people = [signedIn, bob, bob];
    host.session = () => people.shift() ?? signedOut;
    const response = await authorize(host.browser(), expecting(tokens.id_token));
    expect(refusal(host, response)).toMatchObject({ error: "login_required", event: wrongPerson });
    expect(people).toEqual([]);
  });

  it("gives nothing to another person after the hinted one was erased", async () => {
    const { host, tokens } = await known();
    await host.auth.subjects.erase("alice");
    host.session = signedOut;
    const none = expecting(tokens.id_token, { prompt: "none" });
    expect(await outcomeOfVisit(host, none)).toBe("login_required");
    host.session = () => bob;
    expect(await outcomeOfVisit(host, expecting(tokens.id_token))).toBe("login_required");
  });

  it("compares subjects as they are", async () => {
    const { host, tokens } = await known();
    for (const subject of ["Alice", "alice ", "ａlice", "alicé", "alice\u0000"]) {
      host.session = () => ({ ...signedIn, subject });
      expect(await outcomeOfVisit(host, expecting(tokens.id_token))).not.toBe("granted");
    }
  });
});

describe("id_token_hint with prompt=none (OpenID Connect Core §3.1.2.6)", () => {
  it.each<[string, Fields]>([
    ["alone", {}],
    ["with max_age", { max_age: "1" }],
    ["with more scopes", { scope: "openid email" }],
  ])("says the same of another person as of nobody, %s", async (_, fields) => {
    const { host, tokens } = await known();
    const asked = expecting(tokens.id_token, { prompt: "none", ...fields });
    const told: object[] = [];
    const sessions: TestHost["session"][] = [signedOut, bob, () => bob, () => ({ ...bob, authTime: 1 })];
    for (const session of sessions) {
      host.session = session;
      const response = await authorize(host.browser(), asked);
      expect(response.headers["set-cookie"]).toBeUndefined();
      told.push({ ...refusal(host, response), location: response.headers["location"] as string });
    }
    expect(told[0]).toMatchObject({
      error: "login_required",
      error_description: "The end user is not signed in.",
      event: { code: "not-signed-in" },
    });
    expect(new Set(told.map((each) => JSON.stringify(each))).size).toBe(1);
    // the host is asked once for each of them, so that time does not tell either
    expect(reauthenticated(host)).toEqual([false, false, false, false]);
  });

  it("says the same of another person who has allowed everything", async () => {
    const { host, tokens } = await known();
    host.session = bob;
    await allow(host, { fields: { scope: "openid" } });
    const asked = expecting(tokens.id_token, { prompt: "none" });
    expect(await outcomeOfVisit(host, asked)).toBe("login_required");
  });

  it("says it too where the host names another person only when it is asked again", async () => {
    const { host, tokens } = await known();
    host.session = ({ reauthenticate }) => (reauthenticate ? bob : signedIn);
    const asked = expecting(tokens.id_token, { prompt: "none", max_age: "1" });
    expect(refusal(host, await authorize(host.browser(), asked))).toMatchObject({
      error_description: "The end user is not signed in.",
      event: { code: "not-signed-in" },
    });
  });
});

describe("a forged id_token_hint (OpenID Connect Core §3.1.2.1, RFC 8725 §3)", () => {
  const stranger = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
  const header = { alg: "RS256", typ: "JWT", kid: kidOf(idKey) };
  const hs256 = (): string => {
    const signed = `${encoded({ ...header, alg: "HS256" })}.${encoded(ofAlice)}`;
    const secret = createPublicKey(idKey).export({ type: "spki", format: "pem" });
    return `${signed}.${createHmac("sha256", secret).update(signed).digest("base64url")}`;
  };

  it.each<[string, () => string]>([
    ["no token", () => "nonsense"],
    ["two dots", () => ".."],
    ["10 KB of anything", () => "x".repeat(10_240)],
    ["10 KB in the form of a token", () => `${encoded(header)}.${"x".repeat(10_240)}.AA`],
    ["alg none", () => `${encoded({ ...header, alg: "none" })}.${encoded(ofAlice)}.`],
    ["alg none without kid", () => `${encoded({ alg: "none", typ: "JWT" })}.${encoded(ofAlice)}.`],
    ["HS256 with the public key", hs256],
    ["five parts, as JWE has them", () => `${hintOf()}.AAAA.AAAA`],
    ["another key under our kid", () => hintOf({}, { key: stranger, header: { kid: kidOf(idKey) } })],
    ["a key without kid", () => hintOf({}, { key: stranger, header: { kid: undefined } })],
    ["no typ", () => hintOf({}, { header: { typ: undefined } })],
    ["the typ of an access token", () => hintOf({}, { header: { typ: "at+jwt" } })],
    ["a critical extension", () => hintOf({}, { header: { crit: ["exp"] } })],
    ["a signature with another end", () => `${hintOf()}=`],
    [
      "the claims of another hint",
      () => hintOf().replace(/\.[^.]+\./, `.${encoded({ ...ofAlice, sub: "bob" })}.`),
    ],
    ["another server", () => hintOf({ iss: "https://other.example" })],
    ["another issuer of the same API", () => hintOf({ iss: issuer.replace("password", "otp") })],
    ["another client", () => hintOf({ aud: "other" })],
    ["two audiences", () => hintOf({ aud: ["web", "other"] })],
    ["an audience in a list", () => hintOf({ aud: ["web"] })],
    ["no subject", () => hintOf({ sub: undefined })],
    ["a subject that is no text", () => hintOf({ sub: 7 })],
    ["a subject that is not ASCII", () => hintOf({ sub: "zoë" })],
    ["a subject that is too long", () => hintOf({ sub: "a".repeat(256) })],
    ["a person who is a list", () => hintOf({ sub: ["alice"] })],
  ])("is refused: %s", async (_, make) => {
    const { host } = await known();
    const hint = make();
    const response = await authorize(host.browser(), expecting(hint, { prompt: "none" }));
    expect(refusal(host, response)).toEqual({
      error: "invalid_request",
      error_description: "id_token_hint is not an ID token of this client.",
      event: expect.objectContaining({
        kind: "authorization-denied",
        code: "id-token-hint-not-ours",
      }) as object,
    });
    expect(host.asked).toEqual([]);
    expect(JSON.stringify(host.events)).not.toContain(hint.length > 20 ? hint.slice(-20) : `"${hint}"`);
  });

  it("is refused: an access token of the same person", async () => {
    const { host, tokens } = await known();
    const response = await authorize(host.browser(), expecting(tokens.access_token));
    expect(refusal(host, response)).toMatchObject({ event: { code: "id-token-hint-not-ours" } });
  });

  it("is refused: an access token of no key that is left", async () => {
    const { host, tokens } = await known();
    const newKey = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
    host.auth.rotateKeys([newKey, idKey]);
    expect(await outcomeOfVisit(host, expecting(tokens.access_token))).toBe("invalid_request");
  });

  it("is refused: a real one of another issuer of the API, and of another client", async () => {
    const host = provider();
    for (const [client, method] of [
      ["web", "otp"],
      ["other", "password"],
    ] as const) {
      const asked = { client, pair: { method }, fields: { scope: "openid" } } as const;
      const { id_token } = (await obtainTokens(host, asked)) as IdTokens;
      expect(await outcomeOfVisit(host, expecting(id_token))).toBe("invalid_request");
    }
  });

  it("is refused: two of them", async () => {
    const { host, tokens } = await known();
    const { id_token } = tokens;
    const response = await authorize(host.browser(), expecting([id_token, id_token]));
    expect(refusal(host, response)).toMatchObject({
      error: "invalid_request",
      event: { code: "parameter-unusable" },
    });
  });

  it("is refused after the mistakes of the request itself", async () => {
    const { host } = await known();
    const response = await authorize(host.browser(), expecting("nonsense", { prompt: "nonsense" }));
    expect(refusal(host, response)).toMatchObject({ event: { code: "prompt-unknown" } });
  });

  it("is told only to a client and a redirect URI that are known", async () => {
    const { host } = await known();
    const asked = expecting("nonsense", { redirect_uri: "https://evil.example" });
    const response = await authorize(host.browser(), asked);
    expect([response.status, response.headers["location"]]).toEqual([400, undefined]);
  });
});

describe("what is kept of an id_token_hint (OpenID Connect Core §16.11)", () => {
  it("is the subject alone, where the client cannot learn it from the size of a cookie", async () => {
    const { host, tokens } = await known();
    const { browser } = await visit(host, expecting(tokens.id_token));
    const [sealed = ""] = browser.cookies.values();
    const [readable = ""] = sealed.slice(2).split(".");
    expect(JSON.parse(Buffer.from(readable, "base64url").toString())).toMatchObject({
      hintedSubject: "alice",
    });
    expect(sealed.length).toBeLessThan(1_000);
    expect(sealed).not.toContain(tokens.id_token.slice(-20));
  });

  it("is nothing without a hint", async () => {
    const { host } = await known();
    const { browser } = await visit(host, { fields: { scope: "openid" } });
    const [readable = ""] = [...browser.cookies.values()].join().slice(2).split(".");
    expect(Buffer.from(readable, "base64url").toString()).not.toContain("hintedSubject");
  });

  it("cannot be changed on the way back: neither in the cookie nor by another hint", async () => {
    const { host, tokens } = await known();
    const { browser, id } = await visit(host, expecting(tokens.id_token));
    const [[name, sealed] = ["", ""]] = browser.cookies;
    const [readable = "", ...rest] = sealed.slice(2).split(".");
    const bent = Buffer.from(readable, "base64url").toString().replace('"alice"', '"bob"');
    browser.cookies.set(name, `s:${[Buffer.from(bent).toString("base64url"), ...rest].join(".")}`);
    host.session = bob;
    expect((await browser.get(resumePath(id))).status).toBe(400);
    browser.cookies.set(name, sealed);
    const path = `${resumePath(id)}&id_token_hint=${hintOf({ sub: "bob" })}`;
    expect(refusal(host, await browser.get(path))).toMatchObject({ event: wrongPerson });
  });

  it("goes to no event, no question or page of the host and no redirect", async () => {
    const questions: unknown[] = [];
    const sessions: Authentication[] = [bob, signedIn, signedIn];
    const authenticate = (question: object): Authentication => {
      questions.push({ ...question, req: undefined });
      return sessions.shift() ?? signedOut;
    };
    const method = { authenticate };
    const host = provider({ authMethods: { password: method, otp: method, sso: method } });
    const hint = hintOf();
    const browser = host.browser();
    const first = await authorize(browser, expecting(hint));
    const page = await browser.follow(first);
    const seen = JSON.stringify([host.events, questions, first.headers["location"], page.text]);
    for (const part of hint.split(".")) expect(seen).not.toContain(part);
  });
});
