/** examples/web-app over a stand-in for the authorization server and the API, which does what the test says. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type Example, newWebBrowser, type Page, startExample, type WebBrowser } from "../servers/example";

interface Answer {
  readonly status: number;
  readonly body: object;
}

/** What is asked next is answered so; "no answer" breaks the connection. */
let tokenAnswer: () => Answer | "no answer";
let apiStatus: number;
let requests: string[];
let server: Server;
let issuer: string;
let app: Example;

let tokens = 0;
const goodTokens = (expiresIn = 3_600) => ({
  status: 200,
  body: {
    token_type: "bearer",
    access_token: `access-${(tokens += 1)}`,
    refresh_token: `refresh-${tokens}`,
    expires_in: expiresIn,
  },
});
const outage = { status: 503, body: { error: "temporarily_unavailable" } };
const ended = { status: 400, body: { error: "invalid_grant" } };

function serve({ url = "" }: IncomingMessage, res: ServerResponse): void {
  const send = ({ status, body }: Answer): void => {
    res.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(body));
  };
  requests.push(url);
  if (url.startsWith("/.well-known/")) {
    const endpoint = (name: string) => ({ [`${name}_endpoint`]: `${issuer}/${name}` });
    const known = { issuer, response_types_supported: ["code"] };
    return send({
      status: 200,
      body: { ...known, ...endpoint("authorization"), ...endpoint("token"), ...endpoint("revocation") },
    });
  }
  if (url === "/revocation") return send({ status: 200, body: {} });
  if (url === "/orders") return send({ status: apiStatus, body: { orders: ["Tea"] } });
  const answer = tokenAnswer();
  if (answer === "no answer") res.destroy();
  else send(answer);
}

beforeAll(async () => {
  requests = [];
  server = createServer(serve).listen(0, "localhost");
  await new Promise((resolve) => server.once("listening", resolve));
  issuer = `http://localhost:${(server.address() as AddressInfo).port}`;
  const before = { ...process.env };
  const settings = { ISSUER: issuer, API_URL: `${issuer}/orders`, CLIENT_ID: "web", CLIENT_SECRET: "secret" };
  Object.assign(process.env, settings);
  app = await startExample("web-app/app.mjs", /Open http.*\n/).finally(() => (process.env = before));
});
beforeEach(() => {
  tokenAnswer = goodTokens;
  apiStatus = 200;
  requests = [];
});
afterAll(async () => {
  await app.stop();
  server.close();
  server.closeAllConnections();
});

/** Begins a sign-in; gives the answer of the authorization server that belongs to it. */
async function beginSignIn(browser: WebBrowser): Promise<URL> {
  const { url } = await browser.open(`${app.origin}/signin`, issuer);
  const answer = new URL(`${app.origin}/callback?code=a-code`);
  answer.searchParams.set("state", url.searchParams.get("state") ?? "");
  answer.searchParams.set("iss", issuer);
  return answer;
}

async function signedIn(): Promise<WebBrowser> {
  const browser = newWebBrowser();
  await browser.open(await beginSignIn(browser));
  return browser;
}

const home = (browser: WebBrowser): Promise<Page> => browser.open(`${app.origin}/`);
const showsOrders = ({ text }: Page): boolean => text.includes("Tea");

