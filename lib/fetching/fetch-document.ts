/** Fetches small JSON documents from URLs that strangers name. RFC 9728 §7.7 (SSRF), RFC 6890 §2.2, RFC 9110 §15.4 (redirects). */
import { type IncomingMessage, request } from "node:http";
import { isIPv4, isIPv6, type Socket } from "node:net";
import { connectTo } from "./connection";
import { because } from "../protocol/oauth-error";
import { hostOf, isFetchableUrl, isLoopbackUrl, type UrlRules } from "./fetchable-url";
import { failed, fetchReasons, type FetchRefusal, readDocument, readMaxAge } from "./read-document";
import { type Network, systemNetwork } from "./network";
import { publicAddresses } from "./public-address";

/** What came of a fetch. */
export type FetchedDocument =
  | {
      readonly kind: "fetched";
      /** JSON, as the server wrote it. */
      readonly text: string;
      /** For how long it is fresh by its headers, `undefined` if they do not say. */
      readonly maxAgeSeconds: number | undefined;
    }
  | (FetchRefusal & {
      /** `refused`: nothing was sent, because the URL or an address is not allowed. `failed`: no good document came back. */
      readonly kind: "refused" | "failed";
    });

/** Fetches the document at a URL. It never rejects. */
export type FetchDocument = (url: string) => Promise<FetchedDocument>;

/** How documents are fetched. */
export interface FetcherOptions extends UrlRules {
  /** For tests. Left out: the network of this machine. */
  readonly network?: Network;
}

/** A fetch that is under way. */
interface UnderWay {
  readonly network: Network;
  /** Ends everything that the fetch has opened. */
  readonly signal: AbortSignal;
}

/** For everything together: DNS, TLS, headers and body. */
const limitMilliseconds = 5_000;

/** How many addresses of a host a connection may try: so many of each family, because this machine may have only one of them. */
const maxOfFamily = 2;

function refused(code: keyof typeof fetchReasons): FetchedDocument {
  return { kind: "refused", ...because(fetchReasons, code) };
}

/** What this machine calls itself needs no DNS, and must not get an answer from there. */
function loopbackAddresses(url: URL): readonly string[] {
  const host = hostOf(url);
  return host === "localhost" ? ["127.0.0.1", "::1"] : [host];
}

/** A few of the addresses: a name can have thousands, and a connection that fails would try them one after the other. */
function fewOf(addresses: readonly string[]): readonly string[] {
  return [isIPv4, isIPv6].flatMap((isOfFamily) =>
    addresses.filter((address) => isOfFamily(address)).slice(0, maxOfFamily),
  );
}

/**
 * The answer to a GET on a connection that nothing else uses. There is no agent, so no proxy is read from the environment, and no
 * connection and no answer is shared. Rejects if there is no answer.
 */
function askFor(url: URL, socket: Socket): Promise<IncomingMessage> {
  const asked = request({
    createConnection: () => socket,
    path: `${url.pathname}${url.search}`,
    headers: {
      Host: url.host,
      Accept: "application/json",
      "Accept-Encoding": "identity",
      "User-Agent": "authmount",
      Connection: "close",
    },
  });
  return new Promise((resolve, reject) => {
    asked.on("response", resolve);
    // nobody has asked for interim answers, of which there may be any number
    for (const end of ["information", "error", "close"]) asked.on(end, reject);
    asked.end();
  });
}

async function fetchFrom(
  url: URL,
  addresses: readonly string[],
  { network, signal }: UnderWay,
): Promise<FetchedDocument> {
  const connection = await connectTo(url, { addresses, network, signal });
  if (connection.kind !== "connected") return connection;
  try {
    const answer = await askFor(url, connection.socket);
    const document = await readDocument(answer);
    if (document.kind === "failed") return document;
    return { kind: "fetched", text: document.text, maxAgeSeconds: readMaxAge(answer.headersDistinct) };
  } catch {
    return failed("answer-cut-off");
  }
}

/** Runs a fetch within its time, and ends whatever it has opened. */
async function inTime(
  network: Network,
  fetching: (underWay: UnderWay) => Promise<FetchedDocument>,
): Promise<FetchedDocument> {
  const end = new AbortController();
  let stopTimer: (() => void) | undefined;
  const late = new Promise<FetchedDocument>((resolve) => {
    stopTimer = network.startTimer(limitMilliseconds, () => resolve(failed("answer-late")));
  });
  try {
    return await Promise.race([fetching({ network, signal: end.signal }), late]);
  } finally {
    stopTimer?.();
    end.abort();
  }
}

/**
 * A function that fetches JSON documents from URLs of strangers. It asks only hosts on public addresses (see `isFetchableUrl` and
 * `publicAddresses`), over https, once, at four addresses at most, without following redirects, without credentials, and takes at most
 * 5 KB in five seconds.
 *
 * @rfc 9728 §7.7
 */
export function documentFetcher({
  insecureLoopback,
  network = systemNetwork,
}: FetcherOptions): FetchDocument {
  const isPublic = publicAddresses();

  async function fetchPublic(url: URL, underWay: UnderWay): Promise<FetchedDocument> {
    const addresses = await network.addressesOf(url.hostname, underWay.signal).catch(() => []);
    if (addresses.length === 0) return failed("host-without-address");
    // all of them: the owner of the name server chooses which one is connected to, and which one it gives next
    if (!addresses.every(isPublic)) return refused("host-not-public");
    return fetchFrom(url, fewOf(addresses), underWay);
  }

  return async (text) => {
    if (!isFetchableUrl(text, { insecureLoopback })) return refused("document-url-not-allowed");
    const url = new URL(text);
    return inTime(network, (underWay) =>
      isLoopbackUrl(url) ? fetchFrom(url, loopbackAddresses(url), underWay) : fetchPublic(url, underWay),
    );
  };
}
