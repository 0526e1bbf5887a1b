// A person answers a page twice, and differently, before the browser has the response to the first answer: its cookie does not say yet that
// the page was answered. Client and storage must tell the same story. RFC 6749 §4.1.2.1, §10.2.
import type { Response } from "supertest";
import { type Authentication, memoryStorage } from "../../lib";
import { origin, pairPath } from "../hosts/apis";
import { authorize, redirectParameters } from "../browser/authorize";
import type { Browser } from "../browser/browser";
import { redeem } from "../requests/client-requests";
import { clients } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { bothScopes, onOwnPage, outcomeOf, yes } from "../browser/consent";
import { bob, signedIn, type TestHost, testHost, type TestHostOptions } from "../hosts/host";
import { interactionOf, resumePath, signIn } from "../browser/interaction";
import { newLatch } from "../storage/latch";
import { listen } from "../hosts/listening";
import { intercept } from "../storage/slow-storage";

stopClockForEachTest();

interface Bed {
  readonly host: TestHost;
  readonly browser: Browser;
  readonly page: Response;
}

/** Alice sees a consent page. */
async function asked(options: TestHostOptions = {}): Promise<Bed> {
  const host = testHost(options);
  const browser = host.browser();
  return { host, browser, page: await authorize(browser, { client: "web", fields: bothScopes }) };
}

/** Sends this, and forgets the response, cookies included: the person has clicked on. */
async function unheard<T>({ browser }: Pick<Bed, "browser">, send: () => Promise<T>): Promise<T> {
  const before = new Map(browser.cookies);
  const response = await send();
  browser.cookies.clear();
  for (const [name, value] of before) browser.cookies.set(name, value);
  return response;
}

const silent = async (host: TestHost): Promise<unknown> =>
  outcomeOf(await authorize(host.browser(), { client: "web", fields: { ...bothScopes, prompt: "none" } }));

const press =
  (decision: "approve" | "deny" | "switch", fields = {}) =>
  ({ browser, page }: Bed): Promise<Response> =>
    browser.answer(page, decision, fields);

const nothingTicked = press("approve", { scope_0: undefined, scope_1: undefined });

const hostSays =
  (session: Authentication) =>
  async ({ host, browser, page }: Bed): Promise<Response> => {
    const id = /name="interaction" value="([^"]+)"/.exec(page.text)?.[1] ?? "";
    host.session = session;
    const response = await browser.get(resumePath(id));
    host.session = signedIn;
    return response;
  };

const cancel = ({ browser, page }: Bed): Promise<Response> => {
  const interaction = /name="interaction" value="([^"]+)"/.exec(page.text)?.[1];
  return browser.post("/cancel", { interaction });
};

/** Everything that ends in a no. */
const noes: readonly (readonly [string, (bed: Bed) => Promise<Response>])[] = [
  ['"Don’t allow"', press("deny")],
  ["a yes with nothing ticked", nothingTicked],
  ["auth.deny", cancel],
  ["a no of the host on the way back", hostSays({ kind: "denied" })],
];

/** The client hears the no. */
function expectTold(response: Response): void {
  expect(outcomeOf(response)).toBe("access_denied");
}

/** Nobody was told anything, and nothing leads to the client. */
function expectOver(response: Response): void {
  expect(response.status).toBe(400);
  expect(response.headers["location"]).toBeUndefined();
}

async function expectNothingStays(host: TestHost): Promise<void> {
  expect(await silent(host)).toBe("consent_required");
  expect(await host.auth.consents.list("alice")).toMatchObject({ consents: [] });
  const { authorizations } = await host.auth.authorizations.list("alice");
  expect(authorizations).toEqual([]);
}

describe("a no after a yes whose response the browser does not have", () => {
  it.each([...noes, ['"Not you?"', press("switch")] as const])(
    "is told to nobody, and the yes can be repeated: %s",
    async (_, no) => {
      const bed = await asked();
      expect(outcomeOf(await unheard(bed, () => press("approve")(bed)))).toBe("granted");
      expectOver(await unheard(bed, () => no(bed)));
      expect(bed.host.events.at(-1)).toMatchObject({
        kind: "authorization-denied",
        error: "invalid_request",
        code: "page-answered-before",
      });
      const again = await press("approve")(bed);
      const { code = "" } = redirectParameters(again);
      expect((await redeem(bed.host, { client: "web", code })).status).toBe(200);
      expect(await silent(bed.host)).toBe("granted");
    },
  );

  it("is told to nobody where consents are not remembered", async () => {
    const bed = await asked({ lifetimes: { consentSeconds: 0 } });
    expect(outcomeOf(await unheard(bed, () => press("approve")(bed)))).toBe("granted");
    expectOver(await press("deny")(bed));
  });

  it("is told to nobody on the host's own page", async () => {
    const { host, browser, page } = await asked({ consent: { decide: () => onOwnPage } });
    const form = { interaction: interactionOf(page) };
    const granted = await unheard({ browser }, () => browser.post("/allow", form));
    expect(outcomeOf(granted)).toBe("granted");
    expectOver(await browser.post("/cancel", form));
    expect(outcomeOf(await browser.post("/allow", form))).toBe("granted");
    expect(await silent(host)).toBe("granted");
  });
});

