/**
 * Relying parties, each a program in a process of its own that knows the issuer and its credentials. They sign Alice in against a host at an
 * https URL, with every check of the library on, and refuse ID tokens that are not for them. OpenID Connect Core §3.1; Discovery §4.
 */
import path from "node:path";
import type { WebBrowser } from "../../__tests__/servers/example";
import { describeWith, freePort } from "../../__tests__/servers/server-process";
import { apache, startApache } from "./apache";
import { type Bend, bends } from "./bent-id-tokens";
import { chromium, closeAll, closeChromium } from "./chromium";
import { callInPage, comeBackToPage, openBrowserClient } from "./library-page";
import { callback, goThrough, type LibraryHost, startLibraryHost } from "./library-host";
import { type LibraryProgram, pythonWith, startLibraryProgram, versionOf } from "./library-process";
import { expectPage, expectShownPrograms, newTable, type SeenLibrary } from "./library-tables";

interface Party {
  readonly name: string;
  readonly file: string;
  /** Python modules; without them it is a package of npm. */
  readonly modules?: readonly string[];
  readonly package?: string;
  /** What it does not compare in an ID token. */
  readonly skips?: readonly Bend[];
  readonly notes?: readonly string[];
}

const libraries: readonly Party[] = [
  {
    name: "openid-client",
    file: "openid-client.mjs",
    notes: ["signature by `enableNonRepudiationChecks`"],
  },
  { name: "openid-client 5", file: "openid-client-5.cjs", package: "openid-client-5" },
  {
    name: "oauth4webapi",
    file: "oauth4webapi.mjs",
    notes: ["signature by `validateApplicationLevelSignature`"],
  },
  { name: "Authlib (Python)", file: "authlib_oidc.py", modules: ["authlib", "requests"] },
];

/** An app of its own in which people sign in. */
interface App extends Party {
  /** Where it has to be on the machine. */
  readonly server?: { readonly name: string; readonly found: boolean };
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
    skips: ["signature"],
    notes: ["userinfo if told to"],
  },
  {
    name: "express-openid-connect",
    file: "express-openid-connect.cjs",
    signInPath: "/login",
    callbackPath: "/callback",
    skips: ["signature"],
    notes: ['needs `response_type: "code"`'],
  },
  {
    name: "passport-openidconnect",
    file: "passport-openidconnect.cjs",
    signInPath: "/sign-in",
    callbackPath: "/callback",
    skips: ["signature"],
    notes: ["needs the endpoints; userinfo by `skipUserProfile: false`"],
  },
  {
    name: "Authlib with Flask (Python)",
    file: "authlib_flask.py",
    modules: ["authlib", "flask", "requests"],
    signInPath: "/sign-in",
    callbackPath: "/callback",
    notes: ["`server_metadata_url`"],
  },
  {
    name: "mod_auth_openidc (Apache)",
    file: "mod-auth-openidc.conf",
    server: apache,
    signInPath: "/sign-in",
    callbackPath: "/callback",
  },
];

const alice = { name: "Alice Adams", email: "alice@example.org", email_verified: true };
const person = { sub: "alice", ...alice };
const table = newTable();
let host: LibraryHost;
let origin: string;

beforeAll(async () => {
  origin = `http://localhost:${await freePort()}`;
  const redirectUris = apps.map(({ callbackPath }) => origin + callbackPath);
  host = await startLibraryHost(redirectUris, { claims: () => alice });
});
afterAll(() => host.close());

const fileOf = ({ file }: Party): string => path.join(__dirname, "relying-parties", file);

function start(party: Party): Promise<LibraryProgram> {
  host.requests.length = 0;
  return startLibraryProgram({ file: fileOf(party), env: { ...host.env, ORIGIN: origin } });
}

function startApp(app: App): Promise<{ stop(): Promise<void> }> {
  if (app.server !== apache) return start(app);
  host.requests.length = 0;
  return startApache(fileOf(app), { ...host.env, ORIGIN: origin });
}

function newRow({ name, package: of = name, notes = [] }: Party, isOfDebian = false): SeenLibrary["cells"] {
  return table.row({ library: name, version: isOfDebian ? "Debian" : versionOf(of), notes });
}

/** Whether an address of OpenID Connect was asked. */
const asked = (part: string): "yes" | "no" =>
  host.requests.some((request) => request.includes(part) && request.endsWith(" 200")) ? "yes" : "no";

function noteAuthorization(url: URL, cells: SeenLibrary["cells"]): void {
  cells["pkce"] = url.searchParams.get("code_challenge_method") ?? "no";
  cells["discovery"] = asked("/openid-configuration");
}

