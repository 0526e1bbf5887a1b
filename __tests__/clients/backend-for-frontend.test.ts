/** examples/backend-for-frontend with the authorization server that it starts: people, and attackers with what they may have got hold of. */
import { setTimeout as delay } from "node:timers/promises";
import { type LifeAnswer, newWalker, type Walker } from "./client-life";
import { startExample, type Example } from "../servers/example";

const file = "backend-for-frontend/start.js";
const orders = '{"orders":["Tea, 100 g"],"for":"alice"}';

let example: Example;

async function start(env: Record<string, string> = {}): Promise<void> {
  const before = { ...process.env };
  Object.assign(process.env, env);
  example = await startExample(file, /Open http.*\n/).finally(() => (process.env = before));
}

const password = (): string => /password of alice is (\S+)/.exec(example.printed.out)?.[1] ?? "";
const countOf = (kind: string): number =>
  example.printed.out.match(new RegExp(`^event ${kind}\\b`, "gm"))?.length ?? 0;

async function untilTold(kind: string, times: number): Promise<void> {
  for (let attempt = 0; countOf(kind) < times; attempt += 1) {
    if (attempt > 12_000) throw new Error(`not printed, but: ${example.printed.out}${example.printed.err}`);
    await delay(5);
  }
}

/** A request of the page's script. */
const ask = (walker: Walker, path: string, { headers, ...init }: RequestInit = {}): Promise<LifeAnswer> =>
  walker.browse(`${example.origin}${path}`, {
    ...init,
    headers: {
      "x-order-desk": "1",
      "sec-fetch-site": "same-origin",
      ...(init.method && { origin: example.origin }),
      ...(headers as Record<string, string>),
    },
  });

/** Signs in at the authorization server as far as the answer to the client, which is not opened. */
async function answerFor(walker: Walker, changed: (asked: URL) => void = () => undefined): Promise<URL> {
  const begun = await walker.browse(`${example.origin}/sign-in`);
  const url = new URL(begun.headers.get("location") ?? "");
  changed(url);
  const stopAt = `${example.origin}/callback`;
  let answer = await walker.follow(await walker.browse(url), stopAt);
  if (answer.text.includes('type="password"')) {
    answer = await walker.follow(await walker.submit(answer, { password: password() }), stopAt);
  }
  // somebody may have allowed it before
  if (answer.text.includes('name="decision"')) answer = await walker.submit(answer, { decision: "approve" });
  return new URL(answer.headers.get("location") ?? "");
}

async function signedIn(): Promise<Walker> {
  const walker = newWalker(example.origin);
  await walker.follow(await walker.browse(await answerFor(walker)));
  return walker;
}

const failed = (answer: LifeAnswer): string | null => answer.headers.get("location");

const readsOrders = async (walker: Walker): Promise<boolean> =>
  (await ask(walker, "/api/orders")).text === orders;

