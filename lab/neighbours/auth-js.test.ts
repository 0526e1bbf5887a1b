/** Auth.js (@auth/express) sessions as the authentication method. */
import express, { type Router } from "express";
import { type AuthMethod, type AuthServer, createAuthServer } from "../../lib";
import {
  authorizeUrl,
  type LifeAnswer,
  live,
  newWalker,
  ofServer,
  type Walker,
  wholeLife,
} from "../../__tests__/clients/client-life";
import { stopClock } from "../../__tests__/hosts/clock";
import { runBlock } from "../../__tests__/sources/doc-block";
import {
  clientCallback,
  listenLocally,
  type LocalServer,
  optionsAt,
} from "../../__tests__/hosts/neighbour-host";

const { default: credentials } = jest.requireActual<{ default: (config: object) => object }>(
  "@auth/express/providers/credentials",
);

/** Takes the password "wonderland". */
const provider = credentials({
  credentials: { name: {}, password: {} },
  authorize: ({ name, password }: Record<string, string>) =>
    password === "wonderland" ? { id: name, name } : null,
});

/** Signs everybody in as its account 17, without asking. */
const elsewhere = (origin: string): object => ({
  id: "elsewhere",
  name: "Elsewhere",
  type: "oauth",
  clientId: "host",
  clientSecret: "secret",
  checks: ["state"],
  authorization: `${origin}/elsewhere/authorize`,
  token: `${origin}/elsewhere/token`,
  userinfo: `${origin}/elsewhere/me`,
  profile: ({ id }: { id: string }) => ({ id, name: "Alice" }),
});

const otherServer = express()
  .get("/authorize", ({ url }, res) => {
    const { searchParams } = new URL(url, "http://localhost");
    const answer = new URLSearchParams({ code: "a-code", state: searchParams.get("state") ?? "" });
    res.redirect(`${searchParams.get("redirect_uri")}?${answer.toString()}`);
  })
  .post("/token", (_req, res) => void res.json({ access_token: "a", token_type: "bearer" }))
  .get("/me", (_req, res) => void res.json({ id: "17" }));

const findUser = async (account: { provider: string; providerAccountId: string }): Promise<string> =>
  account.provider === "credentials" ? account.providerAccountId : `user of ${account.providerAccountId}`;

let host: LocalServer;
/** As the host has stored it. */
let sessionsEnded: number | undefined;
const sessionsEndedAt = (): Promise<number | undefined> => Promise.resolve(sessionsEnded);
let providers: (origin: string) => readonly object[];

async function start(): Promise<void> {
  // Auth.js tells there what is refused here on purpose
  jest.spyOn(console, "error").mockImplementation(() => undefined);
  host = await listenLocally((origin) => {
    const authSecret = "an Auth.js secret of at least 32 characters";
    const given = { providers: providers(origin), authSecret, findUser, sessionsEndedAt };
    const block = runBlock({ heading: "Auth.js sessions as the authentication method" }, given);
    const auth = createAuthServer(optionsAt(origin, block["person"] as AuthMethod));
    const app = express().use("/login", auth.router).use(auth.wellKnown);
    app.use((block["signInPages"] as (auth: AuthServer) => Router)(auth));
    app.get("/orders", auth.requireBearer({ api: "orders", scope: "orders:read" }), (req, res) => {
      res.json({ ordersOf: auth.accessToken(req).subject });
    });
    app.get(clientCallback, (_req, res) => void res.send("Thank you."));
    return app.use("/elsewhere", otherServer);
  });
}
beforeEach(() => {
  providers = () => [provider];
  sessionsEnded = 0;
  return start();
});
afterEach(async () => {
  jest.restoreAllMocks();
  await host.close();
});

const right = { name: "alice", password: "wonderland" };
const signIn = (walker: Walker, page: LifeAnswer): Promise<LifeAnswer> => walker.submit(page, right);

/** Where a person gets to who opens what a client has sent them to. */
const open = async (walker: Walker, fields: Record<string, string> = {}): Promise<LifeAnswer> =>
  walker.follow(await walker.browse(authorizeUrl(host.origin, fields)));

