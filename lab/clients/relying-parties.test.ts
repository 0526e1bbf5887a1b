/**
 * Relying parties, each a program in a process of its own that knows the issuer and its credentials. They sign Alice in against a host at an
 * https URL. OpenID Connect Core §3.1; Discovery §4.
 */
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { WebBrowser } from "../../__tests__/servers/example";
import { describeWith, freePort } from "../../__tests__/servers/server-process";
import { chromium, closeAll, closeChromium } from "./chromium";
import { callInPage, comeBackToPage, openBrowserClient } from "./library-page";
import { callback, goThrough, type LibraryHost, startLibraryHost } from "./library-host";
import { type LibraryProgram, pythonWith, startLibraryProgram, versionOf } from "./library-process";

interface Party {
  readonly name: string;
  readonly file: string;
  /** Python modules; without them it is a package of npm. */
  readonly modules?: readonly string[];
  readonly package?: string;
  /** It has to be given the endpoints. */
  readonly hasNoDiscovery?: true;
}

const libraries: readonly Party[] = [
  { name: "openid-client", file: "openid-client.mjs" },
  { name: "openid-client 5", file: "openid-client-5.cjs", package: "openid-client-5" },
  { name: "oauth4webapi", file: "oauth4webapi.mjs" },
  { name: "Authlib (Python)", file: "authlib_oidc.py", modules: ["authlib", "requests"] },
];

/** An app of its own in which people sign in. */
interface App extends Party {
  readonly signInPath: string;
  readonly callbackPath: string;
}

const apps: readonly App[] = [
  {
    name: "@auth/express (Auth.js)",
    file: "auth-js.mjs",
    package: "@auth/express",
    signInPath: "/auth/signin",
    callbackPath: "/auth/callback/partner",
  },
  {
    name: "express-openid-connect",
    file: "express-openid-connect.cjs",
    signInPath: "/login",
    callbackPath: "/callback",
  },
  {
    name: "passport-openidconnect",
    file: "passport-openidconnect.cjs",
    signInPath: "/sign-in",
    callbackPath: "/callback",
    hasNoDiscovery: true,
  },
];

const alice = { name: "Alice Adams", email: "alice@example.org", email_verified: true };
const person = { sub: "alice", ...alice };
const repository = path.resolve(__dirname, "../..");
const page = path.join(repository, "docs/openid-connect.md");
const seen = new Map<string, string>();
let host: LibraryHost;
let origin: string;

beforeAll(async () => {
  origin = `http://localhost:${await freePort()}`;
  const redirectUris = apps.map(({ callbackPath }) => origin + callbackPath);
  host = await startLibraryHost(redirectUris, { claims: () => alice });
});
afterAll(() => host.close());
beforeEach(() => {
  host.requests.length = 0;
});

function start({ file }: Party): Promise<LibraryProgram> {
  const program = path.join(__dirname, "relying-parties", file);
  return startLibraryProgram({ file: program, env: { ...host.env, ORIGIN: origin } });
}

/** Which of the addresses of OpenID Connect were asked. */
const asked = (part: string): boolean =>
  host.requests.some((request) => request.includes(part) && request.endsWith(" 200"));

function note({ name, modules, package: of = name, hasNoDiscovery }: Party, refreshes: string): void {
  const version = modules ? "Debian" : versionOf(of);
  const discovery = asked("/openid-configuration") ? "yes" : "no";
  expect(discovery).toBe(hasNoDiscovery ? "no" : "yes");
  seen.set(
    name,
    `| ${name} | ${version} | ${discovery} | ${asked("/userinfo") ? "yes" : "no"} | ${refreshes} |`,
  );
}

/** A user of oidc-client-ts. */
interface Profiled {
  readonly profile: object;
  readonly id_token: string;
}

interface SignedIn {
  readonly tokens: object;
  readonly claims: object;
}

async function signIn(program: LibraryProgram, bend: (session: object) => object = (same) => same) {
  const { url, session } = (await program.call("start")) as { url: string; session: object };
  const { url: currentUrl } = await goThrough(host.browser(), url);
  expect(currentUrl.href).toMatch(`${callback}?`);
  return (await program.call("finish", currentUrl.href, bend(session))) as SignedIn;
}

/** A session of another sign-in, by its nonce. */
const bent = (session: object) =>
  Object.fromEntries(
    Object.entries(session).map(([name, value]) => [name, /nonce/i.test(name) ? "another" : String(value)]),
  );

