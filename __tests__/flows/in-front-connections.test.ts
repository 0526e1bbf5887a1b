/** Connections that are kept, cut or shared, with the router in Express and with `auth.inFrontOf(app)`. */
import type { Server } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { encode } from "../browser/browser";
import { eventKinds, itAnswersAlike, listeners, plainHost, stuckAt, ways } from "../hosts/in-front";
import { obtainCode } from "../browser/journey";
import { everythingUnderWay } from "../storage/latch";
import {
  allConnectionsEnded,
  chunked,
  closeServersAfterEachTest,
  closing,
  connectTo,
  form,
  formType,
  keptForm,
  machineFields,
  machineForm,
  message,
  metadataPath,
  redemption,
  serverOf,
  spaOrigin,
  statusesOf,
  takeTurns,
  talk,
  withoutBody,
} from "../requests/raw-connections";

closeServersAfterEachTest();

describe.each(ways)("%s: one code, many at once (RFC 6749 §10.5)", (way) => {
  it.each([2, 16])("%i redemptions at the same moment: exactly one wins", async (times) => {
    const host = plainHost();
    const server = await serverOf(listeners[way](host));
    const code = await obtainCode(host, { client: "web" });
    const sent = Array.from({ length: times }, () => talk(server, form(redemption("web", code))));
    const statuses = (await Promise.all(sent)).flatMap(statusesOf);
    expect(statuses).toHaveLength(times);
    expect(statuses.filter((status) => status !== 400)).toEqual([200]);
  });

  it("pipelined on one connection: exactly one wins", async () => {
    const host = plainHost();
    const server = await serverOf(listeners[way](host));
    const code = await obtainCode(host, { client: "web" });
    const one = message({ headers: [formType], body: encode(redemption("web", code)) });
    const answer = await talk(server, one + form(redemption("web", code)));
    expect(statusesOf(answer)).toEqual([200, 400]);
  });
});

async function lives(server: Server): Promise<void> {
  expect(statusesOf(await talk(server, form(machineFields)))).toEqual([200]);
}

describe.each(ways)("%s: a client that goes away (RFC 9112 §9.5)", (way) => {
  const half = machineForm.slice(0, 20);
  const head = message({ headers: [formType, "Content-Length: 100"] });
  const beginnings = {
    "after the headers": head,
    "in the middle of its body": head + half,
    "in the middle of its body, as a script": message({
      headers: [formType, spaOrigin, "Content-Length: 100"],
      body: undefined,
    }).concat(half),
    "in the middle of a chunk": `${message({ headers: [formType, "Transfer-Encoding: chunked"] })}40\r\n${half}`,
    "between two chunks": chunked([half]).slice(0, -"0\r\n\r\n".length),
    "after what is too large": `${message({ headers: [formType, "Content-Length: 65537"] })}${"x".repeat(100)}`,
    "in the middle of the second request": `${message({ headers: [formType], body: machineForm })}${head}${half}`,
  };

  it.each(Object.entries(beginnings))("%s: the server lives on and no failure is told", async (_, text) => {
    const host = plainHost();
    const server = await serverOf(listeners[way](host));
    const socket = await connectTo(server);
    socket.write(text);
    await delay(20);
    socket.destroy();
    await allConnectionsEnded(server);
    // what is too large is refused before it has arrived
    const harmless = ["token-issued", "token-refused"];
    expect(eventKinds(host).filter((kind) => !harmless.includes(kind))).toEqual([]);
    await lives(server);
  });

  it.each(["end", "resetAndDestroy"] as const)("by %s in the middle of its body", async (leave) => {
    const host = plainHost();
    const server = await serverOf(listeners[way](host));
    const socket = await connectTo(server);
    socket.write(head + half);
    await delay(20);
    socket[leave]();
    await allConnectionsEnded(server);
    expect(eventKinds(host)).toEqual([]);
    await lives(server);
  });

  it.each(["isBrowserOrigin", "find"])("while storage works (clients.%s)", async (method) => {
    const { storage, entered, answer } = stuckAt(`clients.${method}`);
    const host = plainHost({ storage });
    const server = await serverOf(listeners[way](host));
    const socket = await connectTo(server);
    socket.write(form(machineFields, { headers: [spaOrigin] }));
    await entered.opened;
    socket.destroy();
    await allConnectionsEnded(server);
    answer.open();
    await everythingUnderWay();
    expect(eventKinds(host)).toEqual(["token-issued"]);
    await lives(server);
  });
});

