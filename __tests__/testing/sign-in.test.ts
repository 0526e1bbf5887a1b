/** The fake authentication method drives real authorize requests. OpenID Connect Core §3.1.2.1; RFC 6749 §4.1. */
import request, { type Response } from "supertest";
import { type TestSignIn, testClock, testSignIn } from "../../lib/testing";
import { codeVerifier } from "../browser/authorization-request";
import { authorize, redirectParameters } from "../browser/authorize";
import type { Fields } from "../browser/browser";
import type { AuthServerOptions } from "../../lib";
import { apis } from "../hosts/apis";
import { clients, credentials } from "../hosts/clients";
import { expectOwnDate } from "../hosts/clock";
import { testHost, type TestHost, type TestHostOptions } from "../hosts/host";

expectOwnDate();

interface Bed {
  readonly host: TestHost;
  readonly fake: TestSignIn;
}

function bedOf(url?: string, options: TestHostOptions = {}): Bed {
  const fake = testSignIn(url === undefined ? {} : { url });
  const authMethods = { password: fake.authMethod, otp: fake.authMethod, sso: fake.authMethod };
  const host = testHost({ authMethods, clients: [{ ...clients.web, trusted: true }], ...options });
  return { host, fake };
}

function ask({ host }: Bed, fields: Fields = {}): Promise<Response> {
  return authorize(host.browser(), { client: "web", fields });
}

/** The token of the code that an answer has led to, as the route sees it. */
async function tokenOf({ host }: Bed, answer: Response): Promise<unknown> {
  const { code = "" } = redirectParameters(answer);
  const form = {
    ...credentials("web"),
    grant_type: "authorization_code",
    code,
    code_verifier: codeVerifier,
  };
  const tokens = await request(host.app)
    .post("/login/auth/password/api/orders/token")
    .type("form")
    .send(form);
  const { access_token: token } = tokens.body as { access_token: string };
  return (await request(host.app).get("/orders").auth(token, { type: "bearer" })).body;
}

