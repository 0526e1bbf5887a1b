/** The program of docs/account-and-staff-pages.md, as it stands on the page: its lines, and what it adds to an app. */
import express from "express";
import request from "supertest";
import * as portal from "../../lib/portal";
import { bothScopes } from "../browser/consent";
import { obtainTokens } from "../browser/journey";
import { apis, baseUrl } from "../hosts/apis";
import { testHost } from "../hosts/host";
import { codeBelow, runBlock } from "../sources/doc-block";

const page = "account-and-staff-pages.md";
const heading = "Add both to your app";

const subjectOf = (req: express.Request): unknown => req.headers["x-subject"];

/** An app that has had none of it, and whose session is a header. */
function appWithPages(admins: readonly string[]) {
  const host = testHost();
  const app = express();
  const options = { baseUrl, apis, storage: host.storage };
  const given = { app, auth: host.auth, options, subjectOf, admins: new Set(admins) };
  runBlock({ page, heading, modules: { "authmount/portal": portal } }, given);
  const get = (path: string, subject?: string) =>
    request(app)
      .get(path)
      .set(subject === undefined ? {} : { "X-Subject": subject });
  return { host, get };
}

describe("an app with sessions", () => {
  it("gets connected apps and a page for staff in 15 lines", () => {
    const [code = ""] = codeBelow(page, heading);
    const lines = code.split("\n").filter((line) => line !== "" && !line.startsWith("declare const"));
    // of these, two import types, which JavaScript doesn't need
    expect(lines.filter((line) => !line.startsWith("import type")).length).toBeLessThanOrEqual(15);
    expect(lines.length).toBeGreaterThan(5);
  });

  it("shows people their apps, and staff the clients", async () => {
    const { host, get } = appWithPages(["sam"]);
    await obtainTokens(host, { client: "web", fields: bothScopes });
    const account = await get("/account/apps", "alice");
    expect([account.status, account.text.includes("Web Shop")]).toEqual([200, true]);
    const clients = await get("/staff/clients", "sam");
    expect([clients.status, clients.text.includes("?client=web")]).toEqual([200, true]);
  });

  it("leads who is not signed in to the sign-in page, and shows nobody else the clients", async () => {
    const { get } = appWithPages(["sam"]);
    for (const path of ["/account/apps", "/staff/clients"])
      expect((await get(path)).headers["location"]).toBe(`/sign-in?then=${encodeURIComponent(path)}`);
    expect((await get("/staff/clients", "alice")).status).toBe(404);
  });
});
