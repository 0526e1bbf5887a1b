/** What needs no Docker of the OpenID Foundation's plans: the provider, its clients, and the clicks of the settings. OpenID Connect Core §3.1. */
import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import path from "node:path";
import type { Express } from "express";
import type { Page } from "playwright-core";
import { newAuthority } from "../../__tests__/servers/certificates";
import { describeWith } from "../../__tests__/servers/server-process";
import { chromium, closeAll, closeChromium, newContext } from "../clients/chromium";
import { providerApp } from "./provider";

type Command = readonly [kind: string, by: string, target: string, ...rest: (string | number)[]];
interface Settings {
  readonly alias: string;
  readonly server: { readonly discoveryUrl: string };
  readonly client: { readonly client_id: string; readonly client_secret: string };
  readonly client2: Settings["client"];
  readonly client_secret_post: Settings["client"];
  readonly browser: readonly {
    readonly match: string;
    readonly tasks: readonly { readonly match: string; readonly commands: readonly Command[] }[];
  }[];
}

const text = readFileSync(path.join(__dirname, "settings.json"), "utf8");
const written = JSON.parse(text) as Settings;
const suite = "https://localhost.emobix.co.uk:8443";

let app: Express;
let origin: string;
/** On a page of the suite, which is at another host of this server. */
let callback: string;
const server = createServer(newAuthority().certify("localhost"), (req, res) => {
  if (!callback.includes(req.headers.host ?? "-")) return void app(req, res);
  res.setHeader("Content-Type", "text/html");
  res.end('<!doctype html><title>Suite</title><p id="submission_complete">done</p>');
});

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, resolve));
  origin = `https://localhost:${(server.address() as AddressInfo).port}`;
  callback = `${origin.replace("localhost", "suite.test")}/test/a/${written.alias}/callback`;
  app = await providerApp(settings(), origin, callback);
});

afterEach(closeAll);
afterAll(async () => {
  await closeChromium();
  server.closeAllConnections();
  server.close();
});

/** The settings for the port of this test. */
function settings(): Settings {
  const here = text.replaceAll("https://172.17.0.1:9443", origin);
  return JSON.parse(here.replaceAll(suite, new URL(callback).origin)) as Settings;
}

/** As the suite compares: a star stands for anything. */
function matches(url: string, pattern: string): boolean {
  const parts = pattern.split("*").map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`).test(url);
}

/** Does what the suite's browser does: the tasks in their order, those of other pages are left out. */
async function play(page: Page, url: string): Promise<void> {
  await page.goto(url);
  const { tasks } = settings().browser.find(({ match }) => matches(url, match)) ?? { tasks: [] };
  for (const { match, commands } of tasks) {
    if (!matches(page.url(), match)) continue;
    for (const [kind, by, target, optional] of commands) {
      const found = page.locator(by === "id" ? `#${target}` : `xpath=${target}`);
      if (optional === "optional" && (await found.count()) === 0) continue;
      if (kind === "click") await Promise.all([page.waitForEvent("load"), found.click()]);
      else await found.waitFor();
    }
  }
}

async function newPage(): Promise<Page> {
  return (await newContext({ ignoreHTTPSErrors: true })).newPage();
}

/** What the provider answers, whose certificate nobody knows. */
async function ask(
  page: Page,
  url: string,
  sent?: { form: Record<string, string>; headers?: Record<string, string> },
) {
  const answer = await (sent ? page.request.post(url, sent) : page.request.get(url));
  return (await answer.json()) as Record<string, string>;
}

const tests = (): void => {
  it("is found at the address of the settings", async () => {
    const metadata = await ask(await newPage(), settings().server.discoveryUrl);
    expect(`${metadata["issuer"]}/.well-known/openid-configuration`).toBe(settings().server.discoveryUrl);
    expect(metadata["claims_parameter_supported"]).toBe(false);
  });

  it.each(["client", "client2", "client_secret_post"] as const)(
    "signs Alice in for %s, with nothing but the clicks of the settings",
    async (name) => {
      const page = await newPage();
      const { client_id, client_secret } = settings()[name];
      const endpoints = await ask(page, settings().server.discoveryUrl);
      const query = { response_type: "code", client_id, redirect_uri: callback, nonce: "n", state: "s" };
      const scope = "openid profile email address phone";
      await play(
        page,
        `${endpoints["authorization_endpoint"]}?${new URLSearchParams({ ...query, scope }).toString()}`,
      );
      const back = new URL(page.url());
      expect([back.origin + back.pathname, back.searchParams.get("state")]).toEqual([callback, "s"]);
      expect(back.searchParams.get("error_description")).toBeNull();
      const code = back.searchParams.get("code") ?? "";
      const form = { grant_type: "authorization_code", code, redirect_uri: callback };
      const basic = Buffer.from(`${client_id}:${client_secret}`).toString("base64");
      const sent =
        name === "client_secret_post"
          ? { form: { ...form, client_id, client_secret } }
          : { form, headers: { Authorization: `Basic ${basic}` } };
      const tokens = await ask(page, endpoints["token_endpoint"] ?? "", sent);
      const [, claims = ""] = (tokens["id_token"] ?? "").split(".");
      expect(JSON.parse(Buffer.from(claims, "base64url").toString())).toMatchObject({
        aud: client_id,
        nonce: "n",
        email_verified: true,
        address: { country: "NZ" },
        birthdate: "1990-01-31",
      });
    },
  );

  it("shows an error page for a redirect URI that is not registered, which the settings take as an end", async () => {
    const page = await newPage();
    const { client_id } = settings().client;
    const { authorization_endpoint } = await ask(page, settings().server.discoveryUrl);
    const query = { response_type: "code", client_id, redirect_uri: `${callback}/other`, scope: "openid" };
    await play(page, `${authorization_endpoint}?${new URLSearchParams(query).toString()}`);
    expect(page.url()).toMatch(authorization_endpoint ?? "-");
  });
};

describeWith(chromium, { name: "the provider of the OpenID Foundation's plans", tests });

describe("the workflow", () => {
  it("takes the settings and lists that are here, and says that nobody has run it", () => {
    const workflow = readFileSync(path.join(__dirname, "../../.github/workflows/openid-plans.yml"), "utf8");
    for (const word of ["Not run by us yet", "settings.json", "expected.json", "expected-skips.json", suite])
      expect(workflow).toContain(word);
    for (const file of ["expected.json", "expected-skips.json"])
      expect(JSON.parse(readFileSync(path.join(__dirname, file), "utf8"))).toEqual([]);
  });
});
