/** Answers in a form that the browser posts by itself. OAuth 2.0 Form Post Response Mode §2; RFC 6749 §4.1.2. */
import { createHash } from "node:crypto";
import type { Response } from "supertest";
import type { Client } from "../../lib";
import { authorizationParameters } from "../browser/authorization-request";
import { authorize, redirectParameters } from "../browser/authorize";
import { type Fields, localPath } from "../browser/browser";
import { onOwnPage, adapter } from "../browser/consent";
import { signIn, visit } from "../browser/interaction";
import { languages, markup, policyOf, withPages } from "../browser/pages";
import { issuer, pairPath } from "../hosts/apis";
import { clients, type ClientName, trustedWeb } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { signedOut, testHost, type TestHost } from "../hosts/host";
import { watchedHost } from "../hosts/watched-host";
import { redeem } from "../requests/client-requests";
import { refusedByRedirect, redirectOf } from "./authorization-answers";

stopClockForEachTest();

const asForm = { response_mode: "form_post" };

const entities: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'" };

function decoded(html: string): string {
  return html.replaceAll(/&(amp|lt|gt|quot|#39);/g, (_, name: string) => entities[name] as string);
}

/** Where a page posts what. */
function postedBy({ text }: Response): { readonly action: string; readonly fields: Record<string, string> } {
  const [, action = ""] = /<form method="post" action="([^"]*)">/.exec(text) ?? [];
  const inputs = [...text.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g)];
  const fields = inputs.map(([, name = "", value = ""]) => [name, decoded(value)]);
  return { action: decoded(action), fields: Object.fromEntries(fields) as Record<string, string> };
}

function ask(
  host: TestHost,
  { client = "web", fields = {} }: { client?: ClientName; fields?: Fields } = {},
): Promise<Response> {
  return authorize(host.browser(), { client, fields: { ...asForm, ...fields } });
}

describe("response_mode=form_post (Form Post §2)", () => {
  it("posts the code to the redirect URI, and the code is as good as any", async () => {
    const host = testHost({ clients: [trustedWeb] });
    const { action, fields } = postedBy(await ask(host));
    expect(action).toBe(trustedWeb.redirectUris[0]);
    expect(fields).toEqual({ code: expect.any(String), state: "a state", iss: issuer });
    expect((await redeem(host, { client: "web", code: fields["code"] ?? "" })).status).toBe(200);
  });

  it("leaves out a state that was not sent", async () => {
    const answer = await ask(testHost({ clients: [trustedWeb] }), { fields: { state: undefined } });
    expect(Object.keys(postedBy(answer).fields)).toEqual(["code", "iss"]);
  });

  it("tells an error in the same way", async () => {
    const host = testHost();
    host.session = signedOut;
    const answer = await ask(host, { fields: { prompt: "none" } });
    expect([answer.status, postedBy(answer).fields["error"]]).toEqual([200, "login_required"]);
    const wrong = await ask(host, { fields: { scope: "nothing" } });
    expect(postedBy(wrong).fields).toMatchObject({ error: "invalid_scope", state: "a state", iss: issuer });
  });

  it("runs one script that the policy names, loads nothing, and may be in a frame", async () => {
    const app = testHost({
      clients: [trustedWeb],
      before: (host) =>
        void host.use((_req, res, next) => {
          res.set({ "X-Frame-Options": "SAMEORIGIN", "Content-Security-Policy": "default-src 'self'" });
          res.set({ "Access-Control-Allow-Origin": "*", "Referrer-Policy": "unsafe-url" });
          next();
        }),
    });
    const answer = await ask(app);
    const [, script = ""] = /<script>(.*)<\/script>/.exec(answer.text) ?? [];
    expect(script).toBe("document.forms[0].submit()");
    expect(policyOf(answer)).toEqual({
      "default-src": "'none'",
      "script-src": `'sha256-${createHash("sha256").update(script).digest("base64")}'`,
      "base-uri": "'none'",
      sandbox: "allow-forms allow-scripts allow-top-navigation-to-custom-protocols",
    });
    expect(answer.headers).toMatchObject({
      "referrer-policy": "no-referrer",
      "cache-control": "no-store",
      "content-type": "text/html; charset=utf-8",
    });
    expect(answer.headers).not.toHaveProperty("x-frame-options");
    expect(answer.headers).not.toHaveProperty("access-control-allow-origin");
    expect(answer.text.match(/<(?:img|link|iframe|style|script src)/g)).toBeNull();
  });

  it("answers the consent page, whether the person says yes or no, and a second click too", async () => {
    const host = testHost();
    const browser = host.browser();
    for (const [decision, told] of [
      ["deny", "error"],
      ["approve", "code"],
    ] as const) {
      const page = await authorize(browser, { client: "web", fields: asForm });
      const answer = await browser.answer(page, decision);
      expect([answer.status, Object.keys(postedBy(answer).fields)[0]]).toEqual([200, told]);
      // a second click is answered in the same way
      expect(postedBy(await browser.answer(page, decision))).toMatchObject({
        action: clients.web.redirectUris[0],
      });
    }
  });

  it("survives a sign-in, and a page of the host", async () => {
    const { consent } = adapter(onOwnPage);
    const host = testHost({ consent });
    const visited = await visit(host, { fields: asForm });
    const page = await signIn(visited);
    const id = new URL(page.headers["location"] as string, "https://host.example").searchParams;
    const answer = await visited.browser.post("/cancel", { interaction: id.get("interaction") ?? "" });
    expect(postedBy(answer).fields).toMatchObject({ error: "access_denied", state: "a state" });
  });

  it.each([
    markup,
    `"><script>alert(1)</script>`,
    "a&b=c;d&#39;e&amp;",
    "' onfocus=alert(1) autofocus '",
    " spaces ",
  ])("gives back a state with markup as it was, as text: %s", async (state) => {
    const answer = await ask(testHost({ clients: [trustedWeb] }), { fields: { state } });
    expect(postedBy(answer).fields["state"]).toBe(state);
    expect(answer.text.match(/<script/g)).toHaveLength(1);
    expect(answer.text).not.toMatch(/<img|"[^"<>]*'[^"]*onfocus=alert\(1\) autofocus '>/);
  });

  it.each(["ä", "a\nb", "a\r\nb", "a\tb", "😀", "\u007f"])(
    "refuses a state that a form could change, by redirect: %j",
    async (state) => {
      const answer = await ask(testHost({ clients: [trustedWeb] }), { fields: { state } });
      expect(redirectParameters(answer)).toMatchObject({ error: "invalid_request", state });
    },
  );

  it("has its button in the language of the person, also in one of the host", async () => {
    const host = withPages({ texts: { cs: { goOn: "Dál <b>" } } });
    host.session = signedOut;
    const labels = { en: "Continue", de: "Weiter", fr: "Continuer", ar: "متابعة", cs: "Dál &lt;b&gt;" };
    expect(Object.keys(labels)).toEqual([...languages, "cs"]);
    for (const [language, label] of Object.entries(labels)) {
      const fields = { ...asForm, prompt: "none", ui_locales: language };
      const { text } = await authorize(host.browser(), { client: "web", fields });
      expect(text).toContain(`<html lang="${language}" dir="${language === "ar" ? "rtl" : "ltr"}">`);
      expect(text).toContain(`<noscript><button>${label}</button></noscript>`);
    }
  });
});