describe("a yes after a no whose response the browser does not have", () => {
  it.each(noes)("gets nothing, and the no can be repeated: %s", async (_, no) => {
    const bed = await asked();
    expectTold(await unheard(bed, () => no(bed)));
    expectTold(await unheard(bed, () => no(bed)));
    expectOver(await unheard(bed, () => press("approve")(bed)));
    await expectNothingStays(bed.host);
  });

  it("gets nothing on the host's own page", async () => {
    const { host, browser, page } = await asked({ consent: { decide: () => onOwnPage } });
    const form = { interaction: interactionOf(page) };
    expectTold(await unheard({ browser }, () => browser.post("/cancel", form)));
    expectOver(await browser.post("/allow", form));
    expect(await host.auth.consents.list("alice")).toMatchObject({ consents: [] });
  });

  it('"Not you?": gets nothing', async () => {
    const bed = await asked();
    expect(outcomeOf(await unheard(bed, () => press("switch")(bed)))).toBe("/signin?interaction");
    expectOver(await unheard(bed, () => press("approve")(bed)));
    await expectNothingStays(bed.host);
  });

  it('"Not you?" by a double click, and then the same person after all: their page counts', async () => {
    const bed = await asked();
    const { browser } = bed;
    await unheard(bed, () => press("switch")(bed));
    const next = await signIn({ browser, id: interactionOf(await press("switch")(bed)) }, "alice");
    expect(outcomeOf(await browser.answer(next, "approve"))).toBe("granted");
  });

  it('"Not you?": the no of the next person is told, and nothing of Alice stays', async () => {
    const bed = await asked();
    const { host, browser } = bed;
    const next = await signIn({ browser, id: interactionOf(await press("switch")(bed)) }, "bob");
    expectTold(await browser.answer(next, "deny"));
    host.session = signedIn;
    await expectNothingStays(host);
  });
});

describe("who may store the mark of a no", () => {
  it("is nobody who was not shown a page: a stranger's noes fill no storage", async () => {
    const writes: string[] = [];
    const storage = intercept(memoryStorage({ clients: Object.values(clients) }), async (name, run) => {
      if (!/\.(?:find|list|isBrowserOrigin)$/.test(name)) writes.push(name);
      return run();
    });
    const host = testHost({ storage });
    host.session = { kind: "interaction", url: "/signin" };
    const browser = host.browser();
    const first = await authorize(browser, { client: "web" });
    expectTold(await browser.post("/cancel", { interaction: interactionOf(first) }));
    expect(writes).toEqual([]);
  });

  it("is whoever was shown it, and another person's answer to the same request is their own", async () => {
    const bed = await asked();
    expect(outcomeOf(await unheard(bed, () => press("approve")(bed)))).toBe("granted");
    bed.host.session = bob;
    const page = await press("approve")(bed);
    expect(outcomeOf(page)).toBe("asked");
    expectTold(await bed.browser.answer(page, "deny"));
  });
});

describe("over HTTP, on a connection that breaks", () => {
  it.each([
    ["before the yes has stored anything", "consents.find"],
    ["while it stores the code", "authorizations.create"],
    ["while it stores the consent", "consents.save"],
  ])("a no is told or refused, never both: %s", async (_, heldAt) => {
    const latch = newLatch();
    let isHeld = false;
    const storage = intercept(memoryStorage({ clients: Object.values(clients) }), async (name, run) => {
      if (isHeld && name === heldAt) await latch.opened;
      return run();
    });
    const { host, browser, page } = await asked({ storage });
    isHeld = true;
    const app = await listen(host.app);
    const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const send = (decision: string) =>
      app.send({
        path: `${pairPath()}/authorize/consent`,
        headers: { Cookie: cookie, Origin: origin },
        form: { ...yes(page), decision },
      });
    try {
      const first = send("approve");
      await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
      const no = await send("deny");
      latch.open();
      const granted = (await first).headers.location ?? "";
      const isTold = (no.headers.location ?? "").includes("access_denied");
      expect([isTold, no.status].join()).toBe(isTold ? "true,303" : "false,400");
      expect(granted.includes("code=")).toBe(!isTold);
      isHeld = false;
      expect(await silent(host)).toBe(isTold ? "consent_required" : "granted");
    } finally {
      await app.close();
    }
  });
});
