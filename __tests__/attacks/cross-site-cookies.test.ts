// The attacker runs a web page, a client and an authorization server of their own, and a browser of their own at this server;
// the victim, signed in here, visits them. They did not get the victim's cookies, nor a page on this very origin.
import { createHmac } from "node:crypto";
import request, { type Response } from "supertest";
import { memoryStorage } from "../../lib";
import { authorize } from "../browser/authorize";
import { clients } from "../hosts/clients";
import { stopClock } from "../hosts/clock";
import { expectPage, lost, resumePath } from "./cross-site";
import { signedIn, signedOut, testHost, type TestHost } from "../hosts/host";
import { interactionOf } from "../browser/interaction";

afterEach(() => jest.restoreAllMocks());

interface Began {
  readonly host: TestHost;
  readonly name: string;
  readonly value: string;
  readonly interaction: string;
}

async function begin(options: Parameters<typeof testHost>[0] = {}): Promise<Began> {
  stopClock();
  const host = testHost(options);
  host.session = signedOut;
  const browser = host.browser();
  const interaction = interactionOf(await authorize(browser, { client: "web" }));
  const [[name, value] = ["", ""]] = [...browser.cookies];
  host.session = signedIn;
  return { host, name, value, interaction };
}

function resume({ host, interaction }: Began, cookie: string): Promise<Response> {
  return Promise.resolve(
    request(host.app).get(`${resumePath}?interaction=${interaction}`).set("Cookie", cookie),
  );
}

/** The value and signature of a sealed cookie. */
function parts(value: string): { readonly payload: string; readonly signature: string } {
  const [, payload = "", signature = ""] = /^s:([^.]*)\.(.*)$/.exec(value) ?? [];
  return { payload, signature };
}

function signed(payload: string, key: string): string {
  const signature = createHmac("sha256", key).update(payload).digest("base64").replace(/=+$/, "");
  return `s:${payload}.${encodeURIComponent(signature)}`;
}

const secret = "a test secret of at least 32 characters";

describe("cookies that the attacker has planted (RFC 6265 §8.6, 6265bis §4.1.3.2: cookie tossing)", () => {
  it("has the attributes that keep siblings and scripts away", async () => {
    stopClock();
    const host = testHost();
    const { headers } = await authorize(host.browser(), { client: "web" });
    const lines = headers["set-cookie"] as unknown as string[];
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(
      /^__Host-authmount\.[\w-]{22}=s:[^;]+; Path=\/; HttpOnly; SameSite=Lax; Secure; Max-Age=600$/,
    );
  });

  it("opens with the genuine one", async () => {
    const began = await begin();
    expect((await resume(began, `${began.name}=${began.value}`)).status).toBe(200);
  });

  it.each<readonly [string, (began: Began) => string]>([
    ["unsigned", ({ value }) => parts(value).payload],
    ["with an empty signature", ({ value }) => `s:${parts(value).payload}.`],
    ["with half a signature", ({ value }) => value.slice(0, -20)],
    ["with a signature of zeros", ({ value }) => `s:${parts(value).payload}.${"A".repeat(43)}`],
    [
      "as JSON",
      ({ interaction }) => `j:${encodeURIComponent(JSON.stringify({ interactionId: interaction }))}`,
    ],
    [
      "changed under the genuine signature",
      ({ value }) => {
        const { payload, signature } = parts(value);
        const pending = JSON.parse(Buffer.from(payload, "base64url").toString()) as object;
        const changed = { ...pending, consentSubject: "alice" };
        return `s:${Buffer.from(JSON.stringify(changed)).toString("base64url")}.${signature}`;
      },
    ],
    ["signed with another secret", ({ value }) => signed(parts(value).payload, "another secret")],
    // a host that signs its own cookies with the same secret signs what its users choose
    [
      "signed with the secret itself, for another purpose",
      ({ value }) => signed(parts(value).payload, secret),
    ],
    ["empty", () => ""],
  ])("does not open one that is %s", async (_, forge) => {
    const began = await begin();
    expectPage(await resume(began, `${began.name}=${forge(began)}`), lost);
    expect((await resume(began, `${began.name}=${began.value}`)).status).toBe(200);
  });

  it("does not open one of a server with other secrets", async () => {
    const elsewhere = await begin({ secrets: ["another secret of at least 32 characters"] });
    const here = await begin();
    const asked = { ...here, interaction: elsewhere.interaction };
    expectPage(await resume(asked, `${elsewhere.name}=${elsewhere.value}`), lost);
  });

  it("opens one that was sealed with the previous secret, until that secret is gone", async () => {
    const storage = memoryStorage({ clients: Object.values(clients) });
    const [older, newer] = ["an older secret of 32 characters..", "a newer secret of 32 characters.."];
    const before = await begin({ storage, secrets: [older] });
    const cookie = `${before.name}=${before.value}`;
    const between = { ...before, host: testHost({ storage, secrets: [newer, older] }) };
    expect((await resume(between, cookie)).status).toBe(200);
    const after = { ...before, host: testHost({ storage, secrets: [newer] }) };
    expectPage(await resume(after, cookie), lost);
  });

  it("does not open the attacker's genuine one under the victim's name", async () => {
    const victim = await begin();
    victim.host.session = signedOut;
    const attacker = victim.host.browser();
    await authorize(attacker, { client: "other" });
    const [attackers = ""] = attacker.cookies.values();
    expectPage(await resume(victim, `${victim.name}=${attackers}`), lost);
  });

  it.each<readonly [string, (began: Began) => string]>([
    ["no prefix", ({ name }) => name.replace("__Host-", "")],
    ["another letter case", ({ name }) => name.replace("__Host-", "__host-")],
    ["another prefix", ({ name }) => name.replace("__Host-", "__Secure-")],
    ["something in front", ({ name }) => `x${name}`],
    ["another id", ({ name }) => `${name}x`],
  ])("does not open the genuine one under a name with %s", async (_, rename) => {
    const began = await begin();
    expectPage(await resume(began, `${rename(began)}=${began.value}`), lost);
  });

  it("fails closed when the attacker's comes first under the same name, and is not moved by one behind", async () => {
    const began = await begin();
    const { name, value } = began;
    const forged = signed(parts(value).payload, "another secret");
    expectPage(await resume(began, `${name}=${forged}; ${name}=${value}`), lost);
    expect((await resume(began, `${name}=${value}; ${name}=${forged}`)).status).toBe(200);
  });

  it("is not pushed out by a heap of forged ones", async () => {
    const began = await begin();
    const heap = Array.from(
      { length: 20 },
      (_, index) => `__Host-authmount.${index}=${signed("A".repeat(300), "another secret")}`,
    );
    const { headers, status } = await resume(began, [...heap, `${began.name}=${began.value}`].join("; "));
    expect(status).toBe(200);
    for (const line of headers["set-cookie"] as unknown as string[]) {
      expect(line.startsWith(`${began.name}=s:`)).toBe(true);
    }
  });
});