describe("examples/backend-for-frontend (RFC 10017: Backend For Frontend)", () => {
  beforeAll(() => start());
  afterAll(() => example.stop());

  it("shows what the API answers for the person", async () => {
    const walker = await signedIn();
    const { status, text, headers } = await ask(walker, "/api/orders");
    expect([status, text]).toEqual([200, orders]);
    expect(headers.get("cache-control")).toBe("no-store");
    expect(JSON.parse((await ask(walker, "/session")).text)).toEqual({ signedIn: true });
  });

  it("gives the browser ids in __Host- cookies, which no script can read", async () => {
    const walker = await signedIn();
    const lines = walker.answers.flatMap(({ headers }) => headers.getSetCookie());
    const own = lines.filter((line) => line.startsWith("__Host-"));
    expect(own.filter((line) => !/^__Host-[\w-]+=[\w-]{43}; Path=\/; HttpOnly; Secure; /.test(line))).toEqual(
      [],
    );
    expect(own.find((line) => line.startsWith("__Host-session="))).toMatch(/SameSite=Strict$/);
    expect(own.find((line) => line.startsWith("__Host-sign-in="))).toMatch(/SameSite=Lax$/);
  });

  it("never tells the browser a token, a secret or the verifier", async () => {
    const walker = await signedIn();
    await ask(walker, "/api/orders");
    await ask(walker, "/api/orders", { method: "POST", body: "{}" });
    await ask(walker, "/session", { method: "DELETE" });
    await ask(walker, "/api/orders");
    const ofBackend = walker.answers.filter(({ url }) => url.origin === example.origin);
    const told = ofBackend.map(({ headers, text }) => `${JSON.stringify([...headers])} ${text}`);
    expect(
      told.filter((text) =>
        /eyJ[\w-]+\.eyJ|access_token|refresh_token|code_verifier|client_secret/.test(text),
      ),
    ).toEqual([]);
  });

  it("revokes at sign-out, and the session is over wherever its cookie is (RFC 7009 §2.1)", async () => {
    const walker = await signedIn();
    const before = countOf("token-revoked");
    const stolen = walker.cookies.get("__Host-session") ?? "";
    const { status, text, headers } = await ask(walker, "/session", { method: "DELETE" });
    expect([status, JSON.parse(text)]).toEqual([200, { signedIn: false, revoked: true }]);
    expect(headers.getSetCookie()).toEqual([expect.stringMatching(/^__Host-session=; .*1970/)]);
    await untilTold("token-revoked", before + 1);
    walker.cookies.set("__Host-session", stolen);
    expect((await ask(walker, "/api/orders")).status).toBe(401);
    expect((await ask(walker, "/session", { method: "DELETE" })).status).toBe(200);
  });

  describe("a session cookie in a request that the page did not make (CSRF)", () => {
    const forged: Readonly<Record<string, RequestInit>> = {
      "a form of another site": { method: "POST", headers: { origin: "https://evil.example" } },
      "a form of another port of localhost": { method: "POST", headers: { origin: "http://localhost:1" } },
      "a form that sends no Origin": { method: "POST" },
      "a form of a page without referrer": { method: "POST", headers: { origin: "null" } },
      "a script of another origin": { headers: { origin: "https://evil.example", "x-order-desk": "1" } },
      "a GET of another origin of this site": {
        headers: { "sec-fetch-site": "same-site", "x-order-desk": "1" },
      },
      "a link, an image or an address typed in": { headers: { "sec-fetch-site": "none" } },
      "a sign-out of another site": {
        method: "DELETE",
        headers: { origin: "https://evil.example", "x-order-desk": "1" },
      },
      "a script that sends no Origin": { method: "DELETE", headers: { "x-order-desk": "1" } },
    };

    it.each(Object.entries(forged))("is refused: %s", async (_, init) => {
      const walker = await signedIn();
      const cookie = `__Host-session=${walker.cookies.get("__Host-session")}`;
      for (const path of ["/api/orders", "/session"]) {
        const headers = { cookie, ...(init.headers as Record<string, string>) };
        const { status, text } = await walker.send(`${example.origin}${path}`, { ...init, headers });
        expect([status, text]).toEqual([403, '{"error":"not_from_here"}']);
      }
      expect(await readsOrders(walker)).toBe(true);
    });

    it("lets no preflight pass (Fetch standard: CORS-preflight request)", async () => {
      const walker = newWalker(example.origin);
      const { status, headers } = await walker.send(`${example.origin}/api/orders`, {
        method: "OPTIONS",
        headers: {
          origin: "https://evil.example",
          "access-control-request-method": "POST",
          "access-control-request-headers": "x-order-desk",
        },
      });
      expect(status).toBe(403);
      expect([...headers.keys()].filter((name) => name.startsWith("access-control-"))).toEqual([]);
    });
  });

  it("a stolen session cookie is worth nothing at the API and at the authorization server", async () => {
    const walker = await signedIn();
    const [begun] = walker.answers;
    const authorize = new URL(begun?.headers.get("location") ?? "");
    const cookie = `__Host-session=${walker.cookies.get("__Host-session")}`;
    const api = await walker.send(`${authorize.origin}/orders`, { headers: { cookie, "x-order-desk": "1" } });
    authorize.searchParams.set("prompt", "none");
    const silent = await walker.send(authorize, { headers: { cookie } });
    expect(api.status).toBe(401);
    expect(silent.headers.get("location")).toContain("error=login_required");
  });

  describe("an answer that is not for this browser", () => {
    it.each(["state", "iss"])("is refused with another %s (RFC 9700 §4.4, 4.7)", async (name) => {
      const walker = newWalker(example.origin);
      const answer = await answerFor(walker);
      expect(answer.searchParams.get("code")).toEqual(expect.any(String));
      const other = new URL(answer);
      other.searchParams.set(name, "https://attacker.example");
      expect(failed(await walker.browse(other))).toBe("/?sign-in=not-asked");
      expect(await readsOrders(walker)).toBe(false);
      await walker.browse(answer);
      expect(await readsOrders(walker)).toBe(true);
    });

    it("is refused in a browser that has not asked, or that has asked something else", async () => {
      const answer = await answerFor(newWalker(example.origin));
      const [idle, asking] = [newWalker(example.origin), newWalker(example.origin)];
      await asking.browse("/sign-in");
      for (const walker of [idle, asking]) {
        expect(failed(await walker.browse(answer))).toBe("/?sign-in=not-asked");
        expect(await readsOrders(walker)).toBe(false);
      }
    });

    it("is refused when its code was made for another browser (code injection, RFC 9700 §4.5)", async () => {
      const stolen = await answerFor(newWalker(example.origin));
      const attacker = newWalker(example.origin);
      const own = await answerFor(attacker);
      own.searchParams.set("code", stolen.searchParams.get("code") ?? "");
      expect(failed(await attacker.browse(own))).toBe("/?sign-in=refused");
      expect(await readsOrders(attacker)).toBe(false);
    });

    it("is refused when the challenge was taken off the request (PKCE downgrade, RFC 9700 §4.8)", async () => {
      const walker = newWalker(example.origin);
      const answer = await answerFor(walker, ({ searchParams }) => {
        searchParams.delete("code_challenge");
        searchParams.delete("code_challenge_method");
      });
      expect(answer.searchParams.get("code")).toEqual(expect.any(String));
      expect(failed(await walker.browse(answer))).toBe("/?sign-in=refused");
      expect(await readsOrders(walker)).toBe(false);
    });

    it("signs nobody in when the authorization server says no (RFC 6749 §4.1.2.1)", async () => {
      const walker = newWalker(example.origin);
      const asked = await answerFor(walker, ({ searchParams }) => searchParams.set("prompt", "none"));
      expect(asked.searchParams.get("error")).toBe("login_required");
      expect(failed(await walker.browse(asked))).toBe("/?sign-in=refused");
      expect(await readsOrders(walker)).toBe(false);
    });

    it("counts once, though it comes twice at the same moment", async () => {
      const walker = newWalker(example.origin);
      const answer = await answerFor(walker);
      const both = await Promise.all([walker.browse(answer), walker.browse(answer)]);
      expect(new Set(both.map(failed))).toEqual(new Set(["/", "/?sign-in=not-asked"]));
      expect(await readsOrders(walker)).toBe(true);
    });

    it("leaves whoever is signed in as they are", async () => {
      const walker = await signedIn();
      for (const path of [
        "/callback",
        "/callback?code=c&state=s",
        "/callback?error=access_denied",
        "/sign-in",
      ]) {
        await walker.browse(`${example.origin}${path}`);
      }
      expect(await readsOrders(walker)).toBe(true);
    });
  });

  it("begins each session under a new id (session fixation)", async () => {
    const walker = newWalker(example.origin);
    walker.cookies.set("__Host-session", "planted");
    await walker.browse(await answerFor(walker));
    expect(walker.cookies.get("__Host-session")).toMatch(/^[\w-]{43}$/);
    const thief = newWalker(example.origin);
    thief.cookies.set("__Host-session", "planted");
    expect(await readsOrders(thief)).toBe(false);
  });
});

describe("examples/backend-for-frontend with tokens that are about to expire", () => {
  beforeAll(() => start({ ACCESS_TOKEN_SECONDS: "5" }));
  afterAll(() => example.stop());

  it("shares one refresh between requests that come together (RFC 9700 §4.14.2)", async () => {
    const walker = await signedIn();
    const together = await Promise.all(Array.from({ length: 20 }, () => ask(walker, "/api/orders")));
    expect(new Set(together.map(({ text }) => text))).toEqual(new Set([orders]));
    expect(await readsOrders(walker)).toBe(true);
    await untilTold("token-refreshed", 2);
    expect(countOf("replay-detected")).toBe(0);
  });

  it("is signed out on both sides when requests and a sign-out come together", async () => {
    const walker = await signedIn();
    const before = countOf("token-revoked");
    const session = walker.cookies.get("__Host-session") ?? "";
    await Promise.all([
      ...Array.from({ length: 5 }, () => ask(walker, "/api/orders")),
      ask(walker, "/session", { method: "DELETE" }),
    ]);
    await untilTold("token-revoked", before + 1);
    walker.cookies.set("__Host-session", session);
    expect(await readsOrders(walker)).toBe(false);
    expect(countOf("replay-detected")).toBe(0);
  });
});
