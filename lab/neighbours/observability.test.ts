/** The recipes of docs/observability.md for logs and metrics, with many requests at once, failures and refusals. */
import { channel } from "node:diagnostics_channel";
import { readFileSync } from "node:fs";
import path from "node:path";
import pino from "pino";
import { Registry } from "prom-client";
import request from "supertest";
import type { OnEvent } from "../../lib";
import { grantTypes } from "../../lib/protocol/client";
import { endpoints } from "../../lib/protocol/issuer";
import { pairPath } from "../../__tests__/hosts/apis";
import { authorize } from "../../__tests__/browser/authorize";
import { flows } from "../../__tests__/attacks/canary-flows";
import { newWorld, type World } from "../../__tests__/hosts/canary-host";
import { channelsOfTest, hearEvents, unsubscribeAfterEachTest } from "../../__tests__/requests/channels";
import { ownToken, postToken } from "../../__tests__/requests/client-requests";
import { credentials } from "../../__tests__/hosts/clients";
import { runBlock } from "../../__tests__/sources/doc-block";
import { type TestHost, testHost } from "../../__tests__/hosts/host";
import { obtainTokens } from "../../__tests__/browser/journey";
import { everythingUnderWay, newLatch } from "../../__tests__/storage/latch";
import { listen } from "../../__tests__/hosts/listening";

unsubscribeAfterEachTest();
afterEach(() => jest.restoreAllMocks());

const page = "observability.md";
const repository = path.resolve(__dirname, "../..");
/** The kinds of events, as the reference lists them. */
const eventTypes = readFileSync(path.join(repository, "lib/events/port.ts"), "utf8");
const allKinds = [...new Set([...eventTypes.matchAll(/kind: "([\w-]+)"/g)].map(([, kind = ""]) => kind))];
const traceTypes = readFileSync(path.join(repository, "lib/http/request-trace.ts"), "utf8");
const tracedEndpoints = [
  ...Object.keys(endpoints),
  ...[...traceTypes.matchAll(/\| "([\w-]+)"/g)].map(([, name = ""]) => name),
];

function logged(): { lines: string[]; alarms: string[]; onEvent: OnEvent } {
  const [lines, alarms]: [string[], string[]] = [[], []];
  const { onEvent } = runBlock(
    { page, heading: "Logging events" },
    {
      log: (line: string) => void lines.push(line),
      alarm: (text: string) => void alarms.push(text),
      // the block runs outside the test's realm, which has errors of its own
      Error,
    },
  );
  return { lines, alarms, onEvent: onEvent as OnEvent };
}

describe("logging events", () => {
  it("writes a line for each event, without the tokens", async () => {
    const { lines, onEvent } = logged();
    const tokens = await obtainTokens(testHost({ onEvent }), { client: "web" });
    const kinds = lines.map((line) => (JSON.parse(line) as { kind: string }).kind);
    expect(kinds).toEqual(expect.arrayContaining(["started", "authorization-granted", "token-issued"]));
    expect(lines.join("\n")).not.toContain(tokens.access_token);
    expect(lines.join("\n")).not.toContain(tokens.refresh_token);
  });

  it("keeps back what a storage that fails has said", async () => {
    const { lines, alarms, onEvent } = logged();
    const host = testHost({ onEvent });
    host.session = () => Promise.reject(new RangeError("SELECT … WHERE name = 'alice'"));
    await authorize(host.browser(), { client: "web" });
    expect(lines.join("\n")).toContain('"cause":"RangeError"');
    expect(lines.join("\n")).not.toContain("SELECT");
    expect(alarms).toEqual(["the authorization server has failed"]);
  });

  it("raises the alarm at a replay", async () => {
    const { alarms, onEvent } = logged();
    const host = testHost({ onEvent });
    const { refresh_token = "" } = await obtainTokens(host, { client: "web" });
    const fields = { grant_type: "refresh_token", ...credentials("web"), refresh_token };
    await postToken(host, { fields });
    await postToken(host, { fields });
    expect(alarms).toEqual(["replay of a refresh_token by web"]);
  });
});

interface Line extends Record<string, unknown> {
  readonly level: number;
  readonly event: string;
  readonly msg: string;
}

interface PinoLog {
  readonly onEvent: OnEvent;
  readonly lines: () => readonly Line[];
  readonly text: () => string;
}

function pinoLog(): PinoLog {
  const written: string[] = [];
  const logger = pino({}, { write: (line: string) => void written.push(line) });
  const { logTo } = runBlock({ page, heading: "pino" }, { Error });
  return {
    onEvent: (logTo as (given: unknown) => OnEvent)(logger),
    lines: () => written.map((line) => JSON.parse(line) as Line),
    text: () => written.join(""),
  };
}

