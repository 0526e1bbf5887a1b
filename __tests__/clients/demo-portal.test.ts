/** The two pages of `authmount/portal` in the demo, and what comes of them for clients that go on working meanwhile. */
import { setTimeout as delay } from "node:timers/promises";
import { flow } from "../../examples/demo/stories";
import { demo, issuerOf, itHasPrintedNoFailure, orders, secretOf } from "../servers/demo";
import type { Page, WebBrowser } from "../servers/example";
import {
  newVisitor,
  openApps,
  partOf,
  press,
  refusals,
  signInAs,
  start,
  takeSteps,
  tell,
} from "./demo-stories";
import { formOf } from "./host-example";

const openClient = (browser: WebBrowser, clientId: string): Promise<Page> =>
  browser.open(`${demo.origin}/staff/clients?client=${clientId}`);

/** Presses a button of the page of a client. */
async function change(
  sam: WebBrowser,
  clientId: string,
  fields: { readonly do: string; readonly old?: "works" | "ends" },
): Promise<Page> {
  const form = formOf(await openClient(sam, clientId), `value="${fields.do}"`);
  const page = await sam.submit(form, fields);
  expect(page.status).toBe(200);
  return page;
}

/** Makes a new secret, while the old one works on. */
async function rotate(sam: WebBrowser, clientId: string): Promise<string> {
  const { text } = await change(sam, clientId, { do: "newSecret", old: "works" });
  return /<code>([^<]+)<\/code>/.exec(text)?.[1] ?? "";
}

/** The programs of the playground have the secrets of its start. */
async function expectOldSecretToWork(clientId: string): Promise<void> {
  const steps = await tell(flow["run"] ?? { actions: [] }, { browser: await newVisitor(), clientId });
  expect(refusals(steps)).toEqual([]);
  expect(steps.at(-1)).toMatchObject({ url: "/api/orders", status: 200 });
}

interface Answer {
  readonly secret: string;
  readonly sent: string;
  readonly came: string;
  /** The status, and the error of a refusal. */
  readonly was: string;
}

/** Token requests of the Night Job, one after the other in each of four loops, until `stop`. They take turns with the secrets. */
function requestInLoops() {
  const secrets = [secretOf("machine")];
  const answers: Answer[] = [];
  const now = { phase: "enabled", isStopped: false };
  async function ask(secret: string): Promise<void> {
    const { phase: sent } = now;
    const form = { grant_type: "client_credentials", client_id: "machine", client_secret: secret };
    const url = `${issuerOf(orders)}/token`;
    const response = await fetch(url, { method: "POST", body: new URLSearchParams(form) });
    const { error } = (await response.json()) as { error?: string };
    answers.push({ secret, sent, came: now.phase, was: [response.status, error].join(" ").trim() });
  }
  async function loop(): Promise<void> {
    for (let count = 0; !now.isStopped; count += 1) await ask(secrets[count % secrets.length] ?? "");
  }
  const loops = Promise.all(Array.from({ length: 4 }, loop));
  return {
    secrets,
    answers,
    now,
    /** Resolves when so many more answers have come. */
    async more(count: number): Promise<void> {
      const enough = answers.length + count;
      while (answers.length < enough && !now.isStopped) await Promise.race([loops, delay(5)]);
    },
    async stop(): Promise<void> {
      now.isStopped = true;
      await loops;
    },
  };
}

/** What the answers were, each once. */
const kindsOf = (answers: readonly Answer[]): readonly string[] => [
  ...new Set(answers.map(({ was }) => was)),
];

describe("what a person allows an app of the demo", () => {
  it("is narrowed at once: without the scope the API takes no order, and goes on showing them (RFC 6750 §3.1)", async () => {
    const browser = await newVisitor();
    await start(browser, "web");
    const useApi = async (): Promise<unknown> => {
      await takeSteps(browser);
      for (const action of ["call", "change"]) await press(browser, "web", action);
      return (await takeSteps(browser)).map(({ method, status }) => `${method} ${status}`);
    };
    expect(await useApi()).toEqual(["GET 200", "POST 201"]);
    const { text, ...page } = formOf(partOf(await openApps(browser), "Web Shop"), 'value="save"');
    const unticked = text.replace(/<input type="checkbox"[^>]*>(?= <span>Place orders for you)/, "");
    expect(unticked).not.toBe(text);
    const after = await browser.submit({ ...page, text: unticked }, { do: "save" });
    expect(partOf(after, "Web Shop").text.match(/(?<=<span>)[^<]+/g)).toEqual(["See your orders"]);
    expect(await useApi()).toEqual(["GET 200", "POST 403"]);
    await press(browser, "web", "refresh");
    expect(await useApi()).toEqual(["GET 200", "POST 403"]);
  });
});

describe("the clients of the demo, managed by staff", () => {
  it("shows them to sam alone, while sam is not disabled", async () => {
    const { browser: sam, account } = await signInAs("sam");
    expect(account.text).toContain('href="/staff/clients"');
    const list = `${demo.origin}/staff/clients`;
    expect((await sam.open(list)).text).toContain("<bdi>Night Job</bdi>");
    await sam.post(`${demo.origin}/person/disable`);
    expect((await sam.open(list)).status).toBe(404);
    await sam.post(`${demo.origin}/person/enable`);
    const { browser: alice, account: other } = await signInAs("alice");
    expect(other.text).not.toContain("/staff");
    expect((await alice.open(list)).status).toBe(404);
    const form = formOf(await openClient(sam, "web"), 'value="disable"');
    expect((await alice.submit(form, { do: "disable" })).status).toBe(404);
    const nobody = await newVisitor();
    expect((await nobody.open(list)).url.pathname).toBe("/account");
  });

  it("refuses no request while the secret changes, and every one once the client is disabled (RFC 6749 §5.2)", async () => {
    const { browser: sam } = await signInAs("sam");
    const load = requestInLoops();
    try {
      await load.more(40);
      const fresh = await rotate(sam, "machine");
      load.secrets.push(fresh);
      await load.more(80);
      load.now.phase = "disabling";
      await change(sam, "machine", { do: "disable" });
      load.now.phase = "disabled";
      await load.more(40);
    } finally {
      await load.stop();
    }
    const before = load.answers.filter(({ came }) => came === "enabled");
    for (const secret of load.secrets)
      expect(kindsOf(before.filter((answer) => answer.secret === secret))).toEqual(["200"]);
    // revocationLagSeconds is 0 here
    const after = load.answers.filter(({ sent }) => sent === "disabled");
    for (const secret of load.secrets)
      expect(kindsOf(after.filter((answer) => answer.secret === secret))).toEqual(["401 invalid_client"]);
    await change(sam, "machine", { do: "enable" });
    await expectOldSecretToWork("machine");
  });

  it.each(["web", "portal"])(
    "makes a new secret of %s, and the playground goes on with the old one",
    async (clientId) => {
      const { browser: sam } = await signInAs("sam");
      expect(await rotate(sam, clientId)).not.toBe(secretOf(clientId));
      await expectOldSecretToWork(clientId);
    },
  );
});

itHasPrintedNoFailure();
