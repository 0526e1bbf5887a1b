/** A server on a free port of this machine that is closed after each test, and a visit to it. */
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";

/** A server whose app can name its own origin. */
export interface StartedServer {
  readonly origin: string;
  readonly serve: (app: RequestListener) => void;
}

/** Starts such servers. To be called at the top of a test file. */
export function serverForEachTest(): () => Promise<StartedServer> {
  let close: (() => Promise<void>) | undefined;
  afterEach(() => close?.());
  return async () => {
    const server = createServer().listen(0, "localhost");
    close = async () => {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    };
    await new Promise((listening) => server.once("listening", listening));
    const origin = `http://localhost:${(server.address() as AddressInfo).port}`;
    return { origin, serve: (app) => void server.on("request", app) };
  };
}

/** The redirect with the code of a person who is signed in. */
export async function visit(url: URL): Promise<URL> {
  const { headers } = await fetch(url, { redirect: "manual" });
  return new URL(headers.get("location") ?? "");
}
