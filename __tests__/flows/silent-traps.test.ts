/** Mistakes that no answer shows: everything is answered as it should be, and only a warning in development says why nothing works. */
import type { RequestHandler } from "express";
import request from "supertest";
import { alice, testHost, type TestHostOptions } from "../hosts/host";
import { origin, pairPath } from "../hosts/apis";
import { visit } from "../browser/interaction";
import { stopClockForEachTest } from "../hosts/clock";

stopClockForEachTest();
const warnings: { readonly code: string; readonly message: string }[] = [];

beforeEach(() => {
  warnings.length = 0;
  jest.spyOn(process, "emitWarning").mockImplementation((message, options) => {
    warnings.push({ code: (options as { code: string }).code, message: String(message) });
  });
});
afterEach(() => jest.restoreAllMocks());

/** The messages with this id. */
const messages = (code: string): readonly string[] =>
  warnings.filter((one) => one.code === code).map(({ message }) => message);

function inProduction(): void {
  jest.replaceProperty(process, "env", { ...process.env, NODE_ENV: "production" });
}

/** A host that sets these policies on all of its answers, as helmet does. */
const policed = (policy: string | string[], options: TestHostOptions = {}) => {
  const set: RequestHandler = (_req, res, next) => {
    res.setHeader("Content-Security-Policy", policy);
    next();
  };
  return testHost({ ...options, before: (app) => void app.use(set) });
};

describe("form-action on the host's own pages (CSP Level 3 §6.4.1)", () => {
  const blocks = "form-action-blocks-redirect";

  it("that does not let the sign-in form lead to the client is named with the fix", async () => {
    const { browser, id } = await visit(
      policed("default-src 'self';form-action 'self';frame-ancestors 'self'"),
    );
    expect((await browser.post("/signin", { interaction: id, subject: "alice" })).status).toBe(303);
    expect(messages(blocks)).toEqual([
      "The form leads to https://web.example, but the Content-Security-Policy of this site says form-action 'self', so browsers may stay on the page without a word. Allow https://web.example on your pages with such forms, or leave form-action out: formAction: null in helmet's contentSecurityPolicy.directives.",
    ]);
  });

  it.each(["approve", "deny"])("that stops auth.%s is named", async (name) => {
    const host = policed("form-action 'self'", {
      consent: { decide: () => ({ kind: "interaction", url: "/question" }) },
    });
    const { browser, id } = await visit(host);
    host.session = alice();
    await browser.get(`${pairPath()}/authorize/resume`, { interaction: id });
    const path = name === "approve" ? "/allow" : "/cancel";
    const answer = await browser.post(path, { interaction: id });
    expect(answer.headers["location"]).toMatch(/^https:\/\/web\.example\/callback\?/);
    expect(messages(blocks)).toEqual([expect.stringContaining("The form leads to https://web.example, but")]);
  });

  it.each<[string, string | string[]]>([
    ["no policy of it", "default-src 'none'"],
    ["the origin of the client", "form-action 'self' https://web.example"],
    ["the host of the client in capitals", "Form-Action 'self' Web.Example"],
    ["a wildcard", "form-action 'self' *.example"],
    ["the origin with a port and a path", "form-action 'self' https://web.example:443/callback"],
    ["a scheme", "form-action 'self' https:"],
    ["everything", "form-action *"],
    ["two policies that allow it", ["form-action *", "form-action 'self' https:"]],
  ])("is not named with %s", async (_, policy) => {
    const { browser, id } = await visit(policed(policy));
    await browser.post("/signin", { interaction: id, subject: "alice" });
    expect(messages(blocks)).toEqual([]);
  });

  it.each<[string, string | string[]]>([
    ["nothing", "form-action 'none'"],
    ["an empty list", "form-action"],
    ["another site", "form-action 'self' https://other.example"],
    ["only the client", "form-action https://web.example"],
    ["one of two policies", ["form-action *", "form-action 'self'"]],
    ["one of two policies in one line", "form-action *, form-action 'self'"],
  ])("is named with %s", async (_, policy) => {
    const { browser, id } = await visit(policed(policy));
    await browser.post("/signin", { interaction: id, subject: "alice" });
    expect(messages(blocks)).toHaveLength(1);
  });

  it.each([
    ["form-action 'self'", 1],
    ["form-action 'self' com.example.phone:", 0],
    ["form-action 'self' *", 1],
  ])("knows the scheme of a native client: %s", async (policy, number) => {
    const fields = { redirect_uri: "com.example.phone:/callback" };
    const { browser, id } = await visit(policed(policy), { client: "native", fields });
    await browser.post("/signin", { interaction: id, subject: "alice" });
    expect(messages(blocks)).toHaveLength(number);
  });

  it("is not named after a sign-in for no client, after a GET, in production, and on a sign-in that goes on to a page", async () => {
    const host = policed("form-action 'self'");
    host.app.get("/back", (req, res) => host.auth.resume(req, res));
    const { browser, id } = await visit(host);
    expect((await browser.post("/signin", { subject: "alice" })).headers["location"]).toBe("/");
    expect((await browser.get("/back", { interaction: id })).status).toBe(302);
    inProduction();
    const silent = await visit(policed("form-action 'self'"));
    await silent.browser.post("/signin", { interaction: silent.id, subject: "alice" });
    expect(messages(blocks)).toEqual([]);
  });
});
