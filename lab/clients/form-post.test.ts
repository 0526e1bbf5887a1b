/** `response_mode=form_post` as browsers and libraries see it. OAuth 2.0 Form Post Response Mode §2. */
import path from "node:path";
import { describeWith } from "../../__tests__/servers/server-process";
import {
  chromium,
  closeAll,
  closeChromium,
  consentPage,
  htmlPage,
  newContext,
  signedInPage,
  signIn,
  until,
  watch,
} from "./chromium";
import { asForm, startClient } from "./form-post-client";
import { callback, type LibraryHost, startLibraryHost } from "./library-host";
import { changedProgram, removeChangedPrograms, startLibraryProgram } from "./library-process";

afterEach(closeAll);
afterAll(closeChromium);
afterAll(removeChangedPrograms);

describeWith(chromium, {
  name: "the form that Chromium posts by itself (Form Post §2)",
  tests: () => {
    it("takes a code behind sign-in and consent to the client, whose answer leads on to another site", async () => {
      const { host, posted } = await startClient((res, { site }) =>
        res.redirect(303, `${site.loopback}/welcome`),
      );
      const page = await (await newContext()).newPage();
      const { complaints, requests } = watch(page);
      await page.goto(host.authorizeUrl({ ...asForm, state: `<b>"'&amp; ` }));
      await signIn(page, "alice");
      await consentPage(page).allow.click();
      await page.getByRole("heading", { name: "Welcome" }).waitFor();
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
      expect(requests.filter((url) => url.includes("code="))).toEqual([]);
      expect(complaints).toEqual([]);
      expect(await host.redeem(posted[0]?.fields["code"] ?? "")).toMatchObject({ status: 200 });
    });

    it("takes a no there as well", async () => {
      const { host, posted } = await startClient((res) => res.send(htmlPage("Welcome", "")));
      const page = await signedInPage(host, await newContext());
      await page.goto(host.authorizeUrl(asForm));
      await consentPage(page).doNotAllow.click();
      await page.getByRole("heading", { name: "Welcome" }).waitFor();
      expect(posted.map(({ fields }) => fields["error"])).toEqual(["access_denied"]);
    });

    it("has a button in a browser without scripts", async () => {
      const { host, posted } = await startClient((res) => res.send(htmlPage("Welcome", "")));
      const page = await signedInPage(host, await newContext({ javaScriptEnabled: false }));
      await page.goto(host.authorizeUrl({ ...asForm, ui_locales: "de" }));
      await consentPage(page)
        .allow.or(page.getByRole("button", { name: "Erlauben", exact: true }))
        .click();
      await page.getByRole("button").click();
      await page.getByRole("heading", { name: "Welcome" }).waitFor();
      expect(posted).toMatchObject([{ fields: { state: "a state" } }]);
    });

    it("works in a hidden iframe with prompt=none, behind helmet", async () => {
      const { host, posted } = await startClient((res) => res.send(htmlPage("Silent answer", "")));
      const page = await signedInPage(host, await newContext());
      await page.goto(`${host.site.localhost}/app`);
      const url = host.authorizeUrl({ ...asForm, prompt: "none" });
      await page.evaluate(`{
        const iframe = document.createElement("iframe");
        iframe.hidden = true;
        iframe.src = ${JSON.stringify(url)};
        document.body.append(iframe);
      }`);
      await until(() => posted.length > 0);
      // alice has not allowed it yet
      expect(posted).toMatchObject([{ fields: { error: "consent_required", state: "a state" } }]);
    });

    it("cannot be read by a script of the host's site that frames, opens or fetches it", async () => {
      const { host, posted } = await startClient((res) => res.send(htmlPage("Welcome", "")));
      const page = await signedInPage(host, await newContext());
      await page.goto(host.authorizeUrl(asForm));
      await consentPage(page).allow.click();
      await page.getByRole("heading", { name: "Welcome" }).waitFor();
      await page.goto(`${host.origin}/signin`);
      const before = posted.length;
      const seen = await page.evaluate<string[]>(`(async () => {
        const url = ${JSON.stringify(host.authorizeUrl(asForm))};
        const read = [];
        const see = (get) => { try { read.push(get()?.documentElement?.outerHTML ?? ""); } catch {} };
        const frame = document.createElement("iframe");
        frame.sandbox = "allow-same-origin";
        frame.src = url;
        document.body.append(frame);
        await new Promise((done) => frame.addEventListener("load", done));
        see(() => frame.contentDocument);
        const opened = open(url);
        for (let turn = 0; turn < 200; turn += 1) {
          see(() => opened.document);
          await new Promise((done) => setTimeout(done, 5));
        }
        read.push(await fetch(url).then((answer) => answer.text()));
        return read;
      })()`);
      await until(() => posted.length > before);
      expect(seen.filter((text) => text.includes('name="code"'))).toEqual([]);
    });

    it("lets the client's answer lead into an app", async () => {
      const { host, posted } = await startClient((res) => res.redirect(303, "com.example.app://done"));
      const page = await signedInPage(host, await newContext());
      const { complaints } = watch(page);
      await page.goto(host.authorizeUrl(asForm));
      await consentPage(page).allow.click();
      await until(() => posted.length > 0);
      await page.waitForTimeout(500);
      expect(complaints.filter((text) => /sandbox|form-action|blocked/i.test(text))).toEqual([]);
    });

    it("posts no code a second time when the person goes back and forward", async () => {
      const { host, posted } = await startClient((res) => res.send(htmlPage("Welcome", "")));
      const page = await signedInPage(host, await newContext());
      await page.goto(`${host.site.localhost}/app`);
      await page.goto(host.authorizeUrl(asForm));
      await consentPage(page).allow.click();
      await page.getByRole("heading", { name: "Welcome" }).waitFor();
      await page.goBack();
      await page.waitForLoadState("networkidle");
      await page.goForward().catch(() => undefined);
      await page.waitForLoadState("networkidle");
      const codes = posted.flatMap(({ fields }) => fields["code"] ?? []);
      expect(new Set(codes).size).toBe(codes.length);
    });
  },
});