function record(changes: Partial<Client>): Client {
  return { ...trustedWeb, ...changes } as Client;
}

describe("who may be answered by a form", () => {
  it("a confidential client on this machine too", async () => {
    const host = testHost({
      clients: [record({ redirectUris: ["http://127.0.0.1/callback"] })],
    });
    const fields = { redirect_uri: "http://127.0.0.1:4000/callback" };
    const answer = await ask(host, { fields });
    expect(postedBy(answer).action).toBe(fields.redirect_uri);
  });

  it.each(["native", "spa"] as const)("no public client: %s", async (client) => {
    const answer = await ask(testHost(), { client });
    expect(answer.headers["location"]).toMatch(/[?&]error=invalid_request/);
  });

  it("no script of the host's site, which could read the code, and nothing is issued", async () => {
    const { host, writes } = watchedHost({ clients: [trustedWeb] });
    const fetched = { "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty" };
    const path = `${pairPath()}/authorize`;
    const fields = { ...authorizationParameters("web"), scope: "orders:read", ...asForm };
    const answer = await host.browser().get(path, fields, fetched);
    expect([answer.status, answer.headers["location"]]).toEqual([400, undefined]);
    expect(host.events).toMatchObject([{ kind: "authorization-denied", code: "not-opened-as-page" }]);
    const visited = await visit(host, { fields: asForm });
    const back = await visited.browser.post("/signin", { interaction: visited.id, subject: "alice" });
    const resumed = await visited.browser.get(localPath(back.headers["location"] as string), {}, fetched);
    expect(resumed.status).toBe(400);
    expect(writes).toEqual([]);
    // the person can still go on
    expect(postedBy(await visited.browser.follow(back)).fields).toHaveProperty("code");
  });

  it.each([
    ["a list without it", ["query"], "form_post", "error"],
    ["a list without query, that is asked for", ["form_post"], "query", "error"],
    ["a list without query, when nothing is asked for", ["form_post"], undefined, "error"],
    ["a list with it", ["form_post"], "form_post", "form"],
    ["both, when nothing is asked for", undefined, undefined, "code"],
    ["both, when an unknown one is asked for", undefined, "fragment", "error"],
    ["both, when one is written in another case", undefined, "Form_Post", "error"],
  ] as const)("%s", async (_, responseModes, asked, expected) => {
    const client = record(responseModes ? { responseModes } : {});
    const host = testHost({ clients: [client] });
    const answer = await ask(host, { fields: { response_mode: asked } });
    if (expected === "form") return expect(answer.status).toBe(200);
    if (expected === "code") return expect(redirectParameters(answer)).toHaveProperty("code");
    expect(redirectOf(answer)).toEqual(refusedByRedirect("invalid_request"));
    expect(host.events).toMatchObject([{ code: "response-mode-not-allowed" }]);
  });

  it.each([
    ["an unknown mode", ["fragment"], /responseModes\.0 must be one of query, form_post/],
    ["an empty list", [], /responseModes must be a list with "query", "form_post" or both/],
    ["no list", "form_post", /responseModes must be a list/],
    ["undefined", undefined, /responseModes is undefined/],
    [
      "a form for an app",
      ["query", "form_post"],
      /responseModes has form_post, which is for/,
      clients.native,
    ],
  ] as const)(
    "a record with %s is refused",
    async (_, responseModes, message, client: Client = trustedWeb) => {
      const wrong = { ...client, responseModes } as unknown as Client;
      expect(() => testHost({ clients: [wrong] })).toThrow(message);
    },
  );
});
