/** A connection that is kept, on which one request after the other is sent as bytes. */
import type { Server } from "node:http";
import type { Socket } from "node:net";
import { connectTo } from "../../__tests__/requests/raw-connections";

/** An answer as it was received; one character, one byte. */
export interface WireAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string;
  /** False when the connection ended first. */
  readonly whole: boolean;
  /** How many bytes it has. */
  readonly length: number;
}

/** The values of a header. */
export function valuesOf({ headers }: WireAnswer, name: string): string[] {
  return headers.filter(([each]) => each === name).map(([, value]) => value);
}

/** The body of chunks, and where it ends; no end when there is more to come. */
export function chunkedBody(text: string): { readonly body: string; readonly end: number | undefined } {
  let [body, at] = ["", 0];
  for (;;) {
    const line = text.indexOf("\r\n", at);
    const size = Number.parseInt(text.slice(at, line), 16);
    if (line < 0 || Number.isNaN(size)) return { body, end: undefined };
    body += text.slice(line + 2, line + 2 + size);
    at = line + 2 + size + 2;
    if (at > text.length) return { body, end: undefined };
    if (size === 0) return { body, end: at };
  }
}

function bodyOf(
  text: string,
  { status, headers, method }: { method: string } & Pick<WireAnswer, "status" | "headers">,
) {
  if (method === "HEAD" || status === 204 || status === 304 || status < 200) return { body: "", end: 0 };
  const named = new Map(headers);
  if (named.get("transfer-encoding") === "chunked") return chunkedBody(text);
  const length = Number(named.get("content-length") ?? Number.NaN);
  // without a length the end of the connection ends it
  return { body: text.slice(0, length || undefined), end: length <= text.length ? length : undefined };
}

/** The first answer in a text, `undefined` as long as its head is not there. Interim answers are skipped. */
export function readAnswer(text: string, method: string): WireAnswer | undefined {
  const head = text.indexOf("\r\n\r\n");
  if (head < 0) return undefined;
  const [first = "", ...lines] = text.slice(0, head).split("\r\n");
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(first)?.[1] ?? Number.NaN);
  if (status < 200) {
    const final = readAnswer(text.slice(head + 4), method);
    return final && { ...final, length: final.length + head + 4 };
  }
  const headers = lines.map((line) => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
  });
  const { body, end } = bodyOf(text.slice(head + 4), { status, headers, method });
  return { status, headers, body, whole: end !== undefined, length: head + 4 + (end ?? text.length) };
}

/** Sends bytes, and gives the answer; `undefined` when the connection was closed without one. */
export interface FuzzConnection {
  exchange(bytes: string): Promise<WireAnswer | undefined>;
  close(): void;
}

/** A connection to the server, made anew when it has ended. */
export function fuzzConnection(server: Server): FuzzConnection {
  let socket: Socket | undefined;
  const isOpen = (): boolean =>
    socket !== undefined && !socket.destroyed && socket.writable && !socket.readableEnded;

  async function exchange(bytes: string): Promise<WireAnswer | undefined> {
    if (!isOpen()) {
      socket = await connectTo(server);
      // the end is heard by "close"
      socket.on("error", () => undefined);
    }
    const current = socket!;
    const method = bytes.slice(0, bytes.indexOf(" "));
    return new Promise((resolve) => {
      let received = "";
      const finish = (): void => {
        current.off("data", hear).off("close", finish);
        const answer = readAnswer(received, method);
        const isLast = !answer?.whole || valuesOf(answer, "connection").some((value) => /close/i.test(value));
        if (isLast || answer.length !== received.length) current.destroy();
        resolve(answer);
      };
      const hear = (text: string): void => {
        received += text;
        if (readAnswer(received, method)?.whole) finish();
      };
      current.on("data", hear).on("close", finish);
      current.write(bytes);
    });
  }

  return { exchange, close: () => void socket?.destroy() };
}
