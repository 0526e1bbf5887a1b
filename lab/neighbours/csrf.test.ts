/** csrf-csrf ahead of the router; clients and the consent form get along without it. Behind the router: add-to-an-app. */
import cookieParser from "cookie-parser";
import { doubleCsrf } from "csrf-csrf";
import express, { type Express } from "express";
import { live, newWalker, wholeLife } from "../../__tests__/clients/client-life";
import { neighbourHost } from "../../__tests__/hosts/neighbour-host";

const ahead = (skip: (path: string) => boolean): ((app: Express) => unknown) => {
  const { doubleCsrfProtection } = doubleCsrf({
    getSecret: () => "a csrf secret",
    getSessionIdentifier: () => "one session",
    skipCsrfProtection: ({ path }) => skip(path),
  });
  return (app: Express) =>
    app.use(cookieParser(), express.urlencoded({ extended: false }), doubleCsrfProtection);
};

describe("csrf-csrf ahead of the router", () => {
  it("refuses clients, unless it skips the mount", async () => {
    const closed = await neighbourHost({ ahead: ahead(() => false) });
    const body = new URLSearchParams({ grant_type: "client_credentials" });
    const refused = await newWalker(closed.origin).send("/login/auth/password/api/orders/token", {
      method: "POST",
      body,
    });
    await closed.close();
    expect([refused.status, refused.text.includes("invalid csrf token")]).toEqual([403, true]);
  });

  it("lets a whole life pass when it skips the mount and a sign-in page with its own check", async () => {
    const host = await neighbourHost({ ahead: ahead((path) => /^\/(?:login\/|sign-in$)/.test(path)) });
    const life = await live(host);
    await host.close();
    expect(life.trace).toEqual(wholeLife);
  });
});
