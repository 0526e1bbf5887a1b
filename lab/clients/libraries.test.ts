/** Programs of client libraries, as docs/clients.md prints or names them, each in a process of its own against a host at an https URL. */
import path from "node:path";
import { chromium, closeAll, closeChromium } from "./chromium";
import type { Page, WebBrowser } from "../../__tests__/servers/example";
import { callback, goThrough, type LibraryHost, startLibraryHost } from "./library-host";
import {
  changedProgram,
  type LibraryProgram,
  pythonWith,
  removeChangedPrograms,
  startLibraryProgram,
  versionOf,
} from "./library-process";
import { callInPage, comeBackToPage, openBrowserClient, statusOfCall } from "./library-page";
import { expectPage, expectPrograms, newTable } from "./library-tables";
import { describeWith, freePort } from "../../__tests__/servers/server-process";

type Capability = "discovery" | "refresh" | "machine" | "revoke" | "introspect";

interface Library {
  readonly name: string;
  readonly file: string;
  /** Python modules; without them it is a package of npm. */
  readonly modules?: readonly string[];
  /** Where its functions are: packages, or a class of Python. */
  readonly of: string;
  /** What it has no function for. */
  readonly lacks: readonly Capability[];
  /** How the program compares `iss` where the library does not, and the same without it. */
  readonly withoutIss?: readonly [string, string];
  readonly notes?: readonly string[];
}

/** What a function for it would be called. */
const names: Readonly<Record<Capability, RegExp>> = {
  discovery: /discover|server_?metadata|well_?known(?!File)/i,
  refresh: /refresh/i,
  machine: /client_?credentials/i,
  revoke: /revo(?:ke|cation)/i,
  introspect: /introspect/i,
};

const libraries: readonly Library[] = [
  { name: "openid-client", file: "openid-client.mjs", of: "openid-client", lacks: [] },
  { name: "oauth4webapi", file: "oauth4webapi.mjs", of: "oauth4webapi", lacks: [] },
  {
    name: "@badgateway/oauth2-client",
    file: "badgateway-oauth2-client.mjs",
    of: "@badgateway/oauth2-client",
    lacks: [],
    withoutIss: ['new URL(currentUrl).searchParams.get("iss") !== ISSUER', "false"],
  },
  {
    name: "simple-oauth2",
    file: "simple-oauth2.cjs",
    of: "simple-oauth2",
    lacks: ["discovery", "introspect"],
    withoutIss: [' || query.get("iss") !== ISSUER', ""],
  },
  {
    name: "arctic",
    file: "arctic.mjs",
    of: "arctic",
    lacks: ["discovery", "machine", "introspect"],
    withoutIss: [' || query.get("iss") !== ISSUER', ""],
  },
  {
    name: "google-auth-library",
    file: "google-auth-library.mjs",
    of: "google-auth-library",
    lacks: ["discovery", "machine", "introspect"],
    withoutIss: [' || query.get("iss") !== ISSUER', ""],
    notes: ["`revokeToken` sends the token in the URL, without the client's credentials"],
  },
  {
    name: "requests-oauthlib (Python)",
    file: "requests_oauthlib.py",
    modules: ["requests_oauthlib"],
    of: "requests_oauthlib.OAuth2Session",
    lacks: ["discovery", "introspect"],
    withoutIss: ['parse_qs(urlsplit(current_url).query).get("iss") != [ISSUER]', "False"],
  },
  {
    name: "Authlib (Python)",
    file: "authlib_requests.py",
    modules: ["authlib", "requests"],
    of: "authlib.integrations.requests_client.OAuth2Session",
    lacks: ["discovery"],
    withoutIss: ['parse_qs(urlsplit(current_url).query).get("iss") != [ISSUER]', "False"],
  },
];

/** An app of its own in which people sign in. */
interface App extends Omit<Library, "modules"> {
  readonly signInPath: string;
  readonly callbackPath: string;
}

const apps: readonly App[] = [
  {
    name: "passport-oauth2",
    file: "passport-oauth2.cjs",
    of: "passport-oauth2",
    signInPath: "/sign-in",
    callbackPath: "/callback",
    lacks: ["discovery", "refresh", "machine", "revoke", "introspect"],
    withoutIss: ["req.query.iss === ISSUER", "true"],
  },
  {
    name: "@auth/express (Auth.js)",
    file: "auth-js.mjs",
    of: "@auth/express",
    signInPath: "/auth/signin",
    callbackPath: "/auth/callback/orders",
    lacks: ["discovery", "refresh", "machine", "revoke", "introspect"],
    notes: ["it asks for `openid-configuration` only"],
  },
];

