/** An app on one port, for requests that are really under way at the same time. */
import { Agent, type IncomingHttpHeaders, type OutgoingHttpHeaders, request } from "node:http";
import type { AddressInfo } from "node:net";
import type { Express } from "express";
import { encode, type Fields } from "../browser/browser";

/** What came back. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The JSON object of the body; empty when the body is something else. */
  readonly body: Readonly<Record<string, unknown>>;
}

/** What is sent. */
export interface Question {
  /** GET without a form, POST with one. */
  readonly method?: string;
  readonly path: string;
  readonly headers?: OutgoingHttpHeaders;
  readonly form?: Fields;
}

/** An app on a port, and a client that keeps its connection. */
export interface ListeningApp {
  readonly port: number;
  send(question: Question): Promise<Answer>;
  close(): Promise<void>;
}

function readBody(headers: IncomingHttpHeaders, text: string): Readonly<Record<string, unknown>> {
  return headers["content-type"]?.startsWith("application/json")
    ? (JSON.parse(text) as Record<string, unknown>)
    : {};
}

function exchange(
  { port, agent }: { port: number; agent?: Agent },
  { method, path, headers = {}, form }: Question,
): Promise<Answer> {
  const body = form && encode(form);
  const sent = {
    ...(form && { "Content-Type": "application/x-www-form-urlencoded" }),
    ...(body !== undefined && { "Content-Length": Buffer.byteLength(body) }),
    ...headers,
  };
  return new Promise((resolve, reject) => {
    const target = { host: "127.0.0.1", port, ...(agent && { agent }) };
    const options = { ...target, path, method: method ?? (form ? "POST" : "GET"), headers: sent };
    const outgoing = request(options, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () => {
        const text = Buffer.concat(chunks).toString();
        const { headers: received, statusCode = 0 } = response;
        resolve({ status: statusCode, headers: received, text, body: readBody(received, text) });
      });
    });
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

/** Sends it on a connection of its own. Rejects when the connection ends before the answer does. */
export function sendTo(port: number, question: Question): Promise<Answer> {
  return exchange({ port }, { ...question, headers: { Connection: "close", ...question.headers } });
}

/** Starts the app on a free port; it keeps connections, and follows no redirect. */
export async function listen(app: Express): Promise<ListeningApp> {
  const server = app.listen(0, "127.0.0.1");
  // a kept connection must not end between two requests of a slow machine
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => server.once("listening", resolve));
  const agent = new Agent({ keepAlive: true });
  const { port } = server.address() as AddressInfo;
  return {
    port,
    send: (question) => exchange({ port, agent }, question),
    close() {
      agent.destroy();
      return new Promise((resolve, reject) => server.close((error) => (error ? reject(error) : resolve())));
    },
  };
}