/** The request that a framework hands to the program. */
const posted = `new Request(redirect_uri, {
  method: "POST",
  headers: { "content-type": "application/x-www-form-urlencoded" },
  body: currentUrl,
})`;

describe("libraries that read the form (Form Post §2)", () => {
  let host: LibraryHost;
  beforeAll(async () => {
    host = await startLibraryHost();
  });
  afterAll(() => host.close());

  it.each([
    ["openid-client", "openid-client.mjs", posted],
    ["oauth4webapi", "oauth4webapi.mjs", "new URLSearchParams(currentUrl)"],
  ])("%s exchanges the code", async (_, file, given) => {
    const original = path.join(__dirname, "libraries", file);
    const asking = await changedProgram(original, [
      "    state,\n    code_challenge:",
      '    state,\n    response_mode: "form_post",\n    code_challenge:',
    ]);
    const program = await startLibraryProgram({
      file: await changedProgram(asking, ["new URL(currentUrl)", given]),
      env: host.env,
    });
    try {
      const { url, session } = (await program.call("start")) as { url: string; session: unknown };
      const browser = host.browser();
      let page = await browser.open(url);
      const isAnswer = (): boolean => page.text.includes(`action="${callback}"`);
      for (let forms = 0; forms < 2 && !isAnswer(); forms += 1)
        page = await browser.submit(page, { decision: "approve" });
      const fields = [...page.text.matchAll(/name="(\w+)" value="([^"]*)"/g)];
      const body = new URLSearchParams(
        fields.map(([, name = "", value = ""]) => [name, value] as [string, string]),
      );
      const tokens = (await program.call("finish", body.toString(), session)) as { access_token: string };
      expect(await host.call(tokens.access_token)).toBe(200);
    } finally {
      await program.stop();
    }
  });
});