for (const library of libraries) {
  const available = library.modules ? pythonWith(library.modules) : { name: library.name, found: true };
  describeWith(available, {
    name: library.name,
    tests() {
      let program: LibraryProgram;
      beforeEach(async () => {
        program = await start(library);
      });
      afterEach(() => program.stop());

      it("signs Alice in, asks userinfo and refreshes, by the issuer alone", async () => {
        const { tokens, claims } = await signIn(program);
        expect(claims).toMatchObject({ ...person, iss: host.issuer, aud: "web" });
        expect(await program.call("userinfo", tokens, "alice")).toEqual(person);
        const refreshed = (await program.call("refresh", tokens)) as SignedIn;
        expect(refreshed.claims).toMatchObject({ ...person, iss: host.issuer, aud: "web" });
        note(library, "yes");
      });

      it("refuses the ID token of another sign-in, by its nonce (Core §3.1.3.7)", async () => {
        await expect(signIn(program, bent)).rejects.toThrow(/nonce|claim value/i);
      });
    },
  });
}

/** Whom the app takes the person for. */
async function personIn(browser: WebBrowser): Promise<unknown> {
  return JSON.parse((await browser.open(`${origin}/`)).text);
}

describe.each(apps)("$name", (app) => {
  let program: LibraryProgram;
  beforeEach(async () => {
    program = await start(app);
  });
  afterEach(() => program.stop());

  it("signs Alice in", async () => {
    const browser = host.browser();
    expect(await personIn(browser)).toEqual({});
    await goThrough(browser, `${origin}${app.signInPath}`, "none");
    expect(await personIn(browser)).toEqual({ name: alice.name, email: alice.email });
    note(app, "");
  });
});

describeWith(chromium, {
  name: "oidc-client-ts in Chromium",
  tests() {
    afterEach(closeAll);
    afterAll(closeChromium);
    const file = path.join(__dirname, "relying-parties/oidc-client-ts.mjs");
    const open = () => openBrowserClient(file, { claims: () => alice, idTokenAlgorithm: "ES256" });

    it("signs Alice in, gets another ID token in an iframe, and signs her out (RP-Initiated Logout §2)", async () => {
      const opened = await open();
      const { host: webHost, page: tab } = opened;
      const { href } = await comeBackToPage(opened);
      const user = (await callInPage(tab, `finish(${JSON.stringify(href)})`)) as unknown as Profiled;
      expect(user.profile).toMatchObject(person);
      const renewed = (await callInPage(tab, "renew()")) as unknown as Profiled;
      expect(renewed.profile).toMatchObject(person);
      expect(renewed.id_token).not.toBe(user.id_token);
      await tab.evaluate("void app.signOut()");
      await tab.getByRole("button", { name: "Sign out" }).click();
      await tab.waitForURL(`${webHost.site.localhost}/app**`);
      expect(webHost.events.at(-1)).toMatchObject({ kind: "signed-out", clientId: "spa", subject: "alice" });
      await tab.goto(webHost.authorizeUrl({ scope: "openid" }));
      expect(new URL(tab.url()).pathname).toBe("/signin");
      const version = versionOf("oidc-client-ts");
      seen.set("oidc-client-ts", `| oidc-client-ts | ${version} | yes | yes | no |`);
    });
  },
});

describe("docs/openid-connect.md", () => {
  it("has the table of this run: AUTHMOUNT_WRITE=1 npx jest clients/relying-parties writes it", () => {
    const text = readFileSync(page, "utf8");
    const [before = "", rest = ""] = text.split("<!-- relying parties -->\n");
    const [shown = "", after = ""] = rest.split("<!-- /relying parties -->");
    const head = [
      "| Library | Version | Finds all by the issuer | Asks userinfo | Refreshes |",
      "|---|---|---|---|---|",
    ];
    const names = [...[...libraries, ...apps].map(({ name }) => name), "oidc-client-ts"];
    const rows = names.flatMap((name) => seen.get(name) ?? []);
    const table = `${[...head, ...rows].join("\n")}\n`;
    if (process.env["AUTHMOUNT_WRITE"])
      writeFileSync(page, `${before}<!-- relying parties -->\n${table}<!-- /relying parties -->${after}`);
    else expect(shown.split("\n")).toEqual(expect.arrayContaining(rows));
    expect(seen.size).toBeGreaterThanOrEqual(libraries.length + apps.length - 1);
  });
});
