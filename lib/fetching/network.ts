/** The network, the names in it and the time, as the fetcher uses them. RFC 6890 §2.1 (who may be behind an address). */
import { Resolver } from "node:dns/promises";
import { connect, isIPv6, type Socket } from "node:net";

/** Where a connection leads. */
export interface Target {
  /** Its look-up gave nothing else, and every one of them is allowed. */
  readonly addresses: readonly string[];
  readonly port: number;
}

/** What the fetcher needs of the world. Only tests pass another one than `systemNetwork`. */
export interface Network {
  /** All addresses of a host name, none if there are none. It stops as soon as the signal is aborted. */
  readonly addressesOf: (host: string, signal: AbortSignal) => Promise<readonly string[]>;
  /** Begins a TCP connection to one of the addresses. */
  readonly connect: (target: Target) => Socket;
  /** Calls `end` after so many milliseconds. Returns a function that prevents it. */
  readonly startTimer: (milliseconds: number, end: () => void) => () => void;
  /** Certificates to trust in place of those that Node trusts, as PEM. */
  readonly ca?: string;
}

/** For one query to one name server; the second attempt may take twice as long. */
const dnsTimeout = { timeout: 1_000, tries: 2 };

/** For one address, if there are more of them. */
const attemptMilliseconds = 500;

/** The network of this machine. */
export const systemNetwork: Network = {
  // not dns.lookup(): a stranger's slow name server would hold threads of Node's pool, and the host's own look-ups would queue behind
  async addressesOf(host, signal) {
    const resolver = new Resolver(dnsTimeout);
    signal.addEventListener("abort", () => resolver.cancel());
    const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
    return answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
  },
  connect({ addresses, port }) {
    const known = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
    return connect({
      port,
      // a name, because the look-up is skipped for addresses; it gives what has been checked, and DNS is not asked again
      host: "checked.invalid",
      lookup: (_host, _options, give) => give(null, known),
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: attemptMilliseconds,
    });
  },
  startTimer(milliseconds, end) {
    const timer = setTimeout(end, milliseconds);
    return () => clearTimeout(timer);
  },
};
