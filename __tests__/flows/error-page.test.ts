import { askAs, strangersHost } from "../browser/strangers";
import type { Response } from "supertest";
import { memoryStorage, type PageContent } from "../../lib";
import { pairPath } from "../hosts/apis";
import { stopClockForEachTest } from "../hosts/clock";
import { type TestHost, testHost } from "../hosts/host";
import { resumePath } from "../browser/interaction";
import { accepting, builtIn, errorPageOf, languages } from "../browser/pages";

stopClockForEachTest();
afterEach(() => jest.restoreAllMocks());

const consentPath = `${pairPath()}/authorize/consent`;

function find(): Promise<never> {
  return Promise.reject(new Error("no storage"));
}

/** A host whose storage has failed. */
function failedHost(): TestHost {
  const storage = memoryStorage({ clients: [] });
  return testHost({ storage: { ...storage, clients: { ...storage.clients, find } } });
}

/** The page when the metadata document of the application cannot be fetched: nothing listens at that port. */
function unreachedPage(): Promise<Response> {
  return askAs(strangersHost().browser(), { clientId: "http://127.0.0.1:9/client.json" });
}

/** What happens to people, and what they are told. */
const situations: readonly (readonly [
  string,
  PageContent["title"],
  (host?: TestHost) => Promise<Response>,
])[] = [
  ["an unknown client", "This link doesn’t work", () => errorPageOf(testHost())],
  [
    "a lost interaction",
    "Please start again",
    () =>
      testHost()
        .browser()
        .get(resumePath("A".repeat(22))),
  ],
  [
    "a form from another site",
    "Your answer wasn’t accepted",
    () => testHost().browser().post(consentPath, {}, { Origin: "https://evil.example" }),
  ],
  [
    "a form that cannot be read",
    "Your answer wasn’t accepted",
    () => testHost().browser().post(consentPath, {}, { "Content-Encoding": "br" }),
  ],
  ["an application whose server is down", "The app can’t be reached", unreachedPage],
  ["storage that failed", "Something went wrong", () => errorPageOf(failedHost())],
  ["a mistake of the host", "Something went wrong", () => testHost().browser().get("/allow")],
];

describe("an error page helps the person first (RFC 6749 §4.1.2.1)", () => {
  it.each(situations)("after %s: %s", async (_, title, visit) => {
    const { text } = await visit();
    expect(text).toContain(`<h1>${title}</h1>`);
    expect(text).toContain(`<title>${title}</title>`);
    const [person = ""] = text.slice(text.indexOf("<main>")).split("<footer>");
    // two sentences or more in plain words: what has happened, and what to do
    expect(person.match(/<p>/g)).toHaveLength(2);
    expect(person).not.toMatch(/redirect|client|RFC|parameter/i);
  });

  it.each(languages)("in their language: %s", async (language) => {
    const { text } = await errorPageOf(testHost(), accepting(language));
    const told = builtIn[language];
    expect(text).toContain(`<h1>${told?.errorTitle}</h1>\n<p>${told?.errorExplanation}</p>`);
    expect(text).toContain(`<summary>${told?.errorDetails}</summary>`);
  });

  it("names the code where somebody should be told", async () => {
    expect((await errorPageOf(testHost())).text).toContain(
      "report this code to the app’s developer: <bdi>invalid_request</bdi>.",
    );
    expect((await errorPageOf(failedHost())).text).toContain("quote this code: <bdi>server_error</bdi>.");
    const unreached = await unreachedPage();
    expect(unreached.text).toContain(
      "report this code to the app’s developer: <bdi>temporarily_unavailable</bdi>.",
    );
    expect(unreached.status).toBe(503);
  });
});

describe("an error page shows developers their line below (RFC 6749 §4.1.2.1)", () => {
  it("at once in development", async () => {
    const { text } = await errorPageOf(testHost());
    expect(text).toContain("<details open>");
    expect(text.indexOf("For developers: ")).toBeGreaterThan(text.indexOf("<footer>"));
  });

  it("not at all in production, where code and description wait to be opened", async () => {
    jest.replaceProperty(process, "env", { ...process.env, NODE_ENV: "production" });
    const { text } = await errorPageOf(testHost());
    expect(text).toContain("<details><summary>Technical details</summary>");
    expect(text).toContain(
      "<p><code>invalid_request</code></p><p>The client is unknown.</p></div></details>",
    );
    expect(text).not.toContain("For developers");
  });
});
