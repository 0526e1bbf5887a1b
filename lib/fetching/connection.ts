/** A connection of one's own to a stranger's server, whose address is checked before anything is sent. RFC 9110 §4.3.4 (https certificates). */
import { once } from "node:events";
import { isIP, type Socket } from "node:net";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { hostOf } from "./fetchable-url";
import { because } from "../protocol/oauth-error";
import type { Network } from "./network";
import { theseAddresses } from "./public-address";
import { failed, fetchReasons, type FetchRefusal } from "./read-document";

/** What a connection needs besides its URL. */
export interface ConnectionOptions {
  /** The addresses that were looked up and are allowed. */
  readonly addresses: readonly string[];
  readonly network: Network;
  /** Ends the connection, whatever it is doing. */
  readonly signal: AbortSignal;
}

/** A connection, or why there is none. */
export type Connection =
  | { readonly kind: "connected"; readonly socket: Socket }
  | ({ readonly kind: "refused" | "failed" } & FetchRefusal);

/** An error that comes after everything has ended would otherwise end the process. */
function ignoringErrors(socket: Socket): Socket {
  return socket.on("error", () => undefined);
}

function secured(socket: Socket, url: URL, { ca }: Network): TLSSocket {
  const host = hostOf(url);
  return connectTls({
    socket,
    host,
    // an IP address (of loopback) is compared with the certificate, but cannot be sent as a server name
    servername: isIP(host) === 0 ? host : "",
    ALPNProtocols: ["http/1.1"],
    // explicit, so that NODE_TLS_REJECT_UNAUTHORIZED=0 does not let others forge the documents of clients
    rejectUnauthorized: true,
    ca,
  });
}

/**
 * Connects to a host. The address at the other end must be one of those that were looked up. This is checked before the first byte
 * is sent, even of TLS.
 */
export async function connectTo(url: URL, options: ConnectionOptions): Promise<Connection> {
  const { addresses, network, signal } = options;
  const defaultPort = url.protocol === "https:" ? 443 : 80;
  try {
    signal.throwIfAborted();
    let socket = ignoringErrors(network.connect({ addresses, port: Number(url.port || defaultPort) }));
    // TLS also ends what is below it. Node crashes if that is destroyed first, just when the handshake is over
    signal.addEventListener("abort", () => socket.destroy());
    await once(socket, "connect", { signal });
    if (!theseAddresses(addresses)(socket.remoteAddress)) {
      socket.destroy();
      return { kind: "refused", ...because(fetchReasons, "address-not-looked-up") };
    }
    if (url.protocol === "http:") return { kind: "connected", socket };
    socket = ignoringErrors(secured(socket, url, network));
    await once(socket, "secureConnect", { signal });
    return { kind: "connected", socket };
  } catch {
    return failed("no-connection");
  }
}
