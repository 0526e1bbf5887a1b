import type { Response } from "supertest";
import type { ConsentAnswer, PageContent, PagesOptions } from "../../lib";
import { pageTextNames } from "../../lib/pages/merge-texts";
import { apis, issuer } from "../hosts/apis";
import { redirectParameters } from "../browser/authorize";
import { clients } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { signedIn, testHost } from "../hosts/host";
import { interactionOf } from "../browser/interaction";
import {
  accepting,
  asking,
  builtIn,
  consentPageOf,
  errorPageOf,
  hashSource,
  languageOf,
  markup,
  policyOf,
  stylesOf,
  withPages,
} from "../browser/pages";
import { watchedHost } from "../hosts/watched-host";

stopClockForEachTest();

/** Pages of the host's own making, and what it was told. */
function rendering(): { readonly pages: PagesOptions; readonly contents: PageContent[] } {
  const contents: PageContent[] = [];
  const style = "<style>h1 { color: #123456 }</style><style>\np { margin: 0 }\n</style>";
  const head = `<!doctype html><meta charset="utf-8"><title>Own</title>${style}`;
  const render = (content: PageContent): string => {
    contents.push(content);
    if (content.kind === "error") return `${head}<h1>${content.title}</h1><p>Own: ${content.code}</p>`;
    if (content.kind !== "consent") return `${head}<h1>${content.title}</h1>`;
    const boxes = content.scopes.map(
      ({ field, sentence }) => `<input type="checkbox" name="${field}" value="on" checked>${sentence}`,
    );
    return `${head}<h1>${content.title}</h1><form method="post" action="${content.action}">
${content.hiddenInputs}${boxes.join("")}
<button name="decision" value="approve">${content.allow}</button>
<button name="decision" value="deny">${content.deny}</button></form>`;
  };
  return { pages: { render }, contents };
}

