// The attacker fills the Cookie header of a request, of their own or, where a sibling domain can plant cookies, of somebody else's.
// Each seal that is looked at costs a signature.
import crypto from "node:crypto";
import { pairPath } from "../hosts/apis";
import { authorize } from "../browser/authorize";
import { signedOut, testHost } from "../hosts/host";

afterEach(() => jest.restoreAllMocks());

/** The most that servers accept. */
function fill(cookie: (index: number) => string): string {
  let header = "";
  for (let index = 0; header.length < 13_000; index += 1) header += `${cookie(index)}; `;
  return header;
}

const id = (index: number): string => String(index).padStart(22, "A");
const floods = {
  "cookies of any name": fill((index) => `c${index}=s:x.y`),
  "cookies that are named like ours": fill((index) => `__Host-authmount.${id(index)}=s:x.y`),
  "one name many times": fill(() => `__Host-authmount.${id(1)}=s:x.y`),
};

describe.each(Object.entries(floods))("a header full of %s that look sealed (RFC 6265)", (_, header) => {
  it("costs one signature at most on the way back from a page", async () => {
    const host = testHost();
    const signatures = jest.spyOn(crypto, "createHmac");
    const lost = await host.browser().get(
      `${pairPath()}/authorize/resume?interaction=${id(1)}`,
      {},
      {
        Cookie: header,
      },
    );
    expect(lost.status).toBe(400);
    expect(signatures.mock.calls.length).toBeLessThanOrEqual(1);
  });

  it("costs one signature at most for a new request", async () => {
    const host = testHost();
    host.session = signedOut;
    const sealed = jest.spyOn(crypto, "createHmac");
    const answer = await host
      .browser()
      .get(
        `${pairPath()}/authorize`,
        { client_id: "web", response_type: "code", redirect_uri: "https://web.example/callback" },
        { Cookie: header },
      );
    expect(answer.status).toBe(302);
    expect(answer.headers["location"]).toContain("/signin?interaction=");
    expect(sealed.mock.calls.length).toBeLessThanOrEqual(1);
  });
});

describe("cookies that are planted beside a pending request (RFC 6265 §8.6)", () => {
  it("do not keep it from being found", async () => {
    const host = testHost();
    host.session = signedOut;
    const browser = host.browser();
    const asked = await authorize(browser, { client: "web" });
    const [[name, value] = ["", ""]] = [...browser.cookies];
    const header = `planted=s:x.y; ${name}x=s:x.y; ${name}=${value}; __Host-authmount.=s:x.y`;
    const url = `https://host.example${asked.headers["location"] as string}`;
    const page = await host.browser().get(`/signin${new URL(url).search}`, {}, { Cookie: header });
    expect(page.body).toMatchObject({ client: { clientId: "web" } });
  });

  it.each(["", "s:", "s:x", "s:.", "="])("do not pass without a whole seal: %j", async (seal) => {
    const host = testHost();
    const content = { interactionId: id(1), authMethodId: "password", apiId: "orders", parameters: {} };
    const value = Buffer.from(JSON.stringify({ ...content, began: 0, expiresAt: 9e9 })).toString("base64url");
    const header = { Cookie: `__Host-authmount.${id(1)}=${seal}${value}` };
    const lost = await host.browser().get(`${pairPath()}/authorize/resume?interaction=${id(1)}`, {}, header);
    expect(lost.status).toBe(400);
  });

  it("ends none of them by a name that is not an interaction id", async () => {
    const host = testHost();
    host.session = signedOut;
    const planted = `__Host-authmount.${"x".repeat(23)}=${"y".repeat(8_000)}`;
    const path = `${pairPath()}/authorize?client_id=web&response_type=code&redirect_uri=https://web.example/callback`;
    const answer = await host.browser().get(path, {}, { Cookie: planted });
    expect(answer.headers["set-cookie"]).toHaveLength(1);
  });
});