describe("testSignIn", () => {
  it("leads to the sign-in page while nobody is signed in, and after signing out", async () => {
    const bed = bedOf();
    const toPage = expect.stringMatching(/^\/sign-in\?interaction=/) as unknown;
    expect((await ask(bed)).headers["location"]).toEqual(toPage);
    bed.fake.signIn("alice");
    expect((await ask(bed)).headers["location"]).toContain("https://web.example/callback?code=");
    bed.fake.signOut();
    expect((await ask(bed)).headers["location"]).toEqual(toPage);
    expect((await ask(bedOf("https://id.example/in"))).headers["location"]).toContain(
      "https://id.example/in?interaction=",
    );
  });

  it("says who is signed in, since when and how (RFC 9068 §2.2.1)", async () => {
    const bed = bedOf();
    bed.fake.signIn({ subject: "Zoë", authTime: 1_700_000_000, acr: "gold", amr: ["pwd", "otp"] });
    expect(await tokenOf(bed, await ask(bed))).toMatchObject({
      subject: "Zoë",
      authTime: 1_700_000_000,
      acr: "gold",
      amr: ["pwd", "otp"],
    });
    bed.fake.signIn("bob");
    expect(await tokenOf(bed, await ask(bed))).toMatchObject({ subject: "bob" });
  });

  it("signs in again in the way that the client wants (RFC 9470 §4)", async () => {
    const { orders } = apis;
    const bed = bedOf(undefined, {
      apis: {
        ...apis,
        orders: { ...orders, acrValues: ["pwd", "otp"] } as AuthServerOptions["apis"][string],
      },
    });
    bed.fake.signIn({ subject: "alice", acr: "pwd", authTime: 1_700_000_000 });
    expect(await tokenOf(bed, await ask(bed, { acr_values: "pwd" }))).toMatchObject({ acr: "pwd" });
    expect(await tokenOf(bed, await ask(bed, { acr_values: "otp pwd" }))).toMatchObject({ acr: "pwd" });
    const stronger = await tokenOf(bed, await ask(bed, { acr_values: "otp" }));
    expect(stronger).toMatchObject({ subject: "alice", acr: "otp" });
    expect((stronger as { authTime: number }).authTime).toBeGreaterThan(1_700_000_000);
    // a sign-in again for its age keeps what is good enough
    const again = await tokenOf(
      bed,
      await ask(bed, { acr_values: "pwd otp", max_age: "0", prompt: "login" }),
    );
    expect(again).toMatchObject({ acr: "otp" });
  });

  it("says from where, which no token tells", async () => {
    const bed = bedOf();
    bed.fake.signIn({ subject: "alice", signedInFrom: "Chrome on Windows, Berlin" });
    expect(await tokenOf(bed, await ask(bed))).not.toHaveProperty("signedInFrom");
    const { authorizations } = await bed.host.auth.authorizations.list("alice");
    expect(authorizations).toEqual([expect.objectContaining({ signedInFrom: "Chrome on Windows, Berlin" })]);
  });

  it("signs in again for prompt=login and max_age, and so renews the time", async () => {
    const bed = bedOf();
    const clock = testClock();
    bed.fake.signIn({ subject: "alice", authTime: 1_700_000_000 });
    const signedIn = clock.now();
    expect(await tokenOf(bed, await ask(bed, { max_age: "60" }))).toMatchObject({ subject: "alice" });
    clock.advance(100);
    const { authTime } = (await tokenOf(bed, await ask(bed, { prompt: "login" }))) as { authTime: number };
    expect(authTime).toBeGreaterThanOrEqual(signedIn + 100);
    clock.restore();
  });

  it("leads to the page where an account has to be chosen", async () => {
    const bed = bedOf();
    bed.fake.signIn("alice");
    const { headers } = await ask(bed, { prompt: "select_account" });
    expect(headers["location"]).toContain("/sign-in?interaction=");
  });

  it("answers prompt=none for whoever is signed in (OpenID Connect Core §3.1.2.6)", async () => {
    const bed = bedOf();
    expect(redirectParameters(await ask(bed, { prompt: "none" }))).toMatchObject({ error: "login_required" });
    bed.fake.signIn("alice");
    expect(redirectParameters(await ask(bed, { prompt: "none" }))).toHaveProperty("code");
  });

  it("keeps people of two of them apart", async () => {
    const [one, other] = [bedOf(), bedOf()];
    one.fake.signIn("alice");
    expect(redirectParameters(await ask(one))).toHaveProperty("code");
    expect((await ask(other)).headers["location"]).toContain("/sign-in?");
  });

  it("works in parts, without this", () => {
    const { authMethod, signIn, signOut } = testSignIn();
    const authenticate: (request: never) => unknown = Reflect.get(authMethod, "authenticate");
    signIn("alice");
    expect(authenticate({ prompt: [] } as never)).toMatchObject({ subject: "alice" });
    signOut();
    expect(authenticate({ prompt: [] } as never)).toEqual({ kind: "interaction", url: "/sign-in" });
  });

  it.each<[unknown, string]>([
    ["", "wrong-person"],
    [undefined, "not-plain"],
    [{ subject: undefined }, "undefined-key"],
    [{ subject: "alice", sub: "alice" }, "unknown-key"],
    [{ subject: "alice", authTime: Date.now() }, "wrong-person"],
    [{ subject: "alice", context: "acme" }, "wrong-person"],
    [{ subject: "alice", signedInFrom: "Chrome\n" }, "wrong-person"],
  ])("refuses to sign in %j", (person, code) => {
    const { signIn } = testSignIn();
    expect(() => signIn(person as string)).toThrow(expect.objectContaining({ code }) as Error);
  });

  it("refuses an option that it does not know", () => {
    expect(() => testSignIn({ page: "/in" } as object)).toThrow(
      expect.objectContaining({ code: "unknown-key" }) as Error,
    );
  });
});
