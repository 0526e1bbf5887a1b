import request from "supertest";
import { pairPath } from "../hosts/apis";
import { authorize, redirectParameters } from "../browser/authorize";
import { stopClockForEachTest } from "../hosts/clock";
import { signedIn, signedOut, type TestHost, testHost } from "../hosts/host";
import { interactionOf, resumePath } from "../browser/interaction";

stopClockForEachTest();

const select = { client: "web", fields: { prompt: "select_account" } } as const;

/** Sent to the host's page, and back with the answer that `authenticate` gives then. */
async function chooseAccount(host: TestHost, fields: Record<string, string> = select.fields) {
  const browser = host.browser();
  const first = await authorize(browser, { client: "web", fields });
  expect(first.headers["location"]).toMatch(/^\/signin\?/);
  host.session = { ...signedIn, subject: "bob" };
  return browser.get(resumePath(interactionOf(first)));
}

describe("prompt=select_account (OpenID Connect Core §3.1.2.1)", () => {
  it("leads to a page of the host, although somebody is signed in", async () => {
    const host = testHost();
    const response = await authorize(host.browser(), select);
    expect(response.headers["location"]).toMatch(/^\/signin\?interaction=/);
    expect(host.asked).toEqual([{ reauthenticate: true, prompt: ["select_account"] }]);
  });

  it("takes whom the person chose there, however long ago they signed in, without a loop", async () => {
    const host = testHost();
    const back = await chooseAccount(host);
    expect(back.status).toBe(200);
    expect(back.text).toContain("Alice");
    expect(host.asked.at(-1)).toEqual({ reauthenticate: false, prompt: ["select_account"] });
  });

  it("never takes the account of a host that shows no page", async () => {
    const host = testHost();
    host.session = () => signedIn;
    const refused = redirectParameters(await authorize(host.browser(), select));
    expect(refused).toMatchObject({
      error: "interaction_required",
      error_description: "The end user has to choose an account.",
    });
    expect(host.events.at(-1)).toMatchObject({
      kind: "authorization-denied",
      code: "account-not-chosen",
    });
  });

  it("beside login needs a fresh sign-in too", async () => {
    const host = testHost();
    const back = await chooseAccount(host, { prompt: "login select_account" });
    expect(back.headers["location"]).toMatch(/^\/signin\?/);
  });

  it("beside max_age needs a sign-in that is young enough", async () => {
    const host = testHost();
    const back = await chooseAccount(host, { prompt: "select_account", max_age: "10" });
    expect(back.headers["location"]).toMatch(/^\/signin\?/);
  });

  it("sends somebody who is signed out to sign in", async () => {
    const host = testHost();
    host.session = signedOut;
    expect((await authorize(host.browser(), select)).headers["location"]).toMatch(/^\/signin\?/);
  });

  it("cannot stand beside none", async () => {
    const fields = { prompt: "none select_account" };
    const response = await authorize(testHost().browser(), { client: "web", fields });
    expect(redirectParameters(response)).toMatchObject({ error: "invalid_request" });
  });

  it("is published with the other values", async () => {
    const { body } = await request(testHost().app).get(
      `${pairPath()}/.well-known/oauth-authorization-server`,
    );
    expect(body).toMatchObject({ prompt_values_supported: ["none", "login", "consent", "select_account"] });
  });
});
