import request from "supertest";
import type { IdentityClaims, IdentityClaimsRequest, OpenIdOptions } from "../../lib";
import { pairPath } from "../hosts/apis";
import { obtainCode, obtainTokens } from "../browser/journey";
import { stopClockForEachTest } from "../hosts/clock";
import type { TestHost } from "../hosts/host";
import { redeem, refresh } from "../requests/client-requests";
import { disableWeb, provider, type ProviderOptions, readIdToken } from "./provider";

stopClockForEachTest();

type Claims = OpenIdOptions["claims"];

/** A host whose `claims` is this, and a code for `openid email groups`. */
async function asked(claims: Claims, options: ProviderOptions = {}) {
  const host = provider({ ...options, openid: { claims, ...options.openid } });
  const code = await obtainCode(host, { client: "web", fields: { scope: "openid email groups" } });
  return { host, code, exchange: () => redeem(host, { client: "web", code }) };
}

/** The last failure that the host was told of. */
function failureOf({ events }: ReturnType<typeof provider>): unknown {
  return events.findLast((event) => event.kind === "server-error")?.cause;
}

describe("openid.claims (OpenID Connect Core §5.1, §5.4)", () => {
  it("is asked of whom, to whom and for what", async () => {
    const questions: IdentityClaimsRequest[] = [];
    const context = { key: "acme", data: { plan: "pro" } };
    const host = provider({
      openid: {
        claims(question) {
          questions.push(question);
          return {};
        },
      },
    });
    host.session = { kind: "authenticated", subject: "alice", context };
    const { access_token } = await obtainTokens(host, { client: "web", fields: { scope: "openid email" } });
    const userinfo = request(host.app).get(`${pairPath()}/userinfo`);
    await userinfo.set("Authorization", `Bearer ${access_token}`).expect(200);
    const told = {
      subject: "alice",
      scopes: ["openid", "email"],
      client: { clientId: "web", name: "Web Shop", confidential: true },
      apiId: "orders",
      authMethodId: "password",
      context,
      signal: expect.any(AbortSignal) as AbortSignal,
    };
    expect(questions).toEqual([
      { ...told, use: "id_token" },
      { ...told, use: "userinfo" },
    ]);
  });

  it("may leave out what it does not have, by undefined or null", async () => {
    const claims = { email: "a@example.org", email_verified: undefined, groups: null };
    const { exchange } = await asked(() => claims);
    const { body } = await exchange();
    const { email, email_verified, groups } = readIdToken((body as { id_token: string }).id_token);
    expect([email, email_verified, groups]).toEqual(["a@example.org", undefined, undefined]);
  });

  it.each<[string, unknown, string]>([
    ["a text that many take for true", { email_verified: "false" }, "email_verified must be of type boolean"],
    ["a number of the wrong form", { updated_at: "2026" }, "updated_at must be of type number"],
    ["a list as address", { address: [] }, "address must be of type object"],
    ["a name that is none", { name: 7 }, "name must be of type string"],
    ["a claim of the server", { sub: "bob" }, "sub is a claim that only the server may set"],
    ["a nonce", { nonce: "x" }, "nonce is a claim that only the server may set"],
    ["too much", { email: "x".repeat(5_000) }, "the claims must not be larger than 4096 bytes as JSON"],
    ["a list", [], "it must be a plain object of JSON values, or undefined"],
    ["what is no JSON", { email: new Map() }, "it must be a plain object of JSON values, or undefined"],
    [
      "a promise inside",
      { email: Promise.resolve("a") },
      "it must be a plain object of JSON values, or undefined",
    ],
  ])("is refused with %s, and nothing is spent", async (_, answer, problem) => {
    let given = answer;
    const { host, exchange } = await asked(() => given as IdentityClaims);
    expect((await exchange()).status).toBe(500);
    expect(failureOf(host)).toMatchObject({
      code: "wrong-answer-of-claims",
      message: `openid.claims returned an invalid answer: ${problem}${problem.includes("type") ? " (OpenID Connect Core §5.1)" : ""}.`,
    });
    given = {};
    expect((await exchange()).status).toBe(200);
  });

  it("answers undefined for a person who is gone: no ID token, and nothing is spent", async () => {
    let isGone = true;
    const { host, exchange } = await asked(() => (isGone ? undefined : {}));
    expect(await exchange()).toMatchObject({
      status: 400,
      body: { error: "invalid_grant", error_description: "The end user no longer exists." },
    });
    expect(host.events.at(-1)).toMatchObject({ kind: "token-refused", code: "end-user-gone" });
    isGone = false;
    const { body } = await exchange();
    const { access_token, refresh_token: refreshToken } = body as Record<string, string>;
    isGone = true;
    expect(await refresh(host, { client: "web", refreshToken: refreshToken ?? "" })).toMatchObject({
      status: 400,
      body: { error: "invalid_grant" },
    });
    const userinfo = request(host.app).get(`${pairPath()}/userinfo`);
    expect(await userinfo.set("Authorization", `Bearer ${access_token}`)).toMatchObject({
      status: 401,
      body: { error: "invalid_token" },
    });
    isGone = false;
    expect((await refresh(host, { client: "web", refreshToken: refreshToken ?? "" })).status).toBe(200);
  });

  it("may fail, and the code stays good", async () => {
    let isDown = true;
    const { exchange } = await asked(() => {
      if (isDown) throw new Error("no database");
      return Promise.resolve({});
    });
    expect((await exchange()).status).toBe(500);
    isDown = false;
    expect((await exchange()).status).toBe(200);
  });

  it.each<[string, (host: TestHost) => Promise<void>]>([
    ["the person", ({ auth }) => auth.subjects.revoke("alice")],
    ["the client", ({ auth }) => auth.clients.revoke("web")],
    ["the API", ({ auth }) => auth.apis.revoke("orders")],
    ["the client's record, which is disabled,", disableWeb],
  ])(
    "is asked before anything is spent, and an end of %s meanwhile counts (RFC 7009 §2.1)",
    async (_, end) => {
      const { host, exchange } = await asked(async () => {
        await end(host);
        return {};
      });
      expect(await exchange()).toMatchObject({ status: 400, body: { error: "invalid_grant" } });
      expect(host.events.at(-1)).toMatchObject({ kind: "token-refused", code: "revoked-during-decision" });
    },
  );

  it.each([
    ["a scope, and its claims stay out", ["openid", "groups"], { groups: ["staff"] }],
    ["the sign-in, and there is no ID token", ["groups"], undefined],
  ])("is asked while the person takes back %s", async (_, scopes, told) => {
    const { host, exchange } = await asked(async () => {
      await host.auth.consents.narrow({ subject: "alice", clientId: "web", apiId: "orders", scopes });
      return { email: "a@example.org", groups: ["staff"] };
    });
    const { status, body } = await exchange();
    const { id_token: idToken } = body as { id_token?: string };
    const { email, groups } = idToken === undefined ? {} : readIdToken(idToken);
    expect([status, idToken !== undefined, { email, groups }]).toEqual([
      200,
      told !== undefined,
      { ...told },
    ]);
  });

  it.each([
    ["at once, and no look at storage is added", () => ({}), 0],
    ["later, and storage is asked once more", () => Promise.resolve({}), 1],
  ])("may answer %s", async (_, claims, more) => {
    const looksOf = async (scope: string): Promise<number> => {
      const host = provider({ openid: { claims } });
      const code = await obtainCode(host, { client: "web", fields: { scope } });
      const find = jest.spyOn(host.storage.authorizations, "find");
      await redeem(host, { client: "web", code });
      return find.mock.calls.length;
    };
    expect((await looksOf("openid")) - (await looksOf("email"))).toBe(more);
  });

  it("is not asked where no ID token is due", async () => {
    const host = provider({
      openid: {
        claims: () => {
          throw new Error("not asked for");
        },
      },
    });
    await expect(obtainTokens(host, { client: "web", fields: { scope: "email" } })).resolves.toBeDefined();
  });

  it("serves a subject in ASCII only (Core §2)", async () => {
    const host = provider();
    host.session = { kind: "authenticated", subject: "zoë" };
    const code = await obtainCode(host, { client: "web", fields: { scope: "openid" } });
    expect((await redeem(host, { client: "web", code })).status).toBe(500);
    expect(failureOf(host)).toMatchObject({
      code: "subject-not-ascii",
      message:
        "The subject of an end user is no ASCII text of at most 255 characters, which OpenID Connect requires. Return another id from authenticate.",
    });
  });
});
