import { failures, flow, furtherSteps } from "../../examples/demo/stories";
import {
  answerPage,
  demo,
  goThrough,
  issuerOf,
  itHasPrintedNoFailure,
  lastPrinted,
  orders,
  redirectUri,
  reports,
  scopeOf,
  secretOf,
  validPairs,
} from "../servers/demo";
import { newVisitor, press, type Step, refusals, start, takeSteps, tell } from "./demo-stories";
import { newWebBrowser, startExample } from "../servers/example";

const brief = ({ by, method, url, status }: Step): string => `${by} ${method} ${url} ${status}`;

/** The texts of the page, as a person reads them. */
const unescape = (html: string): string =>
  html.replaceAll(/&#(\d+);/g, (_, code: string) => String.fromCodePoint(Number(code)));

/** Everything that the playground and the end of its windows lead to by themselves. */
const served = [
  "/",
  "/account",
  "/arrows.css",
  "/back",
  "/back.mjs",
  "/browser-app.mjs",
  "/carried.mjs",
  "/choices.mjs",
  "/client-program.mjs",
  "/copy.mjs",
  "/demo.css",
  "/demo.mjs",
  "/dom.mjs",
  "/exchanges.mjs",
  "/happened.mjs",
  "/link.mjs",
  "/play.mjs",
  "/playground.css",
  "/recorded-fetch.mjs",
  "/rules.mjs",
  "/sequence.css",
  "/sequence.mjs",
  "/signin/otp",
  "/signin/password",
  "/step-view.mjs",
  "/steps.css",
  "/token-view.mjs",
  "/visit.mjs",
];

/** What it prints with these flags. */
const printedWith = async (...args: readonly string[]): Promise<string> => {
  const started = await startExample("demo/server.js", lastPrinted, { args });
  await fetch(`${started.origin}/login/auth/password/api/orders/authorize`);
  await started.stop();
  return started.printed.out;
};

describe("the console of the demo", () => {
  it("names the address, the people and the clients, and says no more", async () => {
    const told = (await printedWith()).replaceAll(/\nKept in .*\n|:\d+\/|(?<=^ {2}\w+ +)\S.*$/gm, "");
    const people = ["Sign in as", "  alice      ", "  bob        ", "  sam        "];
    const clients = ["Confidential clients, for your own program", "  web        ", "  portal     "];
    const codes = ["", "One-time codes appear here.", ""];
    const lines = ["Open http://localhost", "", ...people, ...codes, ...clients, "  machine    ", "", ""];
    expect(told.split("\n")).toEqual(lines);
  });

  it("shows the events and the assessment on request", async () => {
    expect(await printedWith("--events")).toMatch(/^metadata http[^]*^event {2}authorization-denied /m);
    expect(await printedWith("--assessment")).toMatch(
      /^ {2}RFC 9700 +\d+ met, [^]*^ {2}ASVS 5\.0 +\d+ met, /m,
    );
  });
});

describe("signing out of the demo at the wish of an app (RP-Initiated Logout §2)", () => {
  it("asks the person, and says that they are signed out", async () => {
    const browser = await newVisitor();
    await start(browser, "web");
    const ask = await browser.open(`${issuerOf(orders)}/logout?ui_locales=de`);
    expect(ask.text).toContain("Sign out here too?");
    expect((await browser.submit(ask, {})).text).toContain("<h1>Sie sind abgemeldet</h1>");
    expect((await browser.open(`${demo.origin}/account`)).text).toContain("You’re not signed in.");
    expect((await browser.open(`${issuerOf(orders)}/logout`)).text).toContain("You are signed out");
  });
});

describe("signing in with the demo (OpenID Connect Core §3.1)", () => {
  it.each(["web", "portal", "native"])(
    "gives %s an ID token, and userinfo says the same",
    async (clientId) => {
      const steps = await tell(flow["signIn"] ?? { actions: [] }, { browser: await newVisitor(), clientId });
      const { body } = steps.find(({ url }) => url.endsWith("/token")) as Step;
      const [, payload = ""] = (body["id_token"] ?? "").split(".");
      const claims = JSON.parse(Buffer.from(payload, "base64url").toString()) as object;
      const person = { sub: "alice", name: "alice", email: "alice@example.com", email_verified: true };
      expect(claims).toMatchObject({ ...person, iss: issuerOf(orders), aud: clientId });
      expect(steps.at(-1)).toMatchObject({
        status: 200,
        url: expect.stringMatching(/userinfo$/) as string,
        body: person,
      });
    },
  );
});

describe("signing in on another screen (RFC 8628 §3.3)", () => {
  it("leads the app to the API, once the person has typed its code elsewhere", async () => {
    const { actions } = flow["device"] as { actions: string[] };
    const steps = await tell({ actions }, { browser: await newVisitor(), clientId: "native" });
    expect(steps.map(({ url, status }) => [url.split("/").at(-1), status])).toEqual([
      ["device_authorization", 200],
      ["token", 200],
      ["orders", 200],
    ]);
    expect(steps.at(-1)?.body).toMatchObject({ orders: [{ of: "alice" }] });
  });
});

describe("an order above 100 (RFC 9470 §3, §4)", () => {
  const { actions } = furtherSteps["orderMuch"] as { actions: string[] };

  it.each(["web", "portal", "native"])("takes %s to a sign-in with a one-time code", async (clientId) => {
    const story = { actions: ["start", "change", ...actions] };
    const steps = await tell(story, { browser: await newVisitor(), clientId });
    const error = "insufficient_user_authentication";
    const reason: unknown = expect.stringContaining('acr "pwd"');
    expect(refusals(steps)).toEqual([["orders", 401, error, reason]]);
    const refused = steps.findIndex(({ status }) => status === 401);
    expect(steps[refused]?.headers["www-authenticate"]).toContain('acr_values="otp"');
    const again = steps.slice(refused + 1).find(({ url }) => url.endsWith("/authorize"));
    expect(again).toMatchObject({ url: new URL(`${issuerOf(orders)}/authorize`).pathname, status: 302 });
    expect(again?.sent["acr_values"]).toBe("otp");
    expect(again?.headers["location"]).toMatch(/^\/signin\/otp\?/);
    expect(steps.at(-1)).toMatchObject({ status: 201, body: { of: "alice", amount: 150 } });
  });

  it("passes at once after a one-time code, and never without a person", async () => {
    const story = { actions: ["start", "orderMuch"] };
    const chosen = { method: "otp" };
    expect(refusals(await tell(story, { browser: await newVisitor(), clientId: "web", chosen }))).toEqual([]);
    const machine = await tell(story, { browser: await newVisitor(), clientId: "machine" });
    expect(machine.at(-1)).toMatchObject({ status: 401 });
  });
});

describe("the start page of the demo", () => {
  it("loads nothing but what the demo serves, and all of that answers", async () => {
    const found = new Set<string>(["/", "/back"]);
    for (const path of found) {
      const response = await fetch(demo.origin + path);
      expect([path, response.status]).toEqual([path, 200]);
      const text = await response.text();
      for (const [, link = ""] of text.matchAll(/(?:href|src|from)=?\s?"([^"]+)"/g)) {
        if (!link.startsWith("data:")) found.add(new URL(link, demo.origin + path).pathname);
      }
    }
    expect([...found].toSorted()).toEqual(served);
  });

  it("has no address of another site in any page, script or stylesheet", async () => {
    const browser = await newVisitor();
    const { url } = (await press(browser, "web", "start")) as { url: string };
    const signIn = await browser.open(url);
    const consent = await answerPage(browser, signIn, undefined);
    const notAsked = await browser.open(redirectUri.web());
    const account = await browser.open(`${demo.origin}/account`);
    const apps = await browser.open(`${demo.origin}/account/apps`);
    const pages = [signIn, consent, notAsked, account, apps];
    for (const path of served) pages.push(await browser.open(demo.origin + path));
    const ours = [demo.origin, demo.origin.replace("localhost", "127.0.0.1")];
    const addresses = pages.flatMap(
      ({ text }) => text.match(/https?:\/\/[^\s"'`<&;]+|["'(]\/\/\w[^\s"'`]*/g) ?? [],
    );
    expect(addresses.filter((address) => !ours.some((our) => address.startsWith(our)))).toEqual([]);
  });

  it("records when a request was sent and when it was answered: the token request lies inside the callback", async () => {
    const browser = await newVisitor();
    await start(browser, "web");
    const steps = await takeSteps(browser);
    const [callback, token] = ["/callback", "/token"].map((end) =>
      steps.find(({ url }) => url.endsWith(end)),
    );
    expect(token?.at).toBeGreaterThan(callback?.at ?? Infinity);
    expect(token?.until).toBeLessThan(callback?.until ?? 0);
  });

  it("runs no inline script and lets nobody frame it", async () => {
    const response = await fetch(demo.origin);
    const policy = response.headers.get("content-security-policy");
    expect(policy).toContain("default-src 'self'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain("unsafe");
    expect(await response.text()).not.toMatch(/<script>| on\w+=| style=/);
  });

  it("offers every client, way to sign in and API, each control with a label", async () => {
    const { text } = await newWebBrowser().open(`${demo.origin}/`);
    const radios = [...text.matchAll(/type="radio" name="(\w+)" value="(\w+)"/g)];
    expect(radios.map(([, name, value]) => `${name} ${value}`)).toEqual([
      "clientId web",
      "clientId portal",
      "clientId native",
      "clientId browser",
      "clientId machine",
      "method password",
      "method otp",
      "api orders",
      "api reports",
    ]);
    const controls = text.match(/<(?:input|select)/g) ?? [];
    const labelled = text.match(/<label[^>]*>[^<]*<(?:input|select)/g) ?? [];
    expect(controls).toHaveLength(radios.length + 4);
    expect(labelled).toHaveLength(controls.length);
    expect(text.match(/<fieldset[^>]*>\s*<legend>[^<]+<\/legend>/g)).toHaveLength(4);
  });

  it("has a button for every story, with its text and a note", async () => {
    const { text } = await newWebBrowser().open(`${demo.origin}/`);
    const found = text.matchAll(
      /<button id="(\w+)" data-story="([^"]*)" aria-describedby="\1-note">\s*<span>([^<]+)<\/span>(?:<code>([^<]+)<\/code>)?\s*<\/button>\s*<p class="note" id="\1-note">([^<]+)</g,
    );
    const shown = [...found].map(([, name, story = "", label = "", outcome, note = ""]) => {
      const texts = { text: unescape(label), note: unescape(note), ...(outcome && { outcome }) };
      return [name, { ...(JSON.parse(unescape(story)) as object), ...texts }];
    });
    expect(Object.fromEntries(shown)).toEqual({ ...flow, ...furtherSteps, ...failures });
  });

  it("shows its passwords and secrets, and says why", async () => {
    const { text } = await newWebBrowser().open(`${demo.origin}/`);
    expect(text).toContain("This is a demo, so it shows secrets:");
    for (const name of ["alice", "bob", "sam", "web", "portal", "machine"]) {
      expect(text).toContain(`<code>${secretOf(name)}</code>`);
    }
  });

  it.each(["web", "portal", "native", "machine"])("does what every button says for %s", async (clientId) => {
    const browser = await newVisitor();
    const { silentRefresh: _inThePage, ...pressed } = furtherSteps;
    const told = Object.values(pressed).filter(({ actions }) => actions.length === 1);
    const steps = (await Promise.all(told.map((story) => tell(story, { browser, clientId })))).flat();
    expect(steps).toHaveLength(told.length);
    expect(steps.map(({ status }) => status).filter((status) => status >= 500)).toEqual([]);
  });
});

describe("the stories and failures on the start page of the demo", () => {
  describe.each(validPairs)("at ($method, $api)", (pair) => {
    const chosen = { ...pair, scope: scopeOf[pair.api] };

    it.each(["web", "portal", "native", "machine"])("runs the flow to its end for %s", async (clientId) => {
      const browser = await newVisitor();
      const steps = await tell(flow["run"] ?? { actions: [] }, { browser, clientId, chosen });
      expect(refusals(steps)).toEqual([]);
      expect(steps.at(-1)).toMatchObject({ url: `/api/${pair.api}`, status: 200 });
      const kinds = steps.flatMap(({ events }) => events.map(({ kind }) => kind));
      const granted = ["authorization-requested", "authorization-granted", "token-issued"];
      expect(kinds).toEqual(clientId === "machine" ? ["token-issued"] : granted);
    });
  });

  const replayed = expect.stringContaining("used before") as unknown;

  const revoked = expect.stringContaining("revoked") as unknown;

  const dead = ["orders", 401, "invalid_token", revoked];

  const expectedRefusals: Readonly<Record<string, readonly unknown[]>> = {
    noPkce: [["authorize", 302, "invalid_request", expect.stringContaining("code_challenge")]],
    replayedCode: [["token", 400, "invalid_grant", replayed], dead],
    reusedRefreshToken: [
      ["token", 400, "invalid_grant", replayed],
      ["token", 400, "invalid_grant", revoked],
      dead,
    ],
    lostAnswer: [["token", 400, "invalid_grant", replayed], dead],
    signedOutEverywhere: [["token", 400, "invalid_grant", revoked], dead],
    disabledPerson: [
      ["token", 400, "invalid_grant", expect.stringContaining("tokens.decide")],
      dead,
      ["authorize", 302, "access_denied", expect.anything()],
    ],
    wrongApi: [["reports", 401, "invalid_token", expect.stringContaining("another API")]],
    signedOut: [["authorize", 302, "login_required", expect.stringContaining("found nobody signed in")]],
    wrongRedirectUri: [["authorize", 400, undefined, expect.stringContaining("redirect_uri")]],
    wideScope: [["authorize", 302, "invalid_scope", expect.stringContaining("scope")]],
    noIssuer: [["authorize", 404, undefined, undefined]],
  };

  const shown = Object.entries(failures).flatMap(([name, story]) =>
    (story.clients ?? ["web", "portal", "native"])
      .filter((clientId) => clientId !== "browser")
      .map((clientId) => ({ name, clientId, story })),
  );

  it.each(shown)("shows the failure $name for $clientId", async ({ name, clientId, story }) => {
    const browser = await newVisitor();
    const steps = await tell(story, { browser, clientId });
    const callbacks = steps.filter(({ url }) => url.endsWith("/callback"));
    expect(refusals(steps)).toEqual(expectedRefusals[name]);
    const visits = story.actions.filter((action) => ["start", "askAgain"].includes(action));
    expect(callbacks).toHaveLength(visits.length);
  });

  it("refuses the machine too wide a scope at the token endpoint", async () => {
    const browser = await newVisitor();
    const steps = await tell(failures["wideScope"] ?? { actions: [] }, { browser, clientId: "machine" });
    expect(refusals(steps)).toEqual([["token", 400, "invalid_scope", expect.stringContaining("scope")]]);
  });

  it("introspects an opaque token, and tells no public client", async () => {
    const chosen = { ...reports, scope: "reports:read" };
    const story = { actions: ["start", "introspect"] };
    const told = await tell(story, { browser: await newVisitor(), clientId: "web", chosen });
    expect(told.at(-1)).toMatchObject({ status: 200, body: { active: true, sub: "alice" } });
    const untold = await tell(story, { browser: await newVisitor(), clientId: "native", chosen });
    const reason: unknown = expect.stringContaining("public client");
    expect(refusals(untold)).toEqual([["introspect", 401, "invalid_client", reason]]);
  });

  it.each([orders, reports])(
    "puts the claim of tokens.decide into every token of a person: %j",
    async (pair) => {
      const chosen = { ...pair, scope: scopeOf[pair.api] };
      const story = { actions: ["start", "introspect", "call", "refresh", "introspect"] };
      const steps = await tell(story, { browser: await newVisitor(), clientId: "web", chosen });
      expect(steps.flatMap(({ body }) => body["plan"] ?? [])).toEqual(["gold", "gold", "gold"]);
      const machine = await tell(story, { browser: await newVisitor(), clientId: "machine", chosen });
      expect(machine.filter(({ body }) => "plan" in body)).toEqual([]);
    },
  );

  it("ends the authorization of a disabled person for good, and lets them sign in again once enabled", async () => {
    const browser = await newVisitor();
    const refused = { actions: ["start", "disable", "refresh", "enable", "refresh", "call"] };
    const ended = refusals(await tell(refused, { browser, clientId: "web" }));
    expect(ended).toEqual([
      ["token", 400, "invalid_grant", expect.stringContaining("tokens.decide")],
      ["token", 400, "invalid_grant", revoked],
      dead,
    ]);
    expect(refusals(await tell(flow["run"] ?? { actions: [] }, { browser, clientId: "web" }))).toEqual([]);
  });

  it("answers the client of a disabled person without any page", async () => {
    const browser = await newVisitor();
    await start(browser, "web");
    const { body } = await browser.post(`${demo.origin}/person/disable`);
    expect(body).toEqual({ subject: "alice", active: false, organization: "Tea House" });
    const { url } = (await press(browser, "web", "start")) as { url: string };
    expect((await goThrough(browser, url, redirectUri.web())).searchParams.get("error")).toBe(
      "access_denied",
    );
    await browser.post(`${demo.origin}/person/enable`);
  });

  it("changes nobody where nobody is signed in, and takes no other change", async () => {
    const browser = await newVisitor();
    expect((await browser.post(`${demo.origin}/person/disable`)).status).toBe(409);
    expect((await browser.post(`${demo.origin}/person/delete`)).status).toBe(404);
    const headers = { origin: "https://attacker.example" };
    const foreign = await fetch(`${demo.origin}/person/disable`, { method: "POST", headers });
    expect(foreign.status).toBe(403);
  });

  it("sends a client that revokes its token away from the API", async () => {
    const story = { actions: ["start", "call", "revoke", "call"] };
    const steps = await tell(story, { browser: await newVisitor(), clientId: "native" });
    expect(refusals(steps)).toEqual([dead]);
  });

  it("writes down the headers that matter", async () => {
    const steps = await tell(flow["run"] ?? { actions: [] }, {
      browser: await newVisitor(),
      clientId: "web",
    });
    const [first, token] = ["/authorize", "/token"].map((path) =>
      steps.find(({ url }) => url.endsWith(path)),
    );
    expect(first?.headers["location"]).toMatch(/^\/signin\/password\?interaction=/);
    expect(token?.headers).toMatchObject({ "content-type": "application/json", "cache-control": "no-store" });
  });
});

describe("what comes of each step on the start page of the demo", () => {
  it("writes down every step of the Web Shop, there and back", async () => {
    const browser = await newVisitor();
    await start(browser, "web");
    expect((await takeSteps(browser)).map(brief).toSorted()).toEqual(
      [
        "Browser GET /login/auth/password/api/orders/authorize 302",
        "Browser GET /signin/password 200",
        "Browser POST /signin/password 303",
        "Browser GET /login/auth/password/api/orders/authorize/resume 200",
        "Browser POST /login/auth/password/api/orders/authorize/consent 303",
        "Browser GET /web/callback 303",
        "Web Shop POST /login/auth/password/api/orders/token 200",
      ].toSorted(),
    );
    const person = { subject: "alice", active: true, organization: "Tea House" };
    expect((await browser.post(`${demo.origin}/person`)).body).toEqual(person);
  });

  it("provokes replays, which end the authorization", async () => {
    const browser = await newVisitor();
    await start(browser, "web");
    await takeSteps(browser);
    for (const action of ["call", "refresh", "refresh", "reuseRefreshToken", "call", "replayCode"])
      await press(browser, "web", action);
    const answers = (await takeSteps(browser)).map(({ status, body }) => [status, body["error"]]);
    expect(answers).toEqual([
      [200, undefined],
      [200, undefined],
      [200, undefined],
      [400, "invalid_grant"],
      [401, "invalid_token"],
      [400, "invalid_grant"],
    ]);
  });

  it.each([
    ["a public client without PKCE", "native", { pkce: false }, "invalid_request"],
    ["prompt=none without a session", "web", { prompt: "none" }, "login_required"],
    ["a missing scope", "portal", { ...reports, scope: "" }, "invalid_scope"],
  ])("shows what comes back for %s", async (_, clientId, chosen, error) => {
    const browser = await newVisitor();
    await start(browser, clientId, chosen);
    const callback = (await takeSteps(browser)).find(({ url }) => url === `/${clientId}/callback`);
    expect(callback?.sent).toMatchObject({ error, iss: issuerOf({ ...orders, ...chosen }) });
  });

  it("answers the Phone App at 127.0.0.1, by its state", async () => {
    const browser = await newVisitor();
    await start(browser, "native");
    const steps = (await takeSteps(browser)).map(brief);
    expect(steps).toContain("Browser GET /native/callback 303");
    expect(steps).toContain("Phone App POST /login/auth/password/api/orders/token 200");
  });

  it("refuses an answer that another browser has asked for (RFC 9700 §4.7)", async () => {
    const attacker = await newVisitor();
    const { url } = (await press(attacker, "web", "start")) as { url: string };
    const callback = await goThrough(attacker, url, redirectUri.web());
    const victim = await newVisitor();
    expect((await victim.open(callback)).status).toBe(400);
    expect(await takeSteps(victim)).toHaveLength(1);
  });

  it("publishes which pairs are valid, and answers 404 at the others", async () => {
    const metadata = await fetch(`${demo.origin}/.well-known/oauth-protected-resource/api/reports`);
    expect(await metadata.json()).toMatchObject({ authorization_servers: [issuerOf(reports)] });
    const invalid = await fetch(`${issuerOf({ method: "password", api: "reports" })}/authorize`);
    expect(invalid.status).toBe(404);
  });

  it.each(["password", "otp"])(
    "signs in to the account page with %s, and refuses a wrong answer",
    async (method) => {
      const browser = newWebBrowser();
      let page = await browser.open(`${demo.origin}/signin/${method}`);
      if (method === "otp") page = await browser.submit(page, { name: "alice" });
      const refused = await browser.submit(page, { name: "alice", password: "a guess", code: "a guess" });
      expect(refused.status).toBe(403);
      const account = await answerPage(browser, refused, undefined);
      expect(account.text).toContain("Signed in as <strong>alice</strong> at Tea House");
    },
  );

  it("goes on when the form with the one-time code is sent twice, and else asks for the name again", async () => {
    const browser = newWebBrowser();
    const form = await browser.open(`${demo.origin}/signin/otp`);
    const page = await browser.submit(form, { name: "alice" });
    await answerPage(browser, page, undefined);
    const again = await browser.submit(page, { code: "000000" });
    expect([again.status, again.url.pathname]).toEqual([200, "/account"]);
    const elsewhere = await newWebBrowser().submit(page, { code: "000000" });
    expect([elsewhere.status, elsewhere.text]).toEqual([403, expect.stringContaining('name="name"')]);
    expect(elsewhere.text).not.toContain('name="sent"');
  });

  it("takes no form from another site", async () => {
    const body = new URLSearchParams({ name: "alice", password: secretOf("alice") });
    const headers = { origin: "https://attacker.example" };
    const response = await fetch(`${demo.origin}/signin/password`, { method: "POST", headers, body });
    expect(response.status).toBe(403);
    expect(response.headers.getSetCookie()).toEqual([]);
  });

  it("sends visitors of 127.0.0.1 to localhost, where its cookies are", async () => {
    const response = await fetch(demo.origin.replace("localhost", "127.0.0.1"), { redirect: "manual" });
    expect(response.headers.get("location")).toBe(demo.origin);
  });
});

itHasPrintedNoFailure();