const folder = path.join(__dirname, "libraries");
const table = newTable();
let host: LibraryHost;
let origin: string;

beforeAll(async () => {
  origin = `http://localhost:${await freePort()}`;
  host = await startLibraryHost([`${origin}/callback`, `${origin}/auth/callback/orders`]);
});
afterAll(() => host.close());
afterAll(removeChangedPrograms);

async function start(
  library: Omit<Library, "modules">,
  file = path.join(folder, library.file),
): Promise<LibraryProgram> {
  host.requests.length = 0;
  return startLibraryProgram({ file, env: { ...host.env, ORIGIN: origin } });
}

/** A program that runs for one test. */
async function withProgram<Given>(
  { library, file }: { library: Omit<Library, "modules">; file?: string },
  use: (program: LibraryProgram) => Promise<Given>,
): Promise<Given> {
  const program = await start(library, file);
  try {
    return await use(program);
  } finally {
    await program.stop();
  }
}

interface Started {
  readonly url: string;
  readonly session: unknown;
}

/** Alice comes back to the client with an answer. */
async function comeBack(program: LibraryProgram): Promise<{ currentUrl: URL; session: unknown }> {
  const { url, session } = (await program.call("start")) as Started;
  expect(new URL(url).searchParams.get("code_challenge_method")).toBe("S256");
  const { url: currentUrl } = await goThrough(host.browser(), url);
  expect(currentUrl.href).toMatch(`${callback}?`);
  return { currentUrl, session };
}

async function signIn(program: LibraryProgram): Promise<unknown> {
  const { currentUrl, session } = await comeBack(program);
  return program.call("finish", currentUrl.href, session);
}

/** The access token in what a function of a library has given. */
function accessToken(tokens: unknown): string {
  const { access_token, accessToken: camel } = tokens as { access_token?: string; accessToken?: string };
  return access_token ?? camel ?? "";
}

const isDiscovery = (request: string): boolean => /^GET \S*\/\.well-known\/\S* 200$/.test(request);

/** What a program does with its tokens. */
function useTokens(library: Library, program: () => LibraryProgram, cells: Record<string, string>): void {
  const { lacks } = library;

  it("takes the code grant with PKCE to the API (RFC 6749 §4.1, 7636 §4)", async () => {
    expect(await host.call(accessToken(await signIn(program())))).toBe(200);
    cells["code"] = "yes";
  });

  it("refreshes (RFC 6749 §6)", async () => {
    const tokens = await signIn(program());
    const refreshed = await program().call("refresh", tokens);
    expect(accessToken(refreshed)).not.toBe(accessToken(tokens));
    expect(await host.call(accessToken(refreshed))).toBe(200);
    cells["refresh"] = "yes";
  });

  if (!lacks.includes("machine"))
    it("gets a token for itself (RFC 6749 §4.4)", async () => {
      expect(await host.call(accessToken(await program().call("machine")))).toBe(200);
      cells["machine"] = "yes";
    });

  if (!lacks.includes("introspect"))
    it("introspects (RFC 7662 §2)", async () => {
      const tokens = await signIn(program());
      expect(await program().call("introspect", tokens)).toMatchObject({ active: true });
      cells["introspect"] = "yes";
    });

  if (library.name !== "google-auth-library")
    it("revokes (RFC 7009 §2)", async () => {
      const tokens = await signIn(program());
      await program().call("revoke", tokens);
      expect(await host.call(accessToken(tokens))).toBe(401);
      await expect(program().call("refresh", tokens)).rejects.toThrow();
      cells["revoke"] = "yes";
    });
}

/** What the library does not do: it has no function with such a name. */
function lacksFunctions(library: Omit<Library, "modules">, cells: Record<string, string>): void {
  const { lacks } = library;
  if (lacks.length === 0) return;
  it(`has no function for ${lacks.join(", ")}`, async () => {
    const known = await withProgram({ library }, (program) => program.call("namesIn", library.of));
    if (!Array.isArray(known)) throw new Error("no names");
    expect(known.length).toBeGreaterThan(2);
    for (const capability of lacks) {
      expect(known.filter((name: string) => names[capability].test(name))).toEqual([]);
      cells[capability] = "no";
    }
  });
}

