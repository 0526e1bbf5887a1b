/** The app of docs/add-to-an-app.md as it is printed: express-session, connect-pg-simple, helmet, csrf-csrf and a real PostgreSQL, over HTTP. */
import type { Server } from "node:http";
import { Pool, type PoolConfig } from "pg";
import { type AuthServer, generateSigningKey } from "../../lib";
import * as authmountPostgres from "../../lib/postgres";
import { codeChallenge, codeVerifier } from "../../__tests__/browser/authorization-request";
import { type LifeAnswer, newWalker, type Walker } from "../../__tests__/clients/client-life";
import { basic } from "../../__tests__/hosts/clients";
import { postgres, type PostgresServer, startPostgres } from "../../__tests__/servers/postgres-server";
import { describeWith, freePort } from "../../__tests__/servers/server-process";
import { runWaitingBlock } from "../../__tests__/sources/doc-block";

const page = "add-to-an-app.md";
const callback = "https://shop.example/callback";

const typed = { name: "alice", password: "wonderland" };
const open = async (walker: Walker, url: string): Promise<LifeAnswer> =>
  walker.follow(await walker.browse(url), callback);
const submit = async (
  walker: Walker,
  form: LifeAnswer,
  fields: Record<string, string>,
): Promise<LifeAnswer> => walker.follow(await walker.submit(form, fields), callback);
const codeIn = ({ headers }: LifeAnswer): string =>
  new URL(headers.get("location") ?? "").searchParams.get("code") ?? "";
const withToken = (token = ""): RequestInit => ({ headers: { authorization: `Bearer ${token}` } });