const asksForPassword = ({ text }: LifeAnswer): boolean => text.includes('name="csrfToken"');
const asksForConsent = ({ text }: LifeAnswer): boolean => text.includes('name="decision"');

describe("Auth.js sessions as the authentication method, as in the recipe", () => {
  it("lets a whole life pass", async () => {
    const life = await live(host, signIn);
    expect(life.trace.filter((line) => line.includes("/session/"))).not.toEqual([]);
    expect(ofServer(life.trace).filter((line) => !/session|signed-in/.test(line))).toEqual(
      ofServer(wholeLife),
    );
    expect(life.to("GET /orders")[0]?.text).toBe('{"ordersOf":"alice"}');
  });

  it("knows the person at the next visit, and asks again with prompt=login", async () => {
    const walker = newWalker(host.origin);
    await walker.follow(await signIn(walker, await open(walker)));
    expect(asksForConsent(await open(walker))).toBe(true);
    const again = await open(walker, { prompt: "login" });
    expect(asksForPassword(again)).toBe(true);
    expect(asksForConsent(await walker.follow(await signIn(walker, again)))).toBe(true);
  });

  it("does not take a return without a new sign-in for one (prompt=login)", async () => {
    const walker = newWalker(host.origin);
    await walker.follow(await signIn(walker, await open(walker)));
    // the sign-in was an hour ago
    stopClock(Math.floor(Date.now() / 1000) + 3600);
    await open(walker, { prompt: "login" });
    const back = walker.answers
      .map(({ headers }) => headers.get("location") ?? "")
      .findLast((location) => location.includes("callbackUrl"));
    const { searchParams } = new URL(back ?? "", host.origin);
    const skipped = await walker.follow(await walker.browse(searchParams.get("callbackUrl") ?? ""));
    expect(asksForPassword(skipped)).toBe(true);
  });

  it("lets nobody in with a wrong password, with no token, or with that of another browser", async () => {
    const walker = newWalker(host.origin);
    const page = await open(walker);
    await walker.follow(await walker.submit(page, { ...right, password: "a guess" }));
    await walker.submit(page, { ...right, csrfToken: "" });
    const other = await open(newWalker(host.origin));
    await walker.submit(other, right);
    expect(asksForPassword(await open(walker))).toBe(true);
  });

  it.each([
    ["when all sessions were ended", () => Math.floor(Date.now() / 1000)],
    ["when the person was deleted", () => undefined],
  ])("asks again %s, though the cookie lives on (RFC 7009 §2.1)", async (_, ended) => {
    const walker = newWalker(host.origin);
    await walker.follow(await signIn(walker, await open(walker)));
    sessionsEnded = ended();
    expect(asksForPassword(await open(walker))).toBe(true);
  });

  it("keeps the moment of the sign-in when Auth.js renews its session", async () => {
    const walker = newWalker(host.origin);
    await walker.follow(await signIn(walker, await open(walker)));
    const read = async (): Promise<unknown> => JSON.parse((await walker.browse("/session/session")).text);
    const first = await read();
    expect(first).toMatchObject({ sub: "alice", signedInAt: expect.any(Number) });
    const { signedInAt } = (await read()) as { signedInAt: number };
    expect(signedInAt).toBe((first as { signedInAt: number }).signedInAt);
  });

  it("knows a person of another server again, who gets a new user.id from Auth.js each time", async () => {
    await host.close();
    providers = (origin) => [elsewhere(origin)];
    await start();
    const subjects: unknown[] = [];
    for (const walker of [newWalker(host.origin), newWalker(host.origin)]) {
      await walker.follow(await walker.submit(await open(walker), {}));
      subjects.push((JSON.parse((await walker.browse("/session/session")).text) as { sub?: string }).sub);
    }
    expect(subjects).toEqual(["user of 17", "user of 17"]);
  });

  it("sends nobody to another site after the sign-in (RFC 9700 §4.11)", async () => {
    const walker = newWalker(host.origin);
    const page = await walker.follow(
      await walker.browse("/session/signin?callbackUrl=https%3A%2F%2Fevil.example%2F"),
    );
    const { headers } = await signIn(walker, page);
    expect(headers.get("location") ?? "").not.toContain("evil.example");
  });
});