function comparesIss(library: Library, cells: Record<string, string>): void {
  const finishElsewhere = (file?: string): Promise<unknown> =>
    withProgram({ library, ...(file !== undefined && { file }) }, async (program) => {
      const { currentUrl, session } = await comeBack(program);
      currentUrl.searchParams.set("iss", host.issuer.replace("password", "otp"));
      return program.call("finish", currentUrl.href, session);
    });

  it("sends no code of an answer with another iss (RFC 9207 §2.4)", async () => {
    await expect(finishElsewhere()).rejects.toThrow();
    expect(host.requests.filter((request) => request.includes("/token"))).toEqual([]);
    cells["iss"] = "yes";
  });

  const { withoutIss } = library;
  if (withoutIss !== undefined)
    it("does so because the program compares it: the library does not", async () => {
      const file = await changedProgram(path.join(folder, library.file), withoutIss);
      expect(accessToken(await finishElsewhere(file))).not.toBe("");
      cells["iss"] = "no";
    });
}

function notesOf({ notes = [] }: Pick<Library, "notes">): readonly string[] {
  return notes.map((note) => `${note}.`);
}

for (const library of libraries) {
  const available = library.modules ? pythonWith(library.modules) : { name: library.name, found: true };
  describeWith(available, {
    name: library.name,
    tests() {
      let program: LibraryProgram;
      const version = library.modules ? "Debian" : versionOf(library.name);
      const cells = table.row({ library: library.name, version, notes: notesOf(library) });
      beforeAll(async () => {
        program = await start(library);
      });
      afterAll(() => program.stop());

      it("is given the metadata where it can be (RFC 8414 §3)", async () => {
        await program.call("start");
        const found = host.requests.some(isDiscovery);
        expect(found).toBe(!library.lacks.includes("discovery"));
        cells["discovery"] = found ? "yes" : "no";
      });

      useTokens(library, () => program, cells);
      lacksFunctions(library, cells);
      comparesIss(library, cells);
    },
  });
}

describe("google-auth-library", () => {
  it("cannot revoke here: its request is that of no client, with the token in the URL (RFC 7009 §2.1)", async () => {
    const library = libraries.find(({ name }) => name === "google-auth-library");
    if (!library) throw new Error("not tested");
    const revoking = await changedProgram(path.join(folder, library.file), [
      "endpoints: {",
      "endpoints: { oauth2RevokeUrl: `${ISSUER}/revoke`,",
    ]);
    const file = await changedProgram(revoking, [
      "export async function start",
      "export const revoke = ({ refresh_token }) => newClient().revokeToken(refresh_token);\nexport async function start",
    ]);
    await withProgram({ library, file }, async (program) => {
      const tokens = await signIn(program);
      await expect(program.call("revoke", tokens)).rejects.toThrow("invalid_request");
    });
    expect(host.requests.at(-1)).toMatch(/^POST \S+\/revoke 400$/);
    const cells = table.seen.find((seen) => seen.library === library.name)?.cells ?? {};
    cells["revoke"] = "no";
  });
});

/** Who the app says is signed in. */
async function personIn(browser: WebBrowser): Promise<unknown> {
  const page = await browser.open(`${origin}/`);
  return (JSON.parse(page.text) as { subject?: unknown }).subject;
}

function openSignIn(app: App, browser: WebBrowser, stopAt?: string): Promise<Page> {
  return goThrough(browser, `${origin}${app.signInPath}`, stopAt ?? "none");
}

/** Signs in with an answer of another issuer, and gives who the app takes the person for. */
function signInElsewhere(app: App, file?: string): Promise<unknown> {
  return withProgram({ library: app, ...(file !== undefined && { file }) }, async () => {
    const browser = host.browser();
    const { url } = await openSignIn(app, browser, origin + app.callbackPath);
    expect(url.searchParams.get("iss")).toBe(host.issuer);
    url.searchParams.set("iss", host.issuer.replace("password", "otp"));
    await browser.open(url);
    return personIn(browser);
  });
}