describe("pino", () => {
  it("writes a line for each event, with its kind and properties", async () => {
    const { onEvent, lines } = pinoLog();
    const heard = hearEvents();
    const host = testHost({ onEvent });
    await Promise.all(Array.from({ length: 20 }, () => ownToken(host, { client: "web" })));
    expect(lines()).toHaveLength(heard.length);
    expect(lines().filter(({ event }) => event === "token-issued")).toHaveLength(20);
    expect(lines().at(-1)).toMatchObject({ level: 30, msg: "token-issued", grantType: "client_credentials" });
  });

  it.each<[string, number, (host: TestHost) => PromiseLike<unknown>]>([
    [
      "client-authentication-failed",
      pino.levels.values["warn"] ?? 0,
      (host) => postToken(host, { fields: { client_id: "web", client_secret: "a guess" } }),
    ],
    [
      "token-refused",
      pino.levels.values["info"] ?? 0,
      (host) => postToken(host, { fields: { ...credentials("web"), grant_type: "password" } }),
    ],
  ])("writes %s with level %i", async (kind, level, ask) => {
    const { onEvent, lines } = pinoLog();
    await ask(testHost({ onEvent }));
    expect(lines().find(({ event }) => event === kind)?.level).toBe(level);
  });

  it("keeps back what a failure has said", async () => {
    const { onEvent, lines, text } = pinoLog();
    const host = testHost({ onEvent });
    host.session = () => Promise.reject(new RangeError("SELECT … WHERE name = 'alice'"));
    await authorize(host.browser(), { client: "web" });
    expect(lines().at(-1)).toMatchObject({ level: 50, event: "server-error", cause: "RangeError" });
    expect(text()).not.toContain("SELECT");
  });

  it.each(Object.entries(flows))("writes no secret: %s", async (_, flow) => {
    const { onEvent, lines, text } = pinoLog();
    const world = newWorld({ onEvent });
    await flow(world);
    expect(lines().length).toBeGreaterThan(0);
    expect(world.secrets.findIn(text())).toEqual([]);
  });
});

function measured(): Registry {
  const registry = new Registry();
  const modules = { "node:diagnostics_channel": channelsOfTest };
  const { measure } = runBlock({ page, heading: "Prometheus", modules }, {});
  (measure as (given: Registry) => void)(registry);
  return registry;
}

interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** What Prometheus reads. */
async function samplesOf(registry: Registry): Promise<readonly Sample[]> {
  const lines = (await registry.metrics()).split("\n");
  return lines.flatMap((line) => {
    const [, name, labels = "", value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
    if (name === undefined) return [];
    const pairs = [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, key = "", text = ""]) => [key, text]);
    return [{ name, labels: Object.fromEntries(pairs) as Record<string, string>, value: Number(value) }];
  });
}

/** The sum of the samples that have these labels. */
async function sum(registry: Registry, name: string, labels: Record<string, string>): Promise<number> {
  const samples = await samplesOf(registry);
  return samples
    .filter((sample) => sample.name === name)
    .filter((sample) => Object.entries(labels).every(([key, value]) => sample.labels[key] === value))
    .reduce((total, { value }) => total + value, 0);
}

const count = "authmount_request_duration_seconds_count";

/** What clients, people and attackers ask, each of a host of its own. */
async function everything(): Promise<readonly World[]> {
  const worlds: World[] = [];
  for (const flow of Object.values(flows)) {
    const world = newWorld();
    worlds.push(world);
    await flow(world);
  }
  return worlds;
}

