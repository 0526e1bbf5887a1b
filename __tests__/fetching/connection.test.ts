import { Socket } from "node:net";
import { type Connection, type ConnectionOptions, connectTo } from "../../lib/fetching/connection";
import { everythingUnderWay, newLatch } from "../storage/latch";
import { closeStrangeHosts, plainHost, strangeAddress, strangeUrl, tlsHost, wireTo } from "./strange-host";

afterEach(closeStrangeHosts);

const noConnection = {
  kind: "failed",
  code: "no-connection",
  reason: expect.any(String) as string,
};

/** A socket that leads to an address, and connects when the test says so. */
function socketTo(remoteAddress: string): Socket {
  return Object.defineProperty(new Socket(), "remoteAddress", { value: remoteAddress });
}

/** A connection that is begun, what has come of it so far, and what ends it. */
function begin(url: string, options: Pick<ConnectionOptions, "network">) {
  const end = new AbortController();
  const outcomes: Connection[] = [];
  const work = connectTo(new URL(url), { addresses: [strangeAddress], signal: end.signal, ...options });
  return { end, outcomes, done: work.then((outcome) => void outcomes.push(outcome)) };
}

describe("the port (RFC 9110 §4.2.1, §4.2.2)", () => {
  it.each([
    ["http://localhost/", 80],
    ["https://localhost/", 443],
    ["http://localhost:8080/", 8080],
    ["https://localhost:8443/", 8443],
  ])("of %s is %i", async (url, port) => {
    const { network, targets } = wireTo({ port: 0 }, { connect: () => socketTo("") });
    const { end, done } = begin(url, { network });
    end.abort();
    await done;
    expect(targets).toEqual([{ addresses: [strangeAddress], port }]);
  });
});

describe("what is said when TLS begins (RFC 6066 §3, RFC 7301 §3.1)", () => {
  it.each([
    ["https://client.example/", "client.example"],
    ["https://localhost/", "localhost"],
    ["https://127.0.0.1/", false],
    ["https://[::1]/", false],
  ])("to %s is the server name %p, and HTTP/1.1 alone", async (url, servername) => {
    const host = await tlsHost(() => undefined, ["client.example", "localhost", "127.0.0.1", "::1"]);
    const { outcomes, done } = begin(url, wireTo(host));
    await done;
    expect(outcomes).toEqual([{ kind: "connected", socket: expect.any(Socket) }]);
    await everythingUnderWay();
    expect(host.handshakes).toEqual([{ servername, alpnProtocol: "http/1.1" }]);
  });

  it.each(["https://other.example/", "https://127.0.0.1/", "https://[::1]/"])(
    "leads to no connection to %s if the certificate is for another host",
    async (url) => {
      const { outcomes, done } = begin(url, wireTo(await tlsHost(() => undefined)));
      await done;
      expect(outcomes).toEqual([noConnection]);
    },
  );

  it("comes from the certificates of Node if the network names none", async () => {
    const host = await tlsHost(() => undefined);
    const { ca: _, ...network } = wireTo(host).network;
    const { outcomes, done } = begin(strangeUrl, { network });
    await done;
    expect(outcomes).toEqual([noConnection]);
  });
});

describe("a connection that is ended from outside (house rule: five seconds for everything together)", () => {
  it("is not begun if that was before", async () => {
    const { network, targets } = wireTo({ port: 0 });
    const work = connectTo(new URL(strangeUrl), { addresses: [], network, signal: AbortSignal.abort() });
    expect(await work).toEqual(noConnection);
    expect(targets).toEqual([]);
  });

  it("is given up while it is begun", async () => {
    const socket = socketTo(strangeAddress);
    const { end, outcomes } = begin(strangeUrl, wireTo({ port: 0 }, { connect: () => socket }));
    end.abort();
    await everythingUnderWay();
    expect(outcomes).toEqual([noConnection]);
    expect(socket.destroyed).toBe(true);
  });

  it("is given up while TLS begins", async () => {
    const host = await plainHost(() => undefined);
    const isAccepted = newLatch();
    const { network } = wireTo(host);
    const { end, outcomes } = begin(strangeUrl, {
      network: {
        ...network,
        connect: (target) => network.connect(target).once("connect", () => isAccepted.open()),
      },
    });
    await isAccepted.opened;
    await everythingUnderWay();
    expect(outcomes).toEqual([]);
    end.abort();
    await everythingUnderWay();
    expect(outcomes).toEqual([noConnection]);
    await host.allEnded();
  });

  it("is closed, also at the very moment in which TLS is ready, which has crashed Node", async () => {
    const host = await tlsHost(() => undefined);
    const { end, outcomes, done } = begin(strangeUrl, wireTo(host));
    await done;
    end.abort();
    expect(outcomes).toEqual([{ kind: "connected", socket: expect.objectContaining({ destroyed: true }) }]);
    await host.allEnded();
  });
});

describe("an error of a connection that nobody waits for any more", () => {
  it("is ignored without TLS", async () => {
    const socket = socketTo(strangeAddress);
    const { outcomes, done } = begin("http://localhost/", wireTo({ port: 0 }, { connect: () => socket }));
    socket.emit("connect");
    await done;
    expect(outcomes).toEqual([{ kind: "connected", socket }]);
    expect(() => socket.emit("error", new Error("ECONNRESET"))).not.toThrow();
  });

  it("is ignored with TLS", async () => {
    const { outcomes, done } = begin(strangeUrl, wireTo(await tlsHost(() => undefined)));
    await done;
    const [connection] = outcomes;
    if (connection?.kind !== "connected") throw new Error("no connection");
    expect(() => connection.socket.emit("error", new Error("ECONNRESET"))).not.toThrow();
  });
});

describe("the address at the other end (RFC 9728 §7.7)", () => {
  it("is one that the look-up gave, or the connection is closed", async () => {
    const socket = socketTo("127.0.0.1");
    const { outcomes, done } = begin("http://localhost/", wireTo({ port: 0 }, { connect: () => socket }));
    socket.emit("connect");
    await done;
    expect(outcomes).toMatchObject([{ kind: "refused", code: "address-not-looked-up" }]);
    expect(socket.destroyed).toBe(true);
  });
});
