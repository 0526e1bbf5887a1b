/** Servers of a test host, asked over sockets: one character, one byte. */
import { createServer, type RequestListener, type Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { pairPath } from "../hosts/apis";
import { codeVerifier } from "../browser/authorization-request";
import { encode, type Fields } from "../browser/browser";
import { credentials } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { everythingUnderWay } from "../storage/latch";

let open: Server[] = [];

/** Stops the clock for each test of the file, and closes its servers after it. */
export function closeServersAfterEachTest(): void {
  stopClockForEachTest();
  afterEach(async () => {
    for (const server of open) server.closeAllConnections();
    await Promise.all(open.map((server) => new Promise((closed) => server.close(closed))));
    open = [];
  });
}

/** A server on a free port. */
export async function serverOf(listener: RequestListener): Promise<Server> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  open.push(server);
  await new Promise((listening) => server.once("listening", listening));
  return server;
}

/** A connection to the server. What is written is taken as bytes: one character, one byte. */
export async function connectTo(server: Server): Promise<Socket> {
  const { port } = server.address() as AddressInfo;
  const socket = connect(port, "127.0.0.1").setEncoding("latin1").setDefaultEncoding("latin1");
  socket.setNoDelay(true);
  await new Promise((connected) => socket.once("connect", connected));
  return socket;
}

/** Everything that the server sends on one connection, when it is sent these packets. */
export async function talk(server: Server, ...packets: readonly string[]): Promise<string> {
  const socket = await connectTo(server);
  let received = "";
  socket.on("data", (text: string) => void (received += text));
  const ended = new Promise((resolve, reject) => void socket.on("close", resolve).on("error", reject));
  for (const [index, packet] of packets.entries()) {
    if (index > 0) await delay(5);
    socket.write(packet);
  }
  await ended;
  return received;
}

/** The same, but every packet is a request that is sent when the one before it has its answer. */
export async function takeTurns(server: Server, requests: readonly string[]): Promise<string> {
  const socket = await connectTo(server);
  let received = "";
  socket.on("data", (text: string) => void (received += text));
  for (const [index, text] of requests.entries()) {
    socket.write(text);
    while (statusesOf(received).length <= index) await new Promise((more) => socket.once("data", more));
  }
  socket.destroy();
  return received;
}

/** The statuses of the answers. */
export function statusesOf(received: string): number[] {
  return [...received.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status));
}

/** A request, of which the rest is good. */
export interface Message {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: readonly string[];
  readonly body?: string | undefined;
  readonly version?: string;
}

/** The header of a form. */
export const formType = "Content-Type: application/x-www-form-urlencoded";

/** The token endpoint of password and orders. */
export const tokenPath = `${pairPath()}/token`;

/** The header of the last request of a connection. */
export const closing = "Connection: close";

/** A request as it is sent; one character, one byte. */
export function message({
  method = "POST",
  path = tokenPath,
  headers = [],
  body,
  version = "1.1",
}: Message): string {
  const length = body === undefined ? [] : [`Content-Length: ${body.length}`];
  const lines = [
    `${method} ${path} HTTP/${version}`,
    "Host: host.example",
    ...headers,
    ...length,
    "",
    body ?? "",
  ];
  return lines.join("\r\n");
}

/** A form, the last of its connection. */
export function form(fields: Fields | string, { headers = [], ...rest }: Message = {}): string {
  const body = typeof fields === "string" ? fields : encode(fields);
  return message({ ...rest, headers: [formType, closing, ...headers], body });
}

/** A request without a body, the last of its connection. */
export function withoutBody(method: string, path: string, ...headers: readonly string[]): string {
  return message({ method, path, headers: [closing, ...headers] });
}

/** A good request for a token of the client's own. */
export const machineFields: Record<string, string> = {
  grant_type: "client_credentials",
  ...credentials("machine"),
};

/** The same, as text. */
export const machineForm = encode(machineFields);

/** A good request that redeems a code. */
export function redemption(client: "web" | "native" | "spa", code: string): Record<string, string> {
  return { grant_type: "authorization_code", ...credentials(client), code, code_verifier: codeVerifier };
}

/** The header of a script of the client `spa`. */
export const spaOrigin = "Origin: https://spa.example";

/** The metadata of password and orders. */
export const metadataPath = `${pairPath()}/.well-known/oauth-authorization-server`;

/** The introspection endpoint of password and orders. */
export const introspectPath = `${pairPath()}/introspect`;

/** The revocation endpoint of password and orders. */
export const revokePath = `${pairPath()}/revoke`;

/** Resolves once no connection is left, and nothing is under way that one has caused. */
export async function allConnectionsEnded(server: Server): Promise<void> {
  const count = (): Promise<number> =>
    new Promise((resolve, reject) => {
      server.getConnections((error, connections) => (error ? reject(error) : resolve(connections)));
    });
  while ((await count()) > 0) await delay(2);
  await everythingUnderWay();
}

/** A form in chunks. */
export function chunked(chunks: readonly string[], headers: readonly string[] = []): string {
  const head = message({ headers: [formType, "Transfer-Encoding: chunked", ...headers] });
  const framed = [...chunks, ""].map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`);
  return head + framed.join("");
}

/** A form on a connection that is kept. */
export const keptForm = (fields: string): string => message({ headers: [formType], body: fields });
