/** What needs no Docker of the OpenID Foundation's plans: the provider, its clients, and the clicks of the settings. OpenID Connect Core §3.1. */
import { createPrivateKey } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import path from "node:path";
import type { Express } from "express";
import type { Page } from "playwright-core";
import { codeChallenge, codeVerifier } from "../../__tests__/browser/authorization-request";
import { assertionOf, presenting } from "../../__tests__/requests/client-assertions";
import { proofOf } from "../../__tests__/requests/dpop-proofs";
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

/** A key of a client, with its private part. */
type ClientKey = Readonly<Record<"kty" | "crv" | "x" | "y" | "d" | "kid", string>>;
interface FapiSettings extends Pick<Settings, "alias" | "server" | "browser"> {
  readonly client: { readonly client_id: string; readonly jwks: { readonly keys: readonly [ClientKey] } };
  readonly client2: FapiSettings["client"];
  readonly resource: { readonly resourceUrl: string };
}

const textOf = (name: string): string => readFileSync(path.join(__dirname, `${name}.json`), "utf8");
const written = JSON.parse(textOf("settings")) as Settings;
const writtenFapi = JSON.parse(textOf("settings-fapi2")) as FapiSettings;
const suite = "https://localhost.emobix.co.uk:8443";

let app: Express;
let origin: string;
/** The suite, which is at another host of this server. */
let suiteHere: string;
/** On a page of it. */
let callback: string;
const server = createServer(newAuthority().certify("localhost"), (req, res) => {
  if (!suiteHere.includes(req.headers.host ?? "-")) return void app(req, res);
  res.setHeader("Content-Type", "text/html");
  res.end('<!doctype html><title>Suite</title><p id="submission_complete">done</p>');
});

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, resolve));
  origin = `https://localhost:${(server.address() as AddressInfo).port}`;
  suiteHere = origin.replace("localhost", "suite.test");
  callback = `${suiteHere}/test/a/${written.alias}/callback`;
  app = await providerApp({ settings: settings(), fapi: writtenFapi, origin, suite: suiteHere });
});

afterEach(closeAll);
afterAll(async () => {
  await closeChromium();
  server.closeAllConnections();
  server.close();
});

/** Settings for the port of this test. */
function here(name: string): unknown {
  const text = textOf(name).replaceAll("https://172.17.0.1:9443", origin);
  return JSON.parse(text.replaceAll(suite, suiteHere));
}

const settings = (): Settings => here("settings") as Settings;
const fapiSettings = (): FapiSettings => here("settings-fapi2") as FapiSettings;

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

/** The clients of the FAPI plan, whose keys are in its settings. */
const fapiTests = (): void => {
  it.each(["client", "client2"] as const)(
    "leads %s to a token that is bound to a key, and to the resource, with nothing but the clicks of the settings",
    async (name) => {
      const page = await newPage();
      const { [name]: client, server: found, resource, alias } = fapiSettings();
      const metadata = await ask(page, found.discoveryUrl);
      const key = createPrivateKey({ key: client.jwks.keys[0], format: "jwk" });
      const proven = (): Record<string, string> => {
        const [iss, aud, header] = [client.client_id, metadata["issuer"], { kid: client.jwks.keys[0].kid }];
        const now = Math.floor(Date.now() / 1_000);
        const claims = { iss, sub: iss, aud, iat: now, exp: now + 60 };
        return presenting(assertionOf({ key, header, claims }));
      };
      const redirectUri = `${suiteHere}/test/a/${alias}/callback`;
      const pushed = await ask(page, metadata["pushed_authorization_request_endpoint"] ?? "", {
        form: {
          ...proven(),
          client_id: client.client_id,
          response_type: "code",
          redirect_uri: redirectUri,
          scope: "pay",
          code_challenge: codeChallenge,
          code_challenge_method: "S256",
        },
      });
      const query = { client_id: client.client_id, request_uri: pushed["request_uri"] ?? "" };
      await play(page, `${metadata["authorization_endpoint"]}?${new URLSearchParams(query).toString()}`);
      const code = new URL(page.url()).searchParams.get("code") ?? "";
      const url = metadata["token_endpoint"] ?? "";
      const grant = { grant_type: "authorization_code", code, redirect_uri: redirectUri };
      const tokens = await ask(page, url, {
        form: { ...proven(), ...grant, code_verifier: codeVerifier },
        headers: { DPoP: proofOf({ method: "POST", url }) },
      });
      const { access_token: token = "" } = tokens;
      const { resourceUrl } = resource;
      const headers = { Authorization: `DPoP ${token}`, DPoP: proofOf({ url: resourceUrl, token }) };
      expect(await (await page.request.get(resourceUrl, { headers })).json()).toEqual({ paid: true });
    },
  );
};

describeWith(chromium, { name: "the provider of the OpenID Foundation's plans", tests });
describeWith(chromium, { name: "the same for its FAPI 2.0 plan", tests: fapiTests });

describe("the workflow", () => {
  it("takes the settings and lists that are here, and says that nobody has run it", () => {
    const workflow = readFileSync(path.join(__dirname, "../../.github/workflows/openid-plans.yml"), "utf8");
    const files = ["settings.json", "settings-fapi2.json", "expected.json", "expected-skips.json"];
    for (const word of ["Not run by us yet", ...files, suite]) expect(workflow).toContain(word);
    for (const file of ["expected.json", "expected-skips.json"])
      expect(JSON.parse(readFileSync(path.join(__dirname, file), "utf8"))).toEqual([]);
  });
});