describeWith(postgres, {
  name: "docs/add-to-an-app.md",
  tests: () => {
    let database: PostgresServer;
    let origin: string;
    let issuer: string;
    let secret: string;
    const pools: Pool[] = [];
    let app: { readonly auth: AuthServer; readonly server: Server };

    beforeAll(async () => {
      database = await startPostgres();
      const port = await freePort();
      origin = `http://localhost:${port}`;
      issuer = `${origin}/oauth/auth/account/api/orders`;
      class PoolHere extends Pool {
        constructor(config?: PoolConfig) {
          super({ ...config, connectionString: database.url });
          pools.push(this);
        }
      }
      const modules = { pg: { Pool: PoolHere }, "authmount/postgres": authmountPostgres };
      const env = {
        ORIGIN: origin,
        PORT: String(port),
        SESSION_SECRET: "a session secret",
        CSRF_SECRET: "a csrf secret",
        SECRETS: "a-test-secret-of-at-least-32-characters",
        SIGNING_KEYS: JSON.stringify([generateSigningKey()]),
      };
      const given = {
        process: { env },
        findUser: (name: unknown, password: unknown) =>
          Promise.resolve(password === "wonderland" ? { id: name } : undefined),
        ordersOf: (userId: string) => Promise.resolve([{ of: userId }]),
        console: { ...console, log: () => undefined },
      };
      const exported = await runWaitingBlock({ page, heading: "The whole program", modules }, given);
      app = exported as unknown as typeof app;
      await runWaitingBlock(
        { page, heading: "Register a client", modules },
        { console: { ...console, log: (text: string) => (secret = text) } },
      );
    });
    afterAll(async () => {
      await new Promise((resolve) => app.server.close(resolve).closeAllConnections());
      await Promise.all(pools.filter((pool) => !pool.ending).map((pool) => pool.end()));
      await database.close();
    });

    const authorizeUrl = (): string => {
      const request = {
        client_id: "shop",
        response_type: "code",
        redirect_uri: callback,
        scope: "orders:read",
        state: "a state",
        code_challenge: codeChallenge,
        code_challenge_method: "S256",
      };
      return `${issuer}/authorize?${new URLSearchParams(request).toString()}`;
    };

    async function redeem(walker: Walker, code: string): Promise<Record<string, string>> {
      const answer = await walker.send(`${issuer}/token`, {
        method: "POST",
        headers: { authorization: basic("shop", secret) },
        body: new URLSearchParams({
          grant_type: "authorization_code",
          code,
          redirect_uri: callback,
          code_verifier: codeVerifier,
        }),
      });
      return JSON.parse(answer.text) as Record<string, string>;
    }

    /** A person signs in for the client, and allows what has not been allowed before. */
    async function signInForShop(walker: Walker, name = "alice"): Promise<Record<string, string>> {
      const consentOrCode = await submit(walker, await open(walker, authorizeUrl()), { ...typed, name });
      const back =
        consentOrCode.status === 200
          ? await submit(walker, consentOrCode, { decision: "approve" })
          : consentOrCode;
      return redeem(walker, codeIn(back));
    }

    it("leads from the sign-in over consent to a code, tokens and the API, and asks nothing the second time", async () => {
      const walker = newWalker(origin);
      const form = await open(walker, authorizeUrl());
      expect(form.url.pathname).toBe("/sign-in");
      const consent = await submit(walker, form, typed);
      expect(consent.text).toContain("See your orders");
      const back = await submit(walker, consent, { decision: "approve" });
      const tokens = await redeem(walker, codeIn(back));
      expect(tokens).toMatchObject({ scope: "orders:read", refresh_token: expect.any(String) as unknown });
      const call = await newWalker(origin).send("/orders", withToken(tokens["access_token"]));
      expect([call.status, call.text]).toEqual([200, '[{"of":"alice"}]']);
      const again = await open(walker, authorizeUrl());
      expect(await redeem(walker, codeIn(again))).toMatchObject({ scope: "orders:read" });
    });

    it("lets the browser go from the sign-in form to the client: no form-action in the policy of that page", async () => {
      const form = await newWalker(origin).send("/sign-in");
      expect(form.headers.get("content-security-policy")).toContain("default-src 'self'");
      expect(form.headers.get("content-security-policy")).not.toContain("form-action");
      expect(form.headers.get("referrer-policy")).toBe("same-origin");
    });

    it("shows the form again after a wrong password, and keeps the client's request", async () => {
      const walker = newWalker(origin);
      const form = await open(walker, authorizeUrl());
      const again = await submit(walker, form, { ...typed, password: "a guess" });
      expect(again.url.href).toBe(form.url.href);
      expect((await submit(walker, again, { ...typed, name: "bob" })).text).toContain("See your orders");
    });

    it.each([
      ["no", { csrf: "" }],
      ["a made-up", { csrf: "made up" }],
    ])("refuses the sign-in form with %s CSRF token", async (_, fields) => {
      const walker = newWalker(origin);
      const form = await open(walker, `${origin}/sign-in`);
      expect((await walker.submit(form, { ...typed, ...fields })).status).toBe(403);
    });

    it("refuses the CSRF token of another session", async () => {
      const [alice, mallory] = [newWalker(origin), newWalker(origin)];
      const form = await open(mallory, `${origin}/sign-in`);
      await alice.browse("/sign-in");
      expect((await alice.submit(form, typed)).status).toBe(403);
    });

    it("signs in under a new session id (session fixation)", async () => {
      const walker = newWalker(origin);
      const form = await open(walker, authorizeUrl());
      const planted = walker.cookies.get("session");
      await submit(walker, form, typed);
      expect(walker.cookies.get("session")).not.toBe(planted);
      const thief = newWalker(origin);
      thief.cookies.set("session", planted ?? "");
      expect((await open(thief, authorizeUrl())).url.pathname).toBe("/sign-in");
    });

    it("ends an ordinary sign-in at the start page", async () => {
      const walker = newWalker(origin);
      const home = await submit(walker, await open(walker, `${origin}/sign-in`), typed);
      expect([home.url.pathname, home.status]).toEqual(["/", 200]);
      expect(home.text).toContain("Sign out");
    });

    it("serves one route by the session and by a token, and a token decides whatever cookie comes with it", async () => {
      const alice = newWalker(origin);
      await submit(alice, await open(alice, `${origin}/sign-in`), typed);
      expect((await alice.browse("/orders")).text).toBe('[{"of":"alice"}]');
      const { access_token } = await signInForShop(newWalker(origin), "bob");
      expect((await alice.browse("/orders", withToken(access_token))).text).toBe('[{"of":"bob"}]');
      expect((await alice.browse("/orders", withToken("made-up"))).status).toBe(401);
      const stranger = await newWalker(origin).send("/orders");
      expect(stranger.status).toBe(401);
      expect(stranger.headers.get("www-authenticate")).toMatch(/^Bearer /);
    });

    it("asks the session for a CSRF token, and a client for its scope", async () => {
      const walker = newWalker(origin);
      const { access_token } = await signInForShop(walker);
      const cancel = { method: "POST" };
      const basicHeader = { headers: { authorization: basic("alice", "anything") } };
      expect((await walker.browse("/orders/cancel", cancel)).status).toBe(403);
      expect((await walker.browse("/orders/cancel", { ...cancel, ...basicHeader })).status).toBe(403);
      const byClient = await newWalker(origin).send("/orders/cancel", {
        ...cancel,
        ...withToken(access_token),
      });
      expect(byClient.headers.get("www-authenticate")).toContain('error="insufficient_scope"');
    });

    it("gives the client no token for itself", async () => {
      const answer = await newWalker(origin).send(`${issuer}/token`, {
        method: "POST",
        headers: { authorization: basic("shop", secret) },
        body: new URLSearchParams({ grant_type: "client_credentials" }),
      });
      expect(answer.text).toContain("unauthorized_client");
      expect(answer.headers.getSetCookie()).toEqual([]);
    });

    it("signs out of the browser alone, and everywhere with all tokens", async () => {
      const [laptop, phone] = [newWalker(origin), newWalker(origin)];
      const { access_token, refresh_token = "" } = await signInForShop(laptop);
      await submit(phone, await open(phone, `${origin}/sign-in`), typed);
      const signedOut = await submit(laptop, await laptop.browse("/"), {});
      expect(signedOut.text).toContain("Sign in");
      expect((await open(laptop, authorizeUrl())).url.pathname).toBe("/sign-in");
      expect((await laptop.send("/orders", withToken(access_token))).status).toBe(200);

      await submit(phone, await phone.browse("/"), { everywhere: "yes" });
      expect((await phone.browse("/orders")).status).toBe(401);
      const refreshed = await laptop.send(`${issuer}/token`, {
        method: "POST",
        headers: { authorization: basic("shop", secret) },
        body: new URLSearchParams({ grant_type: "refresh_token", refresh_token }),
      });
      expect(refreshed.text).toContain("invalid_grant");
    });

    it("publishes its metadata at the root, as the page checks it", async () => {
      const answer = await newWalker(origin).send(
        "/.well-known/oauth-authorization-server/oauth/auth/account/api/orders",
      );
      expect(JSON.parse(answer.text)).toMatchObject({ issuer });
    });
  },
});
