/**
 * The steps that a Content Security Policy or a sandbox can stop, in the engines that are not Chromium's. CSP Level 3 §6.4.1; OAuth 2.0 Form
 * Post Response Mode §2.
 */
import { describeWith } from "../../__tests__/servers/server-process";
import { codeVerifier } from "../../__tests__/browser/authorization-request";
import { generateSigningKey } from "../../lib";
import { closeAll, htmlPage, startWebHost, until, type WebHost } from "./chromium";
import { type Engine, firefox, webkit, type Window } from "./engines";
import { asForm, startClient } from "./form-post-client";

const button = (label: string): string => `//button[normalize-space()="${label}"]`;
const heading = (text: string): string => `//h1[normalize-space()="${text}"]`;

async function signIn(window: Window): Promise<void> {
  await window.type("//input[@name='name']", "alice");
  await window.click(button("Sign in"));
}

/** Alice signs in, and allows what the client asks. */
async function allow(window: Window, url: string): Promise<void> {
  await window.goTo(url);
  await signIn(window);
  await window.click(button("Allow"));
}

/** A host that signs people in to other apps and out of them. */
function startOpenIdHost(): Promise<WebHost> {
  return startWebHost({
    signingKeys: [generateSigningKey(), generateSigningKey("RS256")],
    apis: {
      orders: {
        audience: "https://api.example/orders",
        authMethods: ["password"],
        scopes: {},
        openid: { claims: () => ({}) },
      },
    },
  });
}

function testEngine(engine: Engine): void {
  let window: Window;
  beforeAll(async () => {
    window = await engine.open();
  });
  afterAll(() => window.close());
  afterEach(closeAll);

  /** All hosts of this file have the cookies of `localhost`. */
  const forget = ({ origin }: WebHost) => window.forget(`${origin}/signin`);

  it("posts a code behind sign-in and consent, and the client's answer leads on to another site", async () => {
    const { host, posted } = await startClient((res, { site }) =>
      res.redirect(303, `${site.loopback}/welcome`),
    );
    await forget(host);
    await allow(window, host.authorizeUrl({ ...asForm, state: `<b>"'&amp; ` }));
    await window.find(heading("Welcome"));
    expect(await window.url()).toBe(`${host.site.loopback}/welcome`);
    expect(posted).toEqual([
      {
        method: "POST",
        origin: "null",
        referer: undefined,
        type: "application/x-www-form-urlencoded",
        fields: {
          code: expect.any(String) as string,
          state: `<b>"'&amp; `,
          iss: `${host.origin}/login/auth/password/api/orders`,
        },
      },
    ]);
    expect(await host.redeem(posted[0]?.fields["code"] ?? "")).toMatchObject({ status: 200 });
  });

  it("has a button for the form where scripts are off", async () => {
    const { host, posted } = await startClient((res) => res.send(htmlPage("Welcome", "")));
    const scriptless = await engine.open({ hasScripts: false });
    try {
      await allow(scriptless, host.authorizeUrl(asForm));
      await scriptless.click(button("Continue"));
      await scriptless.find(heading("Welcome"));
    } finally {
      await scriptless.close();
    }
    expect(posted).toMatchObject([{ fields: { state: "a state" } }]);
  });

  it("posts an answer from a hidden iframe", async () => {
    const { host, posted } = await startClient((res) => res.send(htmlPage("Silent answer", "")));
    await forget(host);
    await signIn(window);
    // a browser that leaves the page too early has no session
    await window.find("//body[not(.//input[@name='name'])]");
    await window.goTo(`${host.site.localhost}/app`);
    await window.run(`
      const iframe = document.createElement("iframe");
      iframe.hidden = true;
      iframe.src = ${JSON.stringify(host.authorizeUrl({ ...asForm, prompt: "none" }))};
      document.body.append(iframe);
      done();
    `);
    await until(() => posted.length > 0);
    // alice has not allowed it yet
    expect(posted).toMatchObject([{ fields: { error: "consent_required", state: "a state" } }]);
  });

  it("keeps the form from a script of the host's site that frames, opens or fetches it", async () => {
    const { host, posted } = await startClient((res) => res.send(htmlPage("Welcome", "")));
    await forget(host);
    await allow(window, host.authorizeUrl(asForm));
    await window.find(heading("Welcome"));
    await window.goTo(`${host.origin}/signin`);
    const before = posted.length;
    const seen = (await window.run(`
      const url = ${JSON.stringify(host.authorizeUrl(asForm))};
      const read = [];
      const see = (get) => { try { read.push(get()?.documentElement?.outerHTML ?? ""); } catch {} };
      (async () => {
        const frame = document.createElement("iframe");
        frame.sandbox = "allow-same-origin";
        frame.src = url;
        document.body.append(frame);
        // not in a tab: timers of a page behind another one are slow
        const opened = open(url, "", "popup");
        for (let turn = 0; turn < 50; turn += 1) {
          see(() => frame.contentDocument);
          see(() => opened.document);
          await new Promise((next) => setTimeout(next, 20));
        }
        read.push(await fetch(url).then((answer) => answer.text()));
        done(read);
      })().catch((error) => done([String(error)]));
    `)) as readonly string[];
    await until(() => posted.length > before);
    expect(seen.filter((text) => text.includes('name="code"'))).toEqual([]);
  });

  it("follows the consent page's form to the client, whose callback leads on to another site", async () => {
    const host = await startWebHost();
    host.pages.set("/callback", (req, res) =>
      res.redirect(`${host.site.loopback}/app?${new URLSearchParams(req.query as Record<string, string>)}`),
    );
    await forget(host);
    await allow(window, host.authorizeUrl());
    await window.find(heading("The client's page"));
    const { origin, searchParams } = new URL(await window.url());
    expect(origin).toBe(host.site.loopback);
    expect(await host.redeem(searchParams.get("code") ?? "")).toMatchObject({ status: 200 });
  });

  it("follows the host's sign-out form to the client, and shows the page without one", async () => {
    const host = await startOpenIdHost();
    const pair = `${host.origin}/login/auth/password/api/orders`;
    await forget(host);
    await window.goTo(host.authorizeUrl({ client_id: "spa", scope: "openid" }));
    await signIn(window);
    await window.find(heading("Back at the client"));
    const code = new URL(await window.url()).searchParams.get("code") ?? "";
    const exchange = {
      grant_type: "authorization_code",
      client_id: "spa",
      code,
      code_verifier: codeVerifier,
    };
    const answer = await fetch(`${pair}/token`, { method: "POST", body: new URLSearchParams(exchange) });
    const { id_token: hint } = (await answer.json()) as { id_token: string };
    const target = { id_token_hint: hint, post_logout_redirect_uri: `${host.site.localhost}/app` };
    await window.goTo(`${pair}/logout?${new URLSearchParams({ ...target, state: "a state" })}`);
    await window.click(button("Sign out"));
    await window.find(heading("The client's page"));
    expect(await window.url()).toBe(`${host.site.localhost}/app?state=a%20state`);
    await window.goTo(`${pair}/logout`);
    await window.find(heading("You are signed out"));
  });
}

for (const engine of [firefox, webkit])
  describeWith(engine, { name: `a person in ${engine.name}`, tests: () => testEngine(engine) });
