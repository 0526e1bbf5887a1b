import { authorize } from "../browser/authorize";
import { stopClockForEachTest } from "../hosts/clock";
import { signedOut, testHost } from "../hosts/host";

stopClockForEachTest();

function policyOf({ headers }: { headers: Record<string, unknown> }): unknown {
  return headers["referrer-policy"];
}

describe("the Referer of who is left (RFC 9700 §4.2.4)", () => {
  it("is withheld from the client on a redirect with a code", async () => {
    const browser = testHost().browser();
    const page = await authorize(browser, { client: "web" });
    const answer = await browser.answer(page, "approve");
    expect(answer.headers["location"]).toContain("code=");
    expect(policyOf(answer)).toBe("no-referrer");
  });

  it("is withheld on a redirect with an error", async () => {
    const fields = { scope: "unknown" };
    expect(policyOf(await authorize(testHost().browser(), { client: "web", fields }))).toBe("no-referrer");
  });

  it("is withheld from the host's sign-in page", async () => {
    const host = testHost();
    host.session = signedOut;
    expect(policyOf(await authorize(host.browser(), { client: "web" }))).toBe("no-referrer");
  });

  it("is withheld whatever the host sets for all its answers", async () => {
    const before = testHost({
      before: (app) =>
        void app.use((_, res, next) => (res.setHeader("Referrer-Policy", "unsafe-url"), next())),
    });
    const fields = { scope: "unknown" };
    expect(policyOf(await authorize(before.browser(), { client: "web", fields }))).toBe("no-referrer");
  });

  it("stays within the origin on pages, whose forms need an Origin", async () => {
    expect(policyOf(await authorize(testHost().browser(), { client: "web" }))).toBe("same-origin");
  });
});