describe.each(apps)("$name", (app) => {
  const version = versionOf(app.of);
  const cells = table.row({ library: app.name, version, notes: notesOf(app) });

  it("takes the code grant with PKCE to the API (RFC 6749 §4.1, 7636 §4)", () =>
    withProgram({ library: app }, async () => {
      const browser = host.browser();
      expect(await personIn(browser)).toBeUndefined();
      const { url } = await openSignIn(app, browser, `${host.issuer}/authorize?`);
      expect(url.searchParams.get("code_challenge_method")).toBe("S256");
      await goThrough(browser, url.href, "none");
      expect(await personIn(browser)).toBe("alice");
      cells["code"] = "yes";
    }));

  lacksFunctions(app, cells);

  it("accepts no answer with another iss (RFC 9207 §2.4)", async () => {
    expect(await signInElsewhere(app)).toBeUndefined();
    cells["iss"] = "yes";
  });

  it.each([
    ["an error", { status: 503, body: { error: "temporarily_unavailable" } }],
    ["no name", { status: 200, body: {} }],
    ["something else than a name", { status: 200, body: { subject: { name: "alice" } } }],
  ])("nobody is signed in when the API does not say who it is, but %s", (_, said) =>
    withProgram({ library: app }, async () => {
      host.apiSays = said;
      const refused = await openSignIn(app, host.browser());
      host.apiSays = undefined;
      // the app leads only those to its front page who are signed in
      expect(refused.url.pathname).not.toBe("/");
      const signedIn = await openSignIn(app, host.browser());
      expect(signedIn.url.pathname).toBe("/");
    }),
  );

  const { withoutIss } = app;
  if (withoutIss !== undefined)
    it("does so because the program compares it: the library does not", async () => {
      const file = await changedProgram(path.join(folder, app.file), withoutIss);
      expect(await signInElsewhere(app, file)).toBe("alice");
      cells["iss"] = "no";
    });
});

describe("@auth/express (Auth.js)", () => {
  it("asks for openid-configuration where it is given no endpoints", async () => {
    const app = apps.find(({ of }) => of === "@auth/express");
    if (!app) throw new Error("not tested");
    const file = await changedProgram(path.join(folder, app.file), [
      'url: `${ISSUER}/authorize`, params: { scope: "read" } },\n  token: `${ISSUER}/token`,',
      'params: { scope: "read" } },',
    ]);
    await withProgram({ library: app, file }, () => openSignIn(app, host.browser()));
    expect(host.requests).toContainEqual(expect.stringMatching(/\/\.well-known\/openid-configuration 404$/));
    expect(host.requests.some(isDiscovery)).toBe(false);
  });
});

async function finishInPageElsewhere(program?: string): Promise<{ access_token: string }> {
  const opened = await openBrowserClient(program);
  const url = await comeBackToPage(opened);
  url.searchParams.set("iss", "https://attacker.example");
  return callInPage(opened.page, `finish(${JSON.stringify(url.href)})`);
}

describeWith(chromium, {
  name: "oidc-client-ts",
  tests() {
    const cells = table.row({
      library: "oidc-client-ts",
      version: versionOf("oidc-client-ts"),
      notes: ["new access tokens come in an iframe; what else it lacks is for clients with a secret."],
    });
    const file = "oidc-client-ts.mjs";
    afterEach(closeAll);
    afterAll(closeChromium);

    it("takes the code grant with PKCE to the API, by discovery (RFC 8414 §3, 7636 §4)", async () => {
      const opened = await openBrowserClient();
      const { href } = await comeBackToPage(opened);
      const user = await callInPage(opened.page, `finish(${JSON.stringify(href)})`);
      expect(await statusOfCall(opened.host, user.access_token)).toBe(200);
      const asked = opened.host.requests.filter((request) => request.includes(".well-known"));
      expect(asked).toContainEqual(expect.stringMatching(/^GET \S+\/oauth-authorization-server$/));
      Object.assign(cells, { discovery: "yes", code: "yes", machine: "no", introspect: "no" });
    });

    it("gets another token in an iframe, and revokes it (RFC 7009 §2)", async () => {
      const opened = await openBrowserClient();
      const { href } = await comeBackToPage(opened);
      const user = await callInPage(opened.page, `finish(${JSON.stringify(href)})`);
      const { access_token: renewed } = await callInPage(opened.page, "renew()");
      expect(renewed).not.toBe(user.access_token);
      expect(await statusOfCall(opened.host, renewed)).toBe(200);
      await callInPage(opened.page, "revoke()");
      expect(await statusOfCall(opened.host, renewed)).toBe(401);
      Object.assign(cells, { refresh: "no", revoke: "yes" });
    });

    it("sends no code of an answer with another iss, as the program compares it (RFC 9207 §2.4)", async () => {
      await expect(finishInPageElsewhere()).rejects.toThrow("another issuer");
      const changed = await changedProgram(path.join(folder, file), [
        'new URL(currentUrl).searchParams.get("iss") !== issuer',
        "false",
      ]);
      expect(await finishInPageElsewhere(changed)).toHaveProperty("access_token", expect.any(String));
      cells["iss"] = "no";
    });
  },
});

describe("docs/clients.md", () => {
  it("has the table of this run: node lab/clients/make-clients-table.js makes it again", () => {
    expectPage("clients", { seen: table.seen, all: libraries.length + apps.length + 1 });
  });

  it("shows the programs as they are", () => {
    expectPrograms("lab/clients/libraries");
  });
});
