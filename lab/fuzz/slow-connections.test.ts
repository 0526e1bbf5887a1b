// The attacker opens many connections, sends bodies byte by byte, and does not read answers. They hold no credential. Node ends such
// connections by its own timeouts; until then nothing of the library is held for them, and an honest client is answered.
import { createServer, type Server } from "node:http";
import type { Socket } from "node:net";
import { memoryStorage } from "../../lib";
import { credentials, clients } from "../../__tests__/hosts/clients";
import { heapBytes } from "./fuzz-run";
import { testHost, type TestHost } from "../../__tests__/hosts/host";
import { listeners, ways } from "../../__tests__/hosts/in-front";
import {
  connectTo,
  form,
  formType,
  machineFields,
  message,
  metadataPath,
  statusesOf,
  talk,
} from "../../__tests__/requests/raw-connections";
import { encode } from "../../__tests__/browser/browser";
import { everythingUnderWay } from "../../__tests__/storage/latch";
import { watchWrites } from "../../__tests__/storage/slow-storage";

const open: Server[] = [];

afterEach(async () => {
  for (const server of open) server.closeAllConnections();
  await Promise.all(open.splice(0).map((server) => new Promise((closed) => server.close(closed))));
});

/** A server whose own timeouts are short. Left out: those of Node. */
async function serve(host: TestHost, way: keyof typeof listeners, timeouts: object = {}): Promise<Server> {
  const server = createServer(timeouts, listeners[way](host)).listen(0, "127.0.0.1");
  open.push(server);
  await new Promise((listens) => server.once("listening", listens));
  return server;
}

/** An honest client's request in the middle of it. */
async function honestStatus(server: Server): Promise<number[]> {
  return statusesOf(await talk(server, form(machineFields)));
}

/** A POST whose body says to be longer than what is sent of it. */
function unfinished(sent: number): string {
  const body = encode({ grant_type: "client_credentials", ...credentials("web"), padding: "x".repeat(sent) });
  return message({ headers: [formType, `Content-Length: ${body.length + 1}`] }) + body;
}

async function closedSockets(sockets: readonly Socket[]): Promise<void> {
  const living = sockets.filter(({ closed }) => !closed);
  await Promise.all(living.map((socket) => new Promise((closed) => socket.once("close", closed))));
}

describe.each(ways)("slow clients (RFC 6749 §10; RFC 9110 §15.5.9), %s", (way) => {
  it("with unfinished bodies are ended by Node's requestTimeout, without an event or a write", async () => {
    const { storage, writes } = watchWrites(memoryStorage({ clients: Object.values(clients) }));
    const host = testHost({ storage });
    const server = await serve(host, way, {
      requestTimeout: 5_000,
      headersTimeout: 4_500,
      connectionsCheckingInterval: 100,
    });
    const sockets = await Promise.all(Array.from({ length: 100 }, () => connectTo(server)));
    const received: string[] = [];
    for (const socket of sockets) {
      socket.on("data", (text: string) => received.push(text)).on("error", () => undefined);
      socket.write(unfinished(100));
    }
    expect(await honestStatus(server)).toEqual([200]);
    await closedSockets(sockets);
    await everythingUnderWay();
    expect([...new Set(statusesOf(received.join("")))]).toEqual([408]);
    expect(host.events.filter(({ kind }) => kind !== "token-issued")).toEqual([]);
    expect(writes).toEqual([]);
  });

  it("with unfinished bodies of 60 KB leave nothing behind", async () => {
    const host = testHost();
    const server = await serve(host, way);
    const rounds = async (times: number): Promise<void> => {
      for (let round = 0; round < times; round += 1) {
        const sockets = await Promise.all(Array.from({ length: 20 }, () => connectTo(server)));
        for (const socket of sockets) socket.write(unfinished(60_000));
        await honestStatus(server);
        for (const socket of sockets) socket.destroy();
        await closedSockets(sockets);
      }
    };
    await rounds(5);
    const before = await heapBytes();
    await rounds(25);
    expect(((await heapBytes()) - before) / 500).toBeLessThan(10_000);
    expect(host.events.filter(({ kind }) => kind === "server-error")).toEqual([]);
  });

  it("that do not read answers get no more of them than a connection holds, and the rest waits with Node", async () => {
    const host = testHost();
    const server = await serve(host, way);
    const theirs: Socket[] = [];
    server.on("connection", (socket: Socket) => void theirs.push(socket));
    const sockets = await Promise.all(Array.from({ length: 4 }, () => connectTo(server)));
    const request = message({ method: "GET", path: metadataPath });
    const bad = message({
      headers: [formType],
      body: "grant_type=refresh_token&client_id=spa&refresh_token=x",
    });
    for (const socket of sockets) {
      socket.on("error", () => undefined).pause();
      socket.write((request + bad).repeat(20_000));
    }
    const most = { held: 0, written: 0 };
    for (let look = 0; look < 8; look += 1) {
      expect(await honestStatus(server)).toEqual([200]);
      most.held = Math.max(most.held, ...theirs.map(({ writableLength }) => writableLength));
      most.written = Math.max(most.written, ...theirs.map(({ bytesWritten }) => bytesWritten));
    }
    expect(most.written).toBeGreaterThan(1_000);
    expect(most.held).toBeLessThan(2 ** 20);
  });
});
