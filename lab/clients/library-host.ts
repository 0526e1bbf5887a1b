/** A host at an https URL for programs of client libraries, and a person with a browser. */
import { createPrivateKey } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, request, type RequestListener, type Server } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";
import express, { type Express } from "express";
import {
  type AuthServer,
  createAuthServer,
  generateClientSecret,
  generateSigningKey,
  memoryStorage,
  type OpenIdOptions,
} from "../../lib";
import { newAuthority } from "../../__tests__/servers/certificates";
import { newWebBrowser, type Page, type WebBrowser } from "../../__tests__/servers/example";
import { es256, type Json, type Sign, writeToken } from "../../__tests__/requests/forged-tokens";
import { type Bend, bendIdTokens } from "./bent-id-tokens";

const { secret, digest } = generateClientSecret();
const signingKey = generateSigningKey();
/** Of ID tokens. */
const rsaKey = generateSigningKey("RS256");

/** Where the programs want the answer to be. */
export const callback = "https://client.example/callback";

/** The host, and what programs have to know of it. */
export interface LibraryHost {
  readonly auth: AuthServer;
  readonly issuer: string;
  /** The environment of each program. */
  readonly env: Readonly<Record<string, string>>;
  /** What was asked for, and the status of the answer, since this was emptied. */
  readonly requests: string[];
  /** What the API says in place of who the person is, if it is set. */
  apiSays: { readonly status: number; readonly body: object } | undefined;
  /** What is wrong with the ID tokens that it issues, if it is set. */
  bend: Bend | undefined;
  /** A browser that nobody has used. */
  browser(): WebBrowser;
  /** As a program asks for its https URLs. */
  fetch(url: string, init?: RequestInit): Promise<Response>;
  /** The status of an API call with this token. */
  call(accessToken: unknown): Promise<number>;
  /** Another key signs from now on. */
  rotate(): void;
  /** A token that the host's first key has signed. */
  signedByHost(header: Json, claims: Json): string;
  /** A token that the client gets for itself, at this pair. */
  ownToken(pair: string): Promise<string>;
  close(): Promise<void>;
}

async function listen(server: Server): Promise<number> {
  server.listen(0, "localhost");
  await new Promise((resolve) => server.once("listening", resolve));
  return (server.address() as AddressInfo).port;
}

/** As people open a page or send a form: `fetch` would say that a script asks. */
function navigate(
  url: string,
  { method = "GET", headers, body }: Pick<RequestInit, "method" | "headers" | "body">,
): Promise<Response> {
  const form = body instanceof URLSearchParams && { "content-type": "application/x-www-form-urlencoded" };
  const sent = { ...(headers as Record<string, string>), ...form, "sec-fetch-mode": "navigate" };
  return new Promise((resolve, reject) => {
    const asked = request(url, { method, headers: sent, agent: false }, (answer) => {
      const { statusCode: status = 0, headersDistinct } = answer;
      const pairs = Object.entries(headersDistinct).flatMap(([name, values = []]) =>
        values.map((value): [string, string] => [name, value]),
      );
      // mod_auth_openidc writes a page that says what is wrong, and Apache another one behind it
      asked.off("error", reject).on("error", () => undefined);
      const read = text(answer).catch(() => "");
      void read.then((page) => resolve(new Response(page, { status, headers: pairs })));
    });
    asked.once("error", reject);
    asked.end(body instanceof URLSearchParams ? body.toString() : undefined);
  });
}

interface Mounted {
  readonly origin: string;
  readonly redirectUris: readonly string[];
  /** Where the host signs people in to other apps. */
  readonly openid: OpenIdOptions | undefined;
}

function mount(app: Express, { origin, redirectUris, openid }: Mounted) {
  const method = {
    authenticate: ({ req }: { req: express.Request }) =>
      (req.headers.cookie ?? "").includes("session=alice")
        ? ({ kind: "authenticated", subject: "alice" } as const)
        : ({ kind: "interaction", url: "/sign-in" } as const),
  };
  const ownScopes = Object.keys(openid?.scopes ?? {});
  const sentences = Object.fromEntries(ownScopes.map((scope) => [scope, `See your ${scope}`]));
  const auth = createAuthServer({
    baseUrl: `${origin}/login`,
    secrets: ["a test secret of at least 32 characters"],
    signingKeys: [signingKey, ...(openid ? [rsaKey] : [])],
    storage: memoryStorage({
      clients: [
        {
          clientId: "web",
          name: "A web app",
          confidential: true,
          secretDigests: [digest],
          redirectUris: [callback, ...redirectUris],
          subscriptions: { orders: {}, reports: {} },
        },
        {
          clientId: "kubectl",
          name: "kubectl",
          confidential: false,
          platform: "native",
          redirectUris: ["http://localhost:8000"],
          subscriptions: { orders: { trusted: true } },
        },
      ],
    }),
    authMethods: { password: method, otp: method },
    apis: {
      orders: {
        audience: `${origin}/orders`,
        authMethods: ["password", "otp"],
        scopes: { read: "See your orders", ...sentences },
        defaultScopes: ["read"],
        ...(openid && { openid }),
      },
      reports: {
        audience: `${origin}/reports`,
        authMethods: ["password"],
        scopes: { read: "Read your reports" },
        defaultScopes: ["read"],
      },
    },
    revocationLagSeconds: 0,
  });
  app.use("/login", auth.router);
  app.use(auth.wellKnown);
  app.get("/sign-in", (_, res) => void res.send('<form method="post"><input name="name"></form>'));
  app.post("/sign-in", (req, res) => {
    res.appendHeader("Set-Cookie", "session=alice; Path=/; HttpOnly; Secure; SameSite=Lax");
    auth.resume(req, res, { otherwise: "/" });
  });
  app.get("/orders", auth.requireBearer({ api: "orders", scope: "read" }), (req, res) => {
    res.json({ subject: req.auth?.subject });
  });
  return auth;
}