interface Refusing {
  readonly skips?: readonly Bend[];
  readonly cells: SeenLibrary["cells"];
  readonly bending?: { bend: Bend | undefined };
}

/** Tries each bent ID token. `isRefused` signs in and says whether that was refused. */
async function refuses(
  { skips = [], cells, bending = host }: Refusing,
  isRefused: () => Promise<boolean>,
): Promise<void> {
  for (const bend of bends) {
    bending.bend = bend;
    cells[bend] = (await isRefused().finally(() => (bending.bend = undefined))) ? "yes" : "no";
  }
  const expected = bends.map((bend) => [bend, skips.includes(bend) ? "no" : "yes"]);
  expect(cells).toMatchObject(Object.fromEntries(expected));
}

interface SignedIn {
  readonly tokens: { readonly id_token: string };
  readonly claims: object;
}

async function begin(program: LibraryProgram) {
  return (await program.call("start")) as { url: string; session: object };
}

async function signIn(program: LibraryProgram): Promise<SignedIn> {
  const { url, session } = await begin(program);
  const { url: currentUrl } = await goThrough(host.browser(), url);
  expect(currentUrl.href).toMatch(`${callback}?`);
  return (await program.call("finish", currentUrl.href, session)) as SignedIn;
}

for (const library of libraries) {
  const available = library.modules ? pythonWith(library.modules) : { name: library.name, found: true };
  describeWith(available, {
    name: library.name,
    tests() {
      let program: LibraryProgram;
      const cells = newRow(library, library.modules !== undefined);
      beforeAll(async () => {
        program = await start(library);
      });
      afterAll(() => program.stop());

      it("finds the server by its issuer (Discovery §4)", async () => {
        noteAuthorization(new URL((await begin(program)).url), cells);
        expect(cells).toMatchObject({ discovery: "yes", pkce: "S256" });
      });

      it("signs Alice in (Core §3.1)", async () => {
        const { claims } = await signIn(program);
        expect(claims).toMatchObject({ ...person, iss: host.issuer, aud: "web" });
      });

      it("asks userinfo (Core §5.3)", async () => {
        const { tokens } = await signIn(program);
        expect(await program.call("userinfo", tokens, "alice")).toEqual(person);
        cells["userinfo"] = "yes";
      });

      it("gets another ID token by a refresh (Core §12.2)", async () => {
        const { tokens } = await signIn(program);
        const refreshed = (await program.call("refresh", tokens)) as SignedIn;
        expect(refreshed.claims).toMatchObject({ ...person, iss: host.issuer, aud: "web" });
        expect(refreshed.tokens.id_token).not.toBe(tokens.id_token);
        cells["refresh"] = "yes";
      });

      it("refuses ID tokens that are not for it, as far as it looks (Core §3.1.3.7)", () =>
        refuses({ ...library, cells }, () =>
          signIn(program).then(
            () => false,
            () => true,
          ),
        ));
    },
  });
}

/** What the app answers. */
async function read(browser: WebBrowser, at: string): Promise<unknown> {
  return JSON.parse((await browser.open(origin + at)).text);
}

/** Signs in, and gives whom the app takes the person for. */
async function personIn(app: App, browser = host.browser()): Promise<unknown> {
  await goThrough(browser, `${origin}${app.signInPath}`, "none");
  return read(browser, "/");
}

/** What its info hook says. */
interface SaidByApache {
  readonly access_token: string;
  readonly id_token: object;
  readonly userinfo: object;
}