describe("pages of the host's own rendering (RFC 6749 §10.2)", () => {
  it("is told what a consent page shows", async () => {
    const { pages, contents } = rendering();
    const read = { text: "See your orders", explanation: "What you have ordered." };
    const orders = { ...apis["orders"]!, scopes: { ...apis["orders"]!.scopes, "orders:read": read } };
    await consentPageOf(testHost({ pages, apis: { ...apis, orders } }), asking("ar"));
    expect(contents).toHaveLength(1);
    expect(contents[0]).toMatchObject({
      kind: "consent",
      language: "ar",
      direction: "rtl",
      allow: builtIn["ar"]?.allow,
      switchAccount: builtIn["ar"]?.switchAccount,
      scopes: [
        { field: "scope_0", sentence: "See your orders", explanation: "What you have ordered.", implied: [] },
      ],
      action: `${issuer}/authorize/consent`,
      destination: "https://web.example",
      clientName: "Web Shop",
      clientInitials: "WS",
      clientLogo: undefined,
      clientLinks: [],
      detailsTitle: builtIn["ar"]?.details,
      details: [
        { term: builtIn["ar"]?.detailsClient, values: ["web"] },
        { term: builtIn["ar"]?.detailsApi, values: ["https://api.example/orders"] },
        { term: builtIn["ar"]?.detailsScopes, values: ["orders:read"] },
      ],
    });
  });

  it("is told what an error page shows", async () => {
    const { pages, contents } = rendering();
    const page = await errorPageOf(withPages(pages), accepting("de"));
    expect(page.status).toBe(400);
    expect(page.text).toContain("<p>Own: invalid_request</p>");
    expect(contents).toMatchObject([
      {
        kind: "error",
        language: "de",
        direction: "ltr",
        situation: "request",
        title: builtIn["de"]?.errorTitle,
        explanation: builtIn["de"]?.errorExplanation,
        details: builtIn["de"]?.errorDetails,
        description: "The client is unknown.",
      },
    ]);
  });

  it("gets every value escaped", async () => {
    const { pages, contents } = rendering();
    const texts = Object.fromEntries(pageTextNames.map((name) => [name, `${name} ${markup} {client}`]));
    const orders = {
      ...apis["orders"]!,
      name: markup,
      scopes: { "orders:read": { text: markup, explanation: markup }, "orders:write": markup },
    };
    const host = testHost({
      pages: { ...pages, texts: { en: texts } },
      apis: { ...apis, orders },
      clients: [{ ...clients.web, name: markup, clientUri: `https://web.example/"><script>'&` }],
    });
    host.session = { ...signedIn, displayName: markup };
    await consentPageOf(host);
    await errorPageOf(host);
    expect(contents.map(({ kind }) => kind)).toEqual(["consent", "error"]);
    for (const { hiddenInputs: _, ...content } of contents as (PageContent & { hiddenInputs?: string })[]) {
      const values = JSON.stringify(content, (_key, value: unknown) =>
        typeof value === "string" ? value.replaceAll(/<\/?bdi>/g, "").replaceAll(/[<>"']/g, "RAW") : value,
      );
      expect(values).not.toContain("RAW");
      expect(values).toContain("&lt;img src=x");
    }
  });

  it("is sent as it is, with the hash of each of its style elements", async () => {
    const { pages } = rendering();
    for (const page of [await consentPageOf(withPages(pages)), await errorPageOf(withPages(pages))]) {
      expect(page.headers["content-type"]).toBe("text/html; charset=utf-8");
      expect(page.text.startsWith("<!doctype html>")).toBe(true);
      expect(stylesOf(page)).toHaveLength(2);
      expect(policyOf(page)["style-src"]).toBe(stylesOf(page).map(hashSource).join(" "));
    }
  });

  it("gets the hash that browsers compute, who read CRLF as LF (HTML §13.2.3.5)", async () => {
    const host = withPages({ render: () => "<style>\r\nh1 { margin: 0 }\r\n</style><h1>x</h1>" });
    expect(policyOf(await consentPageOf(host))["style-src"]).toBe(hashSource("\nh1 { margin: 0 }\n"));
  });

  it("may have no style at all", async () => {
    const host = withPages({ render: () => "<h1>x</h1>" });
    expect(policyOf(await consentPageOf(host))["style-src"]).toBe("'none'");
  });

  it("is allowed no script, no framing and no other form target", async () => {
    const host = withPages({ render: () => "<script>x</script><img src=https://evil.example/>" });
    const page = await consentPageOf(host);
    expect(policyOf(page)).toEqual({
      "default-src": "'none'",
      "style-src": "'none'",
      "base-uri": "'none'",
      "frame-ancestors": "'none'",
      "form-action": "'self' https:",
    });
    expect(page.headers["x-frame-options"]).toBe("DENY");
  });

  it("leads to a code by its form", async () => {
    const host = withPages(rendering().pages);
    const browser = host.browser();
    const answer = await browser.answer(await consentPageOf(host, { browser }), "approve");
    expect(redirectParameters(answer)).toEqual({ code: expect.any(String), state: "a state", iss: issuer });
  });

  it("leads to a refusal by its form", async () => {
    const host = withPages(rendering().pages);
    const browser = host.browser();
    const answer = await browser.answer(await consentPageOf(host, { browser }), "deny");
    expect(redirectParameters(answer)["error"]).toBe("access_denied");
  });
});

const failure = new Error("hunter2 is the template's secret");

const failing: readonly [string, () => unknown][] = [
  [
    "throws",
    () => {
      throw failure;
    },
  ],
  ["gives nothing", () => undefined],
  ["gives a promise", () => Promise.resolve("<h1>late</h1>")],
  ["gives a buffer", () => Buffer.from("<h1>bytes</h1>")],
];

function asRender(render: () => unknown): PagesOptions {
  return { render: render as () => string };
}

function expectNoLeak({ text }: Response): void {
  expect(text).not.toContain("hunter2");
  expect(text).not.toMatch(/\bat .*:\d+:\d+/);
  expect(text).not.toContain("TypeError");
}

describe("a rendering of the host that fails on a consent page (RFC 6749 §4.1.2.1)", () => {
  it.each(failing)("on a consent page is an error page: it %s", async (_, render) => {
    const { host, writes } = watchedHost({ pages: asRender(render) });
    const page = await consentPageOf(host);
    expect(page.status).toBe(500);
    expect(page.headers["location"]).toBeUndefined();
    expect(page.text).toContain("<h1>Something went wrong</h1>");
    expect(page.text).toContain("<bdi>server_error</bdi>");
    expectNoLeak(page);
    expect(writes).toEqual([]);
  });

  it("on a consent page leaves no rejection behind that nobody handles", async () => {
    const page = await consentPageOf(withPages(asRender(() => Promise.reject(failure))));
    expect(page.status).toBe(500);
    // Node.js reports those at the end of a turn, and a test that has one fails
    await new Promise((resolve) => setImmediate(resolve));
  });

  it("on a consent page is told to the host with its cause", async () => {
    const host = withPages(asRender(failing[0]![1]));
    await consentPageOf(host);
    // the second one is of the error page, which this host cannot render either
    expect(host.events.filter(({ kind }) => kind === "server-error")).toEqual([
      { kind: "server-error", at: expect.any(Number), issuer, cause: failure },
      { kind: "server-error", at: expect.any(Number), cause: failure },
    ]);
  });

  it("on a consent page is told to the host with what is wrong about it", async () => {
    const host = withPages(asRender(() => undefined));
    await consentPageOf(host);
    expect(host.events.at(-1)).toMatchObject({
      kind: "server-error",
      cause: new TypeError("pages.render did not return a string. Return the HTML of the page."),
    });
  });

  it("on the consent page alone: the error page is the host's own", async () => {
    const { pages } = rendering();
    const host = withPages({
      render(content) {
        if (content.kind === "consent") throw failure;
        return pages.render?.(content) ?? "";
      },
    });
    const page = await consentPageOf(host);
    expect(page.status).toBe(500);
    expect(page.text).toContain("<p>Own: server_error</p>");
  });

  it("in auth.approve, when another person has to be asked, is an error page", async () => {
    const consent = {
      decide: ({ subject }: { subject: string }): ConsentAnswer =>
        subject === "alice" ? { kind: "interaction", url: "/ask" } : { kind: "ask" },
    };
    const { host, writes } = watchedHost({ consent, pages: asRender(failing[0]![1]) });
    const browser = host.browser();
    const interaction = interactionOf(await consentPageOf(host, { browser }));
    host.session = { ...signedIn, subject: "bob" };
    const page = await browser.post("/allow", { interaction });
    expect(page.status).toBe(500);
    expectNoLeak(page);
    expect(page.text).toContain("<h1>Something went wrong</h1>");
    expect(writes).toEqual([]);
  });

  it("takes nothing from the person: once it works, the same browser is asked and answers", async () => {
    const { pages } = rendering();
    let broken = true;
    const host = withPages({
      render(content) {
        if (broken) throw failure;
        return pages.render?.(content) ?? "";
      },
    });
    const browser = host.browser();
    await consentPageOf(host, { browser });
    broken = false;
    const answer = await browser.answer(await consentPageOf(host, { browser }), "approve");
    expect(redirectParameters(answer)["code"]).toBeDefined();
  });
});

describe("a rendering of the host that fails on an error page (RFC 6749 §4.1.2.1)", () => {
  it.each(failing)("on an error page is the built-in error page: it %s", async (_, render) => {
    const page = await errorPageOf(withPages(asRender(render)), accepting("de"));
    expect(page.status).toBe(400);
    expect(languageOf(page)).toEqual(["de", "ltr"]);
    expect(page.text).toContain("The client is unknown.");
    expect(policyOf(page)["style-src"]).toBe(hashSource(stylesOf(page)[0] ?? ""));
    expectNoLeak(page);
  });

  it("on an error page is told to the host with its cause", async () => {
    const host = withPages(asRender(failing[0]![1]));
    await errorPageOf(host);
    expect(host.events.some((event) => event.kind === "server-error" && event.cause === failure)).toBe(true);
  });

  it.each([
    ["auth.resume", "/signin"],
    ["auth.deny", "/cancel"],
    ["auth.approve", "/allow"],
  ])("on an error page of %s is the built-in error page", async (_, path) => {
    const fields = { interaction: "A".repeat(22), subject: "alice" };
    const page = await withPages(asRender(failing[0]![1])).browser().post(path, fields);
    expect(page.status).toBe(400);
    expect(page.text).toContain("<h1>Please start again</h1>");
    expectNoLeak(page);
  });
});