/** Starts it; the programs may also have an answer sent to these redirect URIs. With `openid`, it signs people in to them. */
export async function startLibraryHost(
  redirectUris: readonly string[] = [],
  openid?: OpenIdOptions,
): Promise<LibraryHost> {
  const requests: string[] = [];
  const app = express();
  app.use((req, res, next) => {
    const { pathname } = new URL(req.url, origin);
    res.once("finish", () => requests.push(`${req.method} ${pathname} ${res.statusCode}`));
    next();
  });
  app.get("/orders", (_, res, next) => {
    if (host.apiSays) res.status(host.apiSays.status).json(host.apiSays.body);
    else next();
  });
  const bending = bendIdTokens(createPrivateKey({ key: { ...rsaKey }, format: "jwk" }));
  app.use(bending.middleware);
  const authority = newAuthority();
  const folder = await mkdtemp(path.join(tmpdir(), "authmount-libraries-"));
  const caFile = path.join(folder, "ca.pem");
  await writeFile(caFile, authority.ca);
  const secure = createHttpsServer(authority.certify("localhost"), app as RequestListener);
  const origin = `https://localhost:${await listen(secure)}`;
  // Node.js trusts the test's authority in new processes only: the browser of the test comes as behind a proxy
  const plain = createServer(app as RequestListener);
  const plainOrigin = `http://localhost:${await listen(plain)}`;
  const auth = mount(app, { origin, redirectUris, openid });
  const reachable = (url: URL | string) => new URL(url).href.replace(origin, plainOrigin);
  const send = (url: URL | string, init?: RequestInit) => fetch(reachable(url), init);
  const issuer = `${origin}/login/auth/password/api/orders`;
  const byHost: Sign = es256(createPrivateKey({ key: { ...signingKey }, format: "jwk" }));
  const host: LibraryHost = {
    auth,
    issuer,
    requests,
    apiSays: undefined,
    get bend() {
      return bending.bend;
    },
    set bend(bend) {
      bending.bend = bend;
    },
    env: {
      ISSUER: issuer,
      API: `${origin}/orders`,
      AUDIENCE: `${origin}/orders`,
      KEYS_URL: `${origin}/login/jwks`,
      CLIENT_SECRET: secret,
      SESSION_SECRET: "a secret of the app with its sessions",
      NODE_EXTRA_CA_CERTS: caFile,
      SSL_CERT_FILE: caFile,
      REQUESTS_CA_BUNDLE: caFile,
    },
    browser: () => newWebBrowser((url, init) => navigate(reachable(url), init)),
    fetch: send,
    async call(accessToken) {
      const headers = { authorization: `Bearer ${String(accessToken)}` };
      return (await send(`${origin}/orders`, { headers })).status;
    },
    rotate() {
      const signsFrom = Math.floor(Date.now() / 1000);
      auth.rotateKeys([{ key: generateSigningKey(), signsFrom }, signingKey]);
    },
    signedByHost: (header, claims) => writeToken(header, claims, byHost),
    async ownToken(pair) {
      const headers = { authorization: `Basic ${Buffer.from(`web:${secret}`).toString("base64")}` };
      const body = new URLSearchParams({ grant_type: "client_credentials", scope: "read" });
      const response = await send(`${origin}/login/auth/${pair}/token`, { method: "POST", headers, body });
      return ((await response.json()) as { access_token: string }).access_token;
    },
    async close() {
      for (const server of [secure, plain]) {
        server.closeAllConnections();
        await new Promise((resolve) => server.close(resolve));
      }
      await rm(folder, { recursive: true, force: true });
    },
  };
  return host;
}

/** A person signs in and allows what the client asks, up to the URL that `stopAt` begins. */
export async function goThrough(browser: WebBrowser, url: string, stopAt: string = callback): Promise<Page> {
  let page = await browser.open(url, stopAt);
  // an app's own sign-in page, the host's, and the consent page
  for (let forms = 0; forms < 3 && page.text.includes("<form"); forms += 1) {
    page = await browser.submit(page, { decision: "approve" }, stopAt);
  }
  return page;
}
