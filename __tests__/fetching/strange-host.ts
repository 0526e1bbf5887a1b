/** Servers of strangers, which answer whatever bytes the test says, and a network in which they have public addresses. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer, type TLSSocket } from "node:tls";
import { documentFetcher, type FetchDocument } from "../../lib/fetching/fetch-document";
import type { Network } from "../../lib/fetching/network";
import { newAuthority } from "../servers/certificates";

/** Trusted by every `Wire`. */
export const authority = newAuthority();

/** The name of the stranger's host, and a URL there. */
export const strangeName = "client.example";
export const strangeUrl = `https://${strangeName}/client.json`;
/** An address that is public and belongs to nobody here: no packet is sent to it. */
export const strangeAddress = "93.184.215.14";

/** What a stranger's server does with a connection. `head` is the request up to its empty line. */
export type Behaviour = (socket: Socket, head: string) => void;

/** A listener on loopback. */
export interface StrangeHost {
  readonly port: number;
  /** TCP connections so far. */
  readonly connections: () => number;
  /** Bytes that came on connections that have ended, below TLS. */
  readonly received: () => number;
  /** Resolves when the last connection has ended. */
  readonly allEnded: () => Promise<void>;
  /** The heads of the requests so far. */
  readonly heads: readonly string[];
}

const open: { readonly server: Server; readonly sockets: Set<Socket> }[] = [];

async function listen(server: Server, heads: readonly string[]): Promise<StrangeHost> {
  const sockets = new Set<Socket>();
  let connections = 0;
  let received = 0;
  server.on("connection", (socket) => {
    connections += 1;
    sockets.add(socket);
    socket
      .on("error", () => undefined)
      .once("close", () => {
        received += socket.bytesRead;
        sockets.delete(socket);
      });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  open.push({ server, sockets });
  return {
    port: (server.address() as AddressInfo).port,
    connections: () => connections,
    received: () => received,
    async allEnded() {
      while (sockets.size > 0) await Promise.all([...sockets].map((socket) => once(socket, "close")));
    },
    heads,
  };
}

/** Closes all listeners of a test, and whatever is connected to them. */
export async function closeStrangeHosts(): Promise<void> {
  const closing = open.splice(0).map(async ({ server, sockets }) => {
    const closed = once(server.close(), "close");
    for (const socket of sockets) socket.destroy();
    await closed;
  });
  await Promise.all(closing);
}

/** Calls the behaviour once the whole head of a request is here. */
function onHead(socket: Socket, { heads, behave }: { heads: string[]; behave: Behaviour }): void {
  let received = "";
  socket.on("error", () => undefined);
  socket.on("data", (bytes: Buffer) => {
    const isNew = !received.includes("\r\n\r\n");
    received += bytes.toString("latin1");
    if (!isNew || !received.includes("\r\n\r\n")) return;
    heads.push(received);
    behave(socket, received);
  });
}

/** What a client has said when TLS begins: the server name, `false` for none, and the protocol that both speak. */
export type Handshake = Pick<TLSSocket, "servername" | "alpnProtocol">;

/** A server that speaks TLS, and would like to speak HTTP/2. @param names in its certificate. */
export async function tlsHost(
  behave: Behaviour,
  names: readonly string[] = [strangeName],
): Promise<StrangeHost & { readonly handshakes: readonly Handshake[] }> {
  const heads: string[] = [];
  const handshakes: Handshake[] = [];
  const options = { ...authority.certify(...names), ALPNProtocols: ["h2", "http/1.1"] };
  const server = createTlsServer(options, (socket) => {
    const { servername, alpnProtocol } = socket;
    handshakes.push({ servername, alpnProtocol });
    onHead(socket, { heads, behave });
  });
  server.on("tlsClientError", () => undefined);
  return { ...(await listen(server, heads)), handshakes };
}

/** A server that speaks plain HTTP, or nothing. */
export async function plainHost(behave: Behaviour): Promise<StrangeHost> {
  const heads: string[] = [];
  return listen(
    createServer((socket) => onHead(socket, { heads, behave })),
    heads,
  );
}

/** A listener that must never be called. */
export function forbiddenHost(): Promise<StrangeHost> {
  return plainHost((socket) => socket.end());
}

/** An answer, one byte a character. */
export function answerWith(lines: readonly string[], body: string | Buffer = ""): Behaviour {
  return (socket) => {
    socket.write(`${["HTTP/1.1 200 OK", ...lines].join("\r\n")}\r\n\r\n`, "latin1");
    socket.end(body);
  };
}

/** The same with a status line of its own. */
export function answerRaw(text: string): Behaviour {
  return (socket) => socket.end(text, "latin1");
}

/** A good answer with this document. */
export function answerJson(text: string | Buffer, ...lines: readonly string[]): Behaviour {
  const length = `Content-Length: ${Buffer.byteLength(text)}`;
  return answerWith(["Content-Type: application/json", length, ...lines], text);
}

/** The network of a test, and what was done in it. */
export interface Wire {
  readonly network: Network;
  readonly fetch: FetchDocument;
  /** Names that were looked up. */
  readonly lookedUp: readonly string[];
  /** Addresses that connections were begun to. */
  readonly targets: readonly { readonly addresses: readonly string[]; readonly port: number }[];
  /** Time limits that are running, each with its milliseconds. */
  readonly timers: ReadonlyMap<() => void, number>;
  /** Lets the time of every fetch run out. */
  runOut(): void;
}

/** What is different in the network of a test. */
export interface WireOptions {
  /** The answers of DNS, one after the other; the last one stays. */
  readonly answers?: readonly (readonly string[])[];
  readonly addressesOf?: Network["addressesOf"];
  /** Where the connection says that it leads, the first address that was looked up if left out. */
  readonly remoteAddress?: string;
  /** The connection itself. Left out: one to `host`, whatever the address. */
  readonly connect?: Network["connect"];
  readonly insecureLoopback?: boolean;
}

/** A network in which every connection reaches `host`, whatever address it is for. */
export function wireTo(
  host: Pick<StrangeHost, "port">,
  { answers = [[strangeAddress]], remoteAddress, insecureLoopback = false, ...own }: WireOptions = {},
): Wire {
  const lookedUp: string[] = [];
  const targets: { addresses: readonly string[]; port: number }[] = [];
  const timers = new Map<() => void, number>();
  const network: Network = {
    addressesOf(name, signal) {
      lookedUp.push(name);
      if (own.addressesOf) return own.addressesOf(name, signal);
      return Promise.resolve(answers[lookedUp.length - 1] ?? answers.at(-1) ?? []);
    },
    connect(target) {
      targets.push(target);
      if (own.connect) return own.connect(target);
      const socket = connect(host.port, "127.0.0.1");
      const shown = remoteAddress ?? target.addresses[0];
      Object.defineProperty(socket, "remoteAddress", { get: () => shown });
      return socket;
    },
    startTimer(milliseconds, end) {
      timers.set(end, milliseconds);
      return () => void timers.delete(end);
    },
    ca: authority.ca,
  };
  return {
    network,
    fetch: documentFetcher({ insecureLoopback, network }),
    lookedUp,
    targets,
    timers,
    runOut: () => timers.forEach((_, end) => end()),
  };
}

/** A server, and a network that leads there. */
export async function wireToTls(behave: Behaviour, options?: WireOptions): Promise<Wire & StrangeHost> {
  const host = await tlsHost(behave);
  return { ...host, ...wireTo(host, options) };
}