describe.each(ways)("%s: bodies in pieces (RFC 9112 §6)", (way) => {
  const head = message({ headers: [formType, closing, `Content-Length: ${machineForm.length}`] });
  const packets: Record<string, readonly string[]> = {
    "headers and body apart": [head, machineForm],
    "the body in two": [head + machineForm.slice(0, 10), machineForm.slice(10)],
    "the body without its last byte, and that": [head + machineForm.slice(0, -1), machineForm.slice(-1)],
    "the headers in two": [head.slice(0, 30), head.slice(30) + machineForm],
    "all in many": (head + machineForm).match(/[^]{1,40}/g) ?? [],
    "one chunk": [chunked([machineForm], [closing])],
    "many chunks in one packet": [chunked(machineForm.match(/.{1,7}/g) ?? [], [closing])],
    "chunks in many packets":
      chunked(machineForm.match(/.{1,20}/g) ?? [], [closing]).match(/[^]{1,50}/g) ?? [],
    "a trailer after the chunks": [
      chunked([machineForm], [closing]).replace(/\r\n$/, "X-Trailer: x\r\n\r\n"),
    ],
    "64 KiB in two": [
      message({ headers: [formType, closing, "Content-Length: 65536"] }) + machineForm,
      "&x=".padEnd(65_536 - machineForm.length, "x"),
    ],
  };

  it.each(Object.entries(packets))("%s", async (_, sent) => {
    const host = plainHost();
    const server = await serverOf(listeners[way](host));
    expect(statusesOf(await talk(server, ...sent))).toEqual([200]);
    expect(eventKinds(host)).toEqual(["token-issued"]);
  });

  it("too large in many chunks, of which the client reads the answer", async () => {
    const host = plainHost();
    const server = await serverOf(listeners[way](host));
    const head413 = message({ headers: [formType, "Transfer-Encoding: chunked"] });
    const chunk = `4000\r\n${"x".repeat(0x4000)}\r\n`;
    expect(statusesOf(await talk(server, head413, chunk, chunk, chunk, chunk, chunk))).toEqual([413]);
  });

  it.each([["Content-Length: 0"], ["Transfer-Encoding: chunked"]])("no byte, by %s", async (header) => {
    const host = plainHost();
    const server = await serverOf(listeners[way](host));
    const end = header.startsWith("T") ? "0\r\n\r\n" : "";
    const answer = await talk(server, message({ headers: [formType, closing, header] }) + end);
    expect(statusesOf(answer)).toEqual([400]);
    expect(answer).toContain("client_id is missing.");
  });
});

const wrongForm = encode({ ...machineFields, client_secret: "wrong" });

/** With and without bodies, for us and for the host, good and refused. */
const mixed: readonly (readonly [number, string])[] = [
  [200, keptForm(machineForm)],
  [200, message({ method: "GET", path: metadataPath })],
  [401, keptForm(wrongForm)],
  [400, keptForm("")],
  [404, message({ method: "GET", path: "/nowhere" })],
  [400, message({ headers: [formType] })],
  [405, message({ method: "PUT", headers: [formType], body: machineForm })],
  [200, chunked([machineForm.slice(0, 9), machineForm.slice(9)])],
  [400, message({ headers: ["Content-Type: text/plain"], body: "the body of another type" })],
  [204, message({ method: "OPTIONS", headers: [spaOrigin] })],
  [404, message({ path: "/nowhere", headers: [formType], body: machineForm })],
  [200, message({ headers: [formType], body: `${machineForm}&x=`.padEnd(60_000, "x") })],
  [200, message({ method: "GET", path: "/login/jwks" })],
];

const many = Array.from({ length: 5 }, () => mixed).flat();

describe.each(ways)("%s: connections that are kept (RFC 9112 §9.3)", (way) => {
  it("serve many requests, one after the other", async () => {
    const server = await serverOf(listeners[way](plainHost()));
    const answer = await takeTurns(
      server,
      many.map(([, text]) => text),
    );
    expect(statusesOf(answer)).toEqual(many.map(([status]) => status));
  });

  it("serve many pipelined requests (RFC 9112 §9.3.2)", async () => {
    const server = await serverOf(listeners[way](plainHost()));
    const answer = await talk(server, many.map(([, text]) => text).join("") + form(machineFields));
    expect(statusesOf(answer)).toEqual([...many.map(([status]) => status), 200]);
  });

  it("serve pipelined requests that are cut anywhere", async () => {
    const server = await serverOf(listeners[way](plainHost()));
    const small = mixed.filter(([, text]) => text.length < 1_000);
    const text = small.map(([, sent]) => sent).join("") + form(machineFields);
    const answer = await talk(server, ...(text.match(/[^]{1,97}/g) ?? []));
    expect(statusesOf(answer)).toEqual([...small.map(([status]) => status), 200]);
  });

  it("take what follows a body as the next request", async () => {
    const server = await serverOf(listeners[way](plainHost()));
    const answer = await talk(server, keptForm(machineForm) + withoutBody("GET", metadataPath));
    expect(statusesOf(answer)).toEqual([200, 200]);
    expect(answer).toContain('"token_endpoint"');
  });

  it("take what follows a body as the next request, even if it is none", async () => {
    const host = plainHost();
    const server = await serverOf(listeners[way](host));
    expect(statusesOf(await talk(server, `${keptForm(machineForm)}&grant_type=x\r\n\r\n`)).at(-1)).toBe(400);
    expect(eventKinds(host)).toEqual(["token-issued"]);
  });

  it("end after a body that is too large", async () => {
    const server = await serverOf(listeners[way](plainHost()));
    const answer = await talk(server, message({ headers: [formType, "Content-Length: 65537"] }));
    expect(answer).toContain("\r\nConnection: close\r\n");
  });
});

describe("the same bytes: pipelined requests on one connection (RFC 9112 §9.3.2)", () => {
  itAnswersAlike({
    "many, good and refused": [200, () => many.map(([, text]) => text).join("") + form(machineFields)],
    "one that cannot be read after a good one": [400, () => `${keptForm(machineForm)}x\r\n\r\n`],
    "one after a body that is too large is not served": [
      413,
      () => `${form("x".repeat(65_537))}${form(machineFields)}`,
    ],
  });
});