describe("Prometheus", () => {
  it("counts simultaneous requests by outcome, and times each", async () => {
    const registry = measured();
    const host = testHost();
    const wrong = { ...credentials("web"), grant_type: "password" };
    await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        index % 2 === 0 ? ownToken(host, { client: "web" }) : postToken(host, { fields: wrong }),
      ),
    );
    const issued = { kind: "token-issued", error: "", grant_type: "client_credentials" };
    const refused = { kind: "token-refused", error: "unsupported_grant_type", grant_type: "" };
    expect(await sum(registry, "authmount_events_total", issued)).toBe(10);
    expect(await sum(registry, "authmount_events_total", refused)).toBe(10);
    expect(await sum(registry, count, { endpoint: "token", status: "200" })).toBe(10);
    expect(await sum(registry, count, { endpoint: "token", status: "400" })).toBe(10);
    expect(await sum(registry, "authmount_requests_in_progress", {})).toBe(0);
  });

  it("counts routes behind requireBearer apart from those that it has refused", async () => {
    const registry = measured();
    const host = testHost();
    const { access_token: accessToken } = await obtainTokens(host, { client: "web" });
    for (const token of [accessToken, "wrong"]) {
      await request(host.app).get("/orders").set("Authorization", `Bearer ${token}`);
    }
    expect(await sum(registry, count, { endpoint: "bearer", status: "none" })).toBe(1);
    expect(await sum(registry, count, { endpoint: "bearer", status: "401" })).toBe(1);
  });

  it("shows the requests that are under way", async () => {
    const registry = measured();
    const [asked, answered] = [newLatch(), newLatch()];
    const host = testHost();
    const app = await listen(host.app);
    host.session = async () => {
      asked.open();
      await answered.opened;
      return { kind: "denied" };
    };
    const query = new URLSearchParams({ client_id: "web", response_type: "code" }).toString();
    const target = `${pairPath()}/authorize?${query}&redirect_uri=https%3A%2F%2Fweb.example%2Fcallback`;
    const answer = app.send({ path: target });
    await asked.opened;
    expect(await sum(registry, "authmount_requests_in_progress", { endpoint: "authorization" })).toBe(1);
    answered.open();
    await answer;
    await everythingUnderWay();
    await app.close();
    expect(await sum(registry, "authmount_requests_in_progress", {})).toBe(0);
  });

  it("counts failures of storage", async () => {
    const registry = measured();
    const world = newWorld({ broken: "clients.find" });
    await ownToken(world, { client: "web" });
    expect(await sum(registry, "authmount_events_total", { kind: "server-error" })).toBe(1);
    expect(await sum(registry, count, { endpoint: "token", status: "500" })).toBe(1);
  });

  it("counts every kind of event, and begins those with an alert at 0", async () => {
    const registry = measured();
    expect(await sum(registry, "authmount_events_total", {})).toBe(0);
    const zero = (await samplesOf(registry)).filter(({ name }) => name === "authmount_events_total");
    expect(zero.map(({ labels }) => labels["kind"])).toEqual([
      "server-error",
      "replay-detected",
      "client-authentication-failed",
    ]);
    for (const kind of allKinds) channel("authmount:event").publish({ kind, at: 0 });
    expect(allKinds.length).toBeGreaterThan(20);
    for (const kind of allKinds) expect(await sum(registry, "authmount_events_total", { kind })).toBe(1);
  });

  it("has no label that a stranger can choose, and no secret", async () => {
    const registry = measured();
    const worlds = await everything();
    const samples = await samplesOf(registry);
    const known: Readonly<Record<string, (value: string) => boolean>> = {
      kind: (value) => allKinds.includes(value),
      error: (value) => value === "" || /^[a-z_]{8,30}$/.test(value),
      grant_type: (value) => ["", ...grantTypes].includes(value),
      endpoint: (value) => tracedEndpoints.includes(value),
      status: (value) => value === "none" || /^[2-5]\d\d$/.test(value),
      le: (value) => value === "+Inf" || Number(value) > 0,
    };
    const strange = samples.flatMap(({ labels }) =>
      Object.entries(labels).filter(([name, value]) => !known[name]?.(value)),
    );
    expect(strange).toEqual([]);
    const errors = new Set(samples.map(({ labels }) => labels["error"] ?? ""));
    expect(errors.size).toBeLessThan(20);
    const text = await registry.metrics();
    expect(worlds.flatMap(({ secrets }) => secrets.findIn(text))).toEqual([]);
  });
});

/** The cells of each row of the table of expressions. */
function metricsTable(): readonly (readonly string[])[] {
  const text = readFileSync(path.join(repository, "docs", page), "utf8");
  const [, section = ""] = /\n## Metrics and alerts\n([^]*?)\n## /.exec(text) ?? [];
  const lines = section.split("\n").filter((line) => line.startsWith("| ") && line.includes("`"));
  return lines.map((line) => {
    const cells = line.split(/(?<!\\)\|/).slice(1, -1);
    return cells.map((cell) => cell.trim().replaceAll("\\|", "|").replaceAll("`", ""));
  });
}

const expressions = () => metricsTable().flatMap(([, expression = ""]) => [expression]);

/** A selector of an expression, such as `authmount_events_total{kind="started"}`. */
interface Selector {
  readonly text: string;
  readonly name: string;
  readonly matchers: readonly { readonly label: string; readonly value: RegExp }[];
}

function selectorsIn(expression: string): readonly Selector[] {
  return [...expression.matchAll(/(authmount_\w+)(?:\{([^}]*)\})?/g)].map(([text, name = "", inner = ""]) => {
    const matchers = [...inner.matchAll(/(\w+)=~?"([^"]*)"/g)].map(([, label = "", value = ""]) => ({
      label,
      value: new RegExp(`^(?:${value})$`),
    }));
    return { text, name, matchers };
  });
}

describe("metrics and alerts", () => {
  it("has expressions that find what they look for", async () => {
    const registry = measured();
    await everything();
    await ownToken(newWorld({ broken: "clients.find" }), { client: "web" });
    // a repeated refresh is no part of the flows
    channel("authmount:event").publish({ kind: "refresh-retried", at: 0 });
    const samples = await samplesOf(registry);
    const selectors = expressions().flatMap((expression) => selectorsIn(expression));
    expect(selectors.length).toBeGreaterThan(12);
    const blind = selectors.filter(
      ({ name, matchers }) =>
        !samples.some(
          (sample) =>
            sample.name === name &&
            matchers.every(({ label, value }) => value.test(sample.labels[label] ?? "-")),
        ),
    );
    expect(blind.map(({ text }) => text)).toEqual([]);
  });

  it("has kinds of events that exist", () => {
    const named = expressions().flatMap((each) =>
      [...each.matchAll(/kind=~?"([^"]+)"/g)].flatMap(([, value = ""]) => value.split("|")),
    );
    expect(named.length).toBeGreaterThan(8);
    expect(named.filter((kind) => !allKinds.includes(kind))).toEqual([]);
  });
});