describe("examples/web-app: another site leads a signed-in person to its addresses (RFC 9700 §4.7, RFC 9207)", () => {
  it.each([
    ["/callback", () => `${app.origin}/callback`],
    ["/callback with a made-up answer", () => `${app.origin}/callback?code=c&state=s&iss=${issuer}`],
    ["/callback with a made-up error", () => `${app.origin}/callback?error=access_denied&state=s`],
    ["/signin", () => `${app.origin}/signin`],
  ])("%s signs nobody out", async (_, address) => {
    const browser = await signedIn();
    await browser.open(address(), issuer);
    expect(showsOrders(await home(browser))).toBe(true);
  });

  it.each(["state", "iss"])("asks the token endpoint nothing when %s is another one", async (name) => {
    const browser = newWebBrowser();
    const answer = await beginSignIn(browser);
    answer.searchParams.set(name, "https://attacker.example");
    expect((await browser.open(answer)).status).toBe(400);
    expect(requests).not.toContain("/token");
  });

  it("takes the right answer after a wrong one", async () => {
    const browser = newWebBrowser();
    const answer = await beginSignIn(browser);
    const wrong = new URL(answer);
    wrong.searchParams.set("iss", "https://attacker.example");
    await browser.open(wrong);
    expect(showsOrders(await browser.open(answer))).toBe(true);
  });

  it("takes the answers of two tabs, each its own", async () => {
    const browser = newWebBrowser();
    const [first, second] = [await beginSignIn(browser), await beginSignIn(browser)];
    expect(first.searchParams.get("state")).not.toBe(second.searchParams.get("state"));
    expect(showsOrders(await browser.open(first))).toBe(true);
  });

  it("shows the orders when a second tab brings its answer, or the same answer comes once more", async () => {
    const browser = newWebBrowser();
    const [first, second] = [await beginSignIn(browser), await beginSignIn(browser)];
    await browser.open(first);
    for (const answer of [second, first]) {
      const page = await browser.open(answer);
      expect([page.status, page.url.pathname, showsOrders(page)]).toEqual([200, "/", true]);
    }
    expect(requests.filter((url) => url === "/token")).toHaveLength(1);
  });

  it("redeems the code of an answer once, though it comes twice at the same moment", async () => {
    const browser = newWebBrowser();
    const answer = await beginSignIn(browser);
    await Promise.all([browser.open(answer), browser.open(answer)]);
    expect(requests.filter((url) => url === "/token")).toHaveLength(1);
  });

  it("begins a session under a new id (session fixation)", async () => {
    const begun = await fetch(`${app.origin}/signin`, { redirect: "manual" });
    const [planted = ""] = begun.headers.getSetCookie().map((line) => line.split(";")[0] ?? "");
    const { searchParams } = new URL(begun.headers.get("location") ?? "");
    const answer = `code=c&iss=${issuer}&state=${searchParams.get("state")}`;
    const url = `${app.origin}/callback?${answer}`;
    const after = await fetch(url, { headers: { cookie: planted }, redirect: "manual" });
    const [cookie = ""] = after.headers.getSetCookie().map((line) => line.split(";")[0] ?? "");
    const text = async (sent: string) => (await fetch(app.origin, { headers: { cookie: sent } })).text();
    expect(await text(cookie)).toContain("Tea");
    expect(await text(planted)).not.toContain("Tea");
  });

  it("sends the address of the callback, which holds the code, to no other site", async () => {
    const response = await fetch(`${app.origin}/callback?code=c`);
    expect(response.headers.get("referrer-policy")).toBe("same-origin");
  });
});

describe("examples/web-app: a failure that passes costs nobody the session", () => {
  const failures = [
    ["503", () => outage],
    ["429", () => ({ ...outage, status: 429 })],
    ["no answer", () => "no answer" as const],
  ] as const;

  it.each(failures)("of the exchange (%s): says to try again, and then it works", async (_, failure) => {
    const browser = newWebBrowser();
    const answer = await beginSignIn(browser);
    tokenAnswer = failure;
    const failed = await browser.open(answer);
    expect(failed).toMatchObject({ status: 503, text: expect.stringContaining("Try again") });
    tokenAnswer = goodTokens;
    expect(showsOrders(await browser.open(answer))).toBe(true);
  });

  it("of the exchange: leaves the session of before", async () => {
    const browser = await signedIn();
    const answer = await beginSignIn(browser);
    tokenAnswer = () => outage;
    await browser.open(answer);
    expect(showsOrders(await home(browser))).toBe(true);
  });

  it.each(failures)("of a refresh (%s): says to try again, and then it works", async (_, failure) => {
    tokenAnswer = () => goodTokens(5);
    const browser = await signedIn();
    tokenAnswer = failure;
    expect(await home(browser)).toMatchObject({ status: 503, text: expect.stringContaining("Try again") });
    tokenAnswer = goodTokens;
    expect(showsOrders(await home(browser))).toBe(true);
  });

  it("of the API: says to try again, and then it works", async () => {
    const browser = await signedIn();
    apiStatus = 503;
    expect(await home(browser)).toMatchObject({ status: 503, text: expect.stringContaining("Try again") });
    apiStatus = 200;
    expect(showsOrders(await home(browser))).toBe(true);
  });

  it("but a refresh token that is over ends it (RFC 6749 §5.2)", async () => {
    tokenAnswer = () => goodTokens(5);
    const browser = await signedIn();
    tokenAnswer = () => ended;
    expect((await home(browser)).text).toContain("Your access has expired.");
    expect((await home(browser)).text).toContain("Sign in");
  });

  it("but a code that is refused is not tried again (RFC 6749 §5.2)", async () => {
    const browser = newWebBrowser();
    const answer = await beginSignIn(browser);
    tokenAnswer = () => ended;
    expect((await browser.open(answer)).text).toContain("Not signed in: invalid_grant");
    expect((await browser.open(answer)).status).toBe(400);
    expect(requests.filter((url) => url === "/token")).toHaveLength(1);
  });

  it("prints no stack trace, no code and no token", () => {
    expect(app.printed.err + app.printed.out).not.toMatch(/^\s+at |a-code|access-|refresh-/m);
  });
});
