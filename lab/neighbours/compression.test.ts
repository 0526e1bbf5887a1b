/** The package compression: what is compressed, and what its length may betray. */
import compression from "compression";
import { authorizeUrl, live, newWalker, wholeLife } from "../../__tests__/clients/client-life";
import { type NeighbourHost, neighbourHost } from "../../__tests__/hosts/neighbour-host";

let host: NeighbourHost;
beforeEach(async () => {
  host = await neighbourHost({ ahead: (app) => void app.use(compression({ threshold: 0 })) });
});
afterEach(() => host.close());

describe("compression in front of everything", () => {
  it("compresses pages, tokens and documents, which stay what they are", async () => {
    const { answers, trace } = await live(host);
    expect(trace).toEqual(wholeLife);
    const compressed = answers.filter(({ headers }) => headers.get("content-encoding") !== null);
    expect(compressed.map(({ request, status }) => `${request} ${status}`)).toEqual(
      expect.arrayContaining([
        "GET {issuer}/authorize 200",
        "POST {issuer}/token 200",
        "GET /login/jwks 200",
      ]),
    );
    for (const { headers } of compressed) expect(headers.get("vary")).toContain("Accept-Encoding");
  });

  it("leaves tokens and pages out of caches (RFC 6749 §5.1)", async () => {
    const life = await live(host);
    for (const { headers } of [...life.to("POST {issuer}/token"), ...life.to("GET {issuer}/authorize")]) {
      expect(headers.get("cache-control")).toBe("no-store");
      expect(headers.has("etag")).toBe(false);
    }
  });

  it("keeps every cookie of an answer", async () => {
    const walker = newWalker(host.origin);
    const { headers } = await walker.browse(authorizeUrl(host.origin));
    expect(headers.getSetCookie()).toHaveLength(1);
  });
});

async function consentPage(fields: Record<string, string> = {}) {
  const walker = newWalker(host.origin);
  walker.cookies.set("session", "alice");
  const { text } = await walker.browse(authorizeUrl(host.origin, fields));
  return { text, token: /name="form_token" value="([^"]+)"/.exec(text)?.[1] };
}

describe("the length of a compressed consent page (BREACH)", () => {
  it("belongs to a form token that is another one at each load", async () => {
    const pages = await Promise.all([consentPage(), consentPage(), consentPage()]);
    expect(new Set(pages.map(({ token }) => token)).size).toBe(3);
    for (const { token } of pages) expect(token).toMatch(/^[\w-]{20,}$/);
  });

  it.each(["state", "login_hint", "nonce", "ui_locales", "display", "made_up"])(
    "has nothing of %s in it, which an attacker may choose",
    async (name) => {
      const { text } = await consentPage({ [name]: "a-guess-of-the-token" });
      expect(text).toContain("form_token");
      expect(text).not.toContain("a-guess");
    },
  );
});