function testApp(app: App): void {
  let program: { stop(): Promise<void> };
  const cells = newRow(app, app.server === apache || app.modules !== undefined);
  beforeAll(async () => {
    program = await startApp(app);
  });
  afterAll(() => program.stop());

  it("finds the server by its issuer, if it looks (Discovery §4)", async () => {
    const signInPage = `${origin}${app.signInPath}`;
    const { url } = await goThrough(host.browser(), signInPage, `${host.issuer}/authorize?`);
    noteAuthorization(url, cells);
    expect(cells["discovery"]).toBe(app.name === "passport-openidconnect" ? "no" : "yes");
  });

  it("signs Alice in, whose address is verified (Core §3.1)", async () => {
    const browser = host.browser();
    expect(await read(browser, "/")).toEqual({});
    expect(await personIn(app, browser)).toEqual({ name: alice.name, email: alice.email });
    cells["userinfo"] = asked("/userinfo");
    cells["refresh"] = "no";
  });

  it("refuses ID tokens that are not for it, as far as it looks (Core §3.1.3.7)", () =>
    refuses({ ...app, cells }, async () => {
      const found = await personIn(app);
      expect([{}, { name: alice.name, email: alice.email }]).toContainEqual(found);
      return Object.keys(found as object).length === 0;
    }));

  if (app.name === "express-openid-connect")
    it("asks userinfo, and gets another ID token by a refresh (Core §5.3, §12.2)", async () => {
      const browser = host.browser();
      await personIn(app, browser);
      expect(await read(browser, "/userinfo")).toEqual(person);
      expect(await read(browser, "/refresh")).toMatchObject({ ...person, iss: host.issuer, isNew: true });
      Object.assign(cells, { userinfo: "yes", refresh: "yes" });
    });

  if (app.server === apache)
    it("gets other tokens by a refresh (Core §12)", async () => {
      const browser = host.browser();
      await personIn(app, browser);
      const info = (more = "") => read(browser, `/callback?info=json${more}`) as Promise<SaidByApache>;
      const before = await info();
      expect(before).toMatchObject({ id_token: { ...person, iss: host.issuer }, userinfo: person });
      const after = await info("&access_token_refresh_interval=0");
      expect(after.access_token).not.toBe(before.access_token);
      cells["refresh"] = "yes";
    });
}

for (const app of apps)
  describeWith(app.server ?? (app.modules ? pythonWith(app.modules) : { name: app.name, found: true }), {
    name: app.name,
    tests: () => testApp(app),
  });

/** A user of oidc-client-ts. */
interface Profiled {
  readonly profile: object;
  readonly id_token: string;
}

describeWith(chromium, {
  name: "oidc-client-ts in Chromium",
  tests() {
    afterEach(closeAll);
    afterAll(closeChromium);
    const file = path.join(__dirname, "relying-parties/oidc-client-ts.mjs");
    const cells = newRow({
      name: "oidc-client-ts",
      file,
      notes: ["give `signinRedirect` a nonce"],
    });
    const open = () => openBrowserClient(file, { claims: () => alice });

    async function signInAt(opened: Awaited<ReturnType<typeof open>>): Promise<Profiled> {
      const { href } = await comeBackToPage(opened);
      return (await callInPage(opened.page, `finish(${JSON.stringify(href)})`)) as unknown as Profiled;
    }

    it("signs Alice in, gets another ID token in an iframe, and signs her out (RP-Initiated Logout §2)", async () => {
      const opened = await open();
      const { host: webHost, page: tab } = opened;
      const user = await signInAt(opened);
      expect(user.profile).toMatchObject(person);
      const renewed = (await callInPage(tab, "renew()")) as unknown as Profiled;
      expect(renewed.profile).toMatchObject(person);
      expect(renewed.id_token).not.toBe(user.id_token);
      const { requests } = webHost;
      const found = (part: string) => requests.findLast((request) => request.includes(part)) ?? "";
      expect(found("/openid-configuration")).not.toBe("");
      expect(found("/userinfo")).toMatch(/^GET /);
      expect(found("/authorize?")).toContain("S256");
      Object.assign(cells, { discovery: "yes", pkce: "S256", userinfo: "yes", refresh: "in an iframe" });
      await tab.evaluate("void app.signOut()");
      await tab.getByRole("button", { name: "Sign out" }).click();
      await tab.waitForURL(`${webHost.site.localhost}/app**`);
      expect(webHost.events.at(-1)).toMatchObject({ kind: "signed-out", clientId: "spa", subject: "alice" });
      await tab.goto(webHost.authorizeUrl({ scope: "openid" }));
      expect(new URL(tab.url()).pathname).toBe("/signin");
    });

    it("refuses the ID token of another sign-in, and looks at nothing else (Core §3.1.3.7)", async () => {
      const opened = await open();
      const skips = ["issuer", "audience", "time", "signature"] as const;
      await refuses({ skips, cells, bending: opened.bending }, async () => {
        await opened.page.goto(`${opened.host.site.localhost}/app`);
        return signInAt(opened).then(
          () => false,
          () => true,
        );
      });
    });
  },
});

describe("docs/openid-connect.md", () => {
  it("has the table of this run: node lab/clients/make-clients-table.js makes it again", () => {
    expectPage("relying parties", { seen: table.seen, all: libraries.length + apps.length + 1 });
  });

  it("shows the programs as they are", () => {
    expectShownPrograms("relying parties");
  });
});
