// The attacker chooses URLs that the server fetches, runs the name server and the web server behind them, and knows addresses of the
// host's own network. They did not get to have a byte sent to one of these, to have anything followed or unpacked, to hold the
// server up, or to fill its memory.
import { Resolver } from "node:dns/promises";
import { Agent } from "node:http";
import { connect, type Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { documentFetcher } from "../../lib/fetching/fetch-document";
import { systemNetwork } from "../../lib/fetching/network";
import { rememberedDocuments } from "../../lib/fetching/remembered-documents";
import { everythingUnderWay, newLatch } from "../storage/latch";
import {
  answerJson,
  answerRaw,
  answerWith,
  type Behaviour,
  closeStrangeHosts,
  forbiddenHost,
  plainHost,
  strangeAddress,
  strangeName,
  strangeUrl,
  tlsHost,
  wireTo,
  wireToTls,
} from "../fetching/strange-host";

afterEach(async () => {
  jest.restoreAllMocks();
  await closeStrangeHosts();
});

const json = "Content-Type: application/json";
const notPublic = { kind: "refused", code: "host-not-public", reason: expect.any(String) as string };
const wrongUrl = {
  kind: "refused",
  code: "document-url-not-allowed",
  reason: expect.any(String) as string,
};
const late = { kind: "failed", code: "answer-late", reason: expect.any(String) as string };

describe("a URL that points into the host's network (RFC 9728 §7.7)", () => {
  it.each([
    "https://127.0.0.1/",
    "https://2130706433/",
    "https://0x7f.1/",
    "https://0177.0.0.1/",
    "https://127.1/",
    "https://0/",
    "https://[::1]/",
    "https://[::ffff:127.0.0.1]/",
    "https://[::ffff:7f00:1]/",
    "https://[64:ff9b::7f00:1]/",
    "https://[2002:7f00:1::]/",
    "https://[fe80::1%25lo]/",
    "http://169.254.169.254/latest/meta-data/iam/",
    "https://localhost/",
    "https://localhost./",
    "https://a.localhost/",
    "https://LOCALHOST/",
    "https://client.example@127.0.0.1/",
    "https://127.0.0.1#client.example/",
    "https://127.0.0.1\\@client.example/",
    "https://client.example./",
    "https://client.example:PORT/",
    "http://client.example:PORT/",
    "http://127.0.0.1:PORT/",
    "http://localhost:PORT/",
    "http://[::1]:PORT/",
    "file:///etc/passwd",
    "unix:/var/run/docker.sock",
    "gopher://127.0.0.1:PORT/_FLUSHALL",
  ])("is refused without a look-up or a connection: %s", async (text) => {
    const victim = await forbiddenHost();
    const url = text.replace("PORT", String(victim.port));
    const wire = wireTo(victim);
    expect(await wire.fetch(url)).toEqual(wrongUrl);
    expect(await documentFetcher({ insecureLoopback: false })(url)).toEqual(wrongUrl);
    expect(wire.lookedUp).toEqual([]);
    expect(victim.connections()).toBe(0);
  });
});

describe("a name that leads into the host's network (RFC 6890 §2.2)", () => {
  it.each([
    "127.0.0.1",
    "0.0.0.0",
    "10.0.0.1",
    "100.64.0.1",
    "169.254.169.254",
    "172.16.0.1",
    "192.168.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::ffff:127.0.0.1",
    "::ffff:7f00:1",
    "::127.0.0.1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::7f00:1",
    "2001::7f00:1",
    "2002:7f00:1::",
    "fd00:ec2::254",
    "fe80::1",
    "fe80::1%lo",
    "ff02::1",
    "not an address",
  ])("is refused, alone or beside a public address: %s", async (address) => {
    const victim = await forbiddenHost();
    for (const answer of [[address], [strangeAddress, address], [address, strangeAddress]]) {
      const wire = wireTo(victim, { answers: [answer] });
      expect(await wire.fetch(strangeUrl)).toEqual(notPublic);
      expect(wire.targets).toEqual([]);
    }
    expect(victim.connections()).toBe(0);
  });

  it("is asked for once: a second answer counts for the next fetch, and is refused then", async () => {
    const host = await tlsHost(answerJson("{}"));
    const wire = wireTo(host, { answers: [[strangeAddress], ["127.0.0.1"]] });
    expect(await wire.fetch(strangeUrl)).toMatchObject({ kind: "fetched" });
    expect(wire.lookedUp).toEqual([strangeName]);
    expect(wire.targets.map(({ addresses }) => addresses)).toEqual([[strangeAddress]]);
    expect(await wire.fetch(strangeUrl)).toEqual(notPublic);
    expect(host.connections()).toBe(1);
  });

  it.each(["127.0.0.1", "::1", "::ffff:127.0.0.1", "10.0.0.1", "93.184.215.15", "2606:2800:21f:cb07::1"])(
    "gets no byte if the connection ends up at %s",
    async (remoteAddress) => {
      const victim = await forbiddenHost();
      const wire = wireTo(victim, { remoteAddress });
      expect(await wire.fetch(strangeUrl)).toEqual({
        kind: "refused",
        code: "address-not-looked-up",
        reason: expect.any(String) as string,
      });
      await victim.allEnded();
      expect(victim.received()).toBe(0);
    },
  );

  it("is not looked up a second time by the connection, which knows only what was checked", async () => {
    const host = await plainHost(answerJson("{}"));
    const lookUps = [jest.spyOn(Resolver.prototype, "resolve4"), jest.spyOn(Resolver.prototype, "resolve6")];
    const socket = systemNetwork.connect({ addresses: ["127.0.0.1"], port: host.port });
    await new Promise((resolve) => socket.once("connect", resolve));
    expect(socket.remoteAddress).toBe("127.0.0.1");
    socket.destroy();
    for (const lookUp of lookUps) expect(lookUp).not.toHaveBeenCalled();
  });

  it("has all its addresses looked at, of both families, even if one of the two look-ups fails", async () => {
    const ipv4 = jest.spyOn(Resolver.prototype, "resolve4");
    const ipv6 = jest.spyOn(Resolver.prototype, "resolve6");
    const connected = jest.fn(() => connect(0, "127.0.0.1"));
    const fetch = documentFetcher({
      insecureLoopback: false,
      network: { ...systemNetwork, connect: connected },
    });
    ipv4.mockResolvedValue([strangeAddress] as never);
    ipv6.mockResolvedValue(["::1"]);
    expect(await fetch(strangeUrl)).toEqual(notPublic);
    ipv4.mockRejectedValue(new Error("ENODATA"));
    expect(await fetch(strangeUrl)).toEqual(notPublic);
    ipv6.mockRejectedValue(new Error("ESERVFAIL"));
    expect(await fetch(strangeUrl)).toMatchObject({ kind: "failed" });
    ipv4.mockResolvedValue(["127.0.0.1"] as never);
    expect(await fetch(strangeUrl)).toEqual(notPublic);
    expect(connected).not.toHaveBeenCalled();
  });

  it.each([
    ["of both families", 2_000, 2_000, ["8.0.0.1", "8.0.1.1", "2606:2800::", "2606:2800::1"]],
    ["of one family", 2_000, 0, ["8.0.0.1", "8.0.1.1"]],
    ["of the other family", 0, 2_000, ["2606:2800::", "2606:2800::1"]],
  ])(
    "a name with thousands of addresses %s has all of them looked at, and few connected to",
    async (_, ipv4, ipv6, expected) => {
      const addresses = [
        ...Array.from({ length: ipv4 }, (__, index) => `8.${index >> 8}.${index & 255}.1`),
        ...Array.from({ length: ipv6 }, (__, index) => `2606:2800::${index === 0 ? "" : index.toString(16)}`),
      ];
      const host = await tlsHost(answerJson("{}"));
      const wire = wireTo(host, { answers: [addresses, [...addresses, "10.0.0.1"]] });
      expect(await wire.fetch(strangeUrl)).toMatchObject({ kind: "fetched" });
      expect(wire.targets.map((target) => target.addresses)).toEqual([expected]);
      expect(await wire.fetch(strangeUrl)).toEqual(notPublic);
      expect(host.connections()).toBe(1);
    },
  );

  it("never makes localhost mean something else: DNS is not asked for it", async () => {
    const victim = await forbiddenHost();
    const wire = wireTo(victim, { insecureLoopback: true, remoteAddress: "10.0.0.1" });
    expect(await wire.fetch(`http://localhost:${victim.port}/`)).toMatchObject({ kind: "refused" });
    expect(wire.lookedUp).toEqual([]);
    await victim.allEnded();
    expect(victim.received()).toBe(0);
  });
});

describe("an answer that sends the server elsewhere (RFC 9110 §15.4)", () => {
  it.each([300, 301, 302, 303, 307, 308])("is not followed: %i", async (status) => {
    const victim = await forbiddenHost();
    for (const location of [
      `http://127.0.0.1:${victim.port}/`,
      `http://localhost:${victim.port}/`,
      "/other",
    ]) {
      const lines = [`HTTP/1.1 ${status} X`, `Location: ${location}`, `Refresh: 0;url=${location}`, json];
      const wire = await wireToTls(answerRaw(`${lines.join("\r\n")}\r\nContent-Length: 2\r\n\r\n{}`), {
        insecureLoopback: true,
      });
      expect(await wire.fetch(strangeUrl)).toMatchObject({ kind: "failed" });
      expect(wire.connections()).toBe(1);
    }
    expect(victim.connections()).toBe(0);
  });

  it("by headers of other kinds is taken as it is, and cookies are not sent back", async () => {
    const victim = await forbiddenHost();
    const elsewhere = `http://127.0.0.1:${victim.port}/`;
    const wire = await wireToTls(
      answerJson("{}", `Location: ${elsewhere}`, `Alt-Svc: h2="127.0.0.1:${victim.port}"`, "Set-Cookie: a=b"),
    );
    for (let time = 0; time < 2; time += 1) {
      expect(await wire.fetch(strangeUrl)).toMatchObject({ kind: "fetched" });
    }
    expect(wire.heads.join("")).not.toMatch(/cookie|authorization|referer/i);
    expect(wire.connections()).toBe(2);
    expect(victim.connections()).toBe(0);
  });
});

describe("a proxy in the environment (RFC 9728 §7.7)", () => {
  const names = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "NODE_USE_ENV_PROXY"];
  const before = Object.fromEntries(names.map((name) => [name, process.env[name]]));

  afterEach(() => {
    for (const name of names) delete process.env[name];
    for (const [name, value] of Object.entries(before)) if (value !== undefined) process.env[name] = value;
  });

  it("is not used", async () => {
    const proxy = await forbiddenHost();
    for (const name of names) process.env[name] = `http://127.0.0.1:${proxy.port}`;
    process.env["NODE_USE_ENV_PROXY"] = "1";
    // it is an agent that would use one
    const asked = jest.spyOn(Agent.prototype as Agent & { addRequest(): void }, "addRequest");
    const wire = await wireToTls(answerJson("{}"));
    expect(await wire.fetch(strangeUrl)).toMatchObject({ kind: "fetched" });
    const plain = await plainHost(answerJson("{}"));
    const fetch = documentFetcher({ insecureLoopback: true });
    expect(await fetch(`http://localhost:${plain.port}/`)).toMatchObject({ kind: "fetched" });
    expect(proxy.connections()).toBe(0);
    expect(asked).not.toHaveBeenCalled();
  });
});

/** Sends as much as the connection takes, until it ends. */
function floodOf(chunk: Buffer): (socket: Socket) => void {
  return (socket) => {
    const send = (): void => {
      while (!socket.destroyed && socket.write(chunk));
    };
    socket.on("drain", send);
    send();
  };
}

describe("a huge answer (RFC 9728 §7.7)", () => {
  const large = Buffer.alloc(65_536, " ");
  const framed = Buffer.concat([Buffer.from("10000\r\n"), large, Buffer.from("\r\n")]);

  it.each([
    ["of a stated length", [json, "Content-Length: 1000000000"], large],
    ["of a length beyond all numbers", [json, `Content-Length: 9007199254740993`], large],
    ["without a length", [json], large],
    ["in chunks", [json, "Transfer-Encoding: chunked"], framed],
    ["packed", [json, "Content-Encoding: gzip"], gzipSync(Buffer.alloc(10_000_000))],
    ["packed on the way", [json, "Transfer-Encoding: gzip"], gzipSync(Buffer.alloc(10_000_000))],
    ["of another type", ["Content-Type: video/mp4"], large],
    ["of headers", [`X: ${"y".repeat(60_000)}`], large],
  ])("%s ends with its connection", async (_, lines, chunk) => {
    const flood = floodOf(chunk);
    const wire = await wireToTls((socket) => {
      socket.write(`${["HTTP/1.1 200 OK", ...lines].join("\r\n")}\r\n\r\n`);
      flood(socket);
    });
    expect(await wire.fetch(strangeUrl)).toMatchObject({ kind: "failed" });
    await wire.allEnded();
  });

  it.each([
    ["interim answers", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n".repeat(1_000)],
    ["headers", `X: ${"y".repeat(1_000)}\r\n`.repeat(60)],
    ["text that is no HTTP", "x".repeat(60_000)],
  ])("of nothing but %s ends with its connection", async (_, text) => {
    const flood = floodOf(Buffer.from(text));
    const wire = await wireToTls((socket) => {
      if (text.startsWith("X:")) socket.write("HTTP/1.1 200 OK\r\n");
      flood(socket);
    });
    expect(await wire.fetch(strangeUrl)).toMatchObject({ kind: "failed" });
    await wire.allEnded();
  });

  it("that unpacks to a thousand times its size is not unpacked, whatever it says of itself", async () => {
    const bomb = gzipSync(Buffer.alloc(4_000_000, " "));
    expect(bomb.length).toBeLessThan(5_120);
    for (const line of ["Content-Encoding: gzip", "X-Gzip: yes"]) {
      const wire = await wireToTls(answerWith([json, line, `Content-Length: ${bomb.length}`], bomb));
      expect(await wire.fetch(strangeUrl)).toMatchObject({ kind: "failed" });
    }
  });
});

describe("a slow answer (RFC 9728 §7.7)", () => {
  const head = `HTTP/1.1 200 OK\r\n${json}\r\n`;
  const slow: readonly (readonly [string, readonly string[]])[] = [
    ["says nothing", []],
    ["says its headers byte by byte", "HTTP/1.1 200".split("")],
    ["never ends its headers", [head, "X: y\r\n"]],
    ["says its body byte by byte", [head, "Content-Length: 9\r\n\r\n", "{", " ", " "]],
    [
      "says its body in chunks of one byte",
      [head, "Transfer-Encoding: chunked\r\n\r\n", "1\r\n{\r\n", "1\r\n"],
    ],
    ["never ends its trailers", [head, "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n", "X: y\r\n"]],
    ["never says where its body ends", [head, "\r\n", "{}"]],
  ];

  it.each(slow)("that %s is given up after five seconds, with its connection", async (_, pieces) => {
    const said = newLatch();
    const wire = await wireToTls((socket) => {
      socket.setNoDelay(true);
      const sayNext = (index: number): void => {
        const piece = pieces[index];
        if (piece === undefined) return said.open();
        socket.write(piece, () => setImmediate(sayNext, index + 1));
      };
      sayNext(0);
    });
    const fetching = wire.fetch(strangeUrl);
    await said.opened;
    wire.runOut();
    expect(await fetching).toEqual(late);
    expect(wire.timers.size).toBe(0);
    await wire.allEnded();
  });

  it("of a server that accepts and says nothing, not even of TLS, is given up with its connection", async () => {
    const accepted = newLatch();
    const host = await plainHost(() => undefined);
    const wire = wireTo(host, {
      connect: () => {
        const socket = connect(host.port, "127.0.0.1");
        Object.defineProperty(socket, "remoteAddress", { get: () => strangeAddress });
        return socket.once("connect", () => accepted.open());
      },
    });
    const fetching = wire.fetch(strangeUrl);
    await accepted.opened;
    wire.runOut();
    expect(await fetching).toEqual(late);
    await host.allEnded();
  });

  it("of a name server is given up, and the look-up stopped", async () => {
    const signals: AbortSignal[] = [];
    const wire = wireTo(
      { port: 0 },
      {
        addressesOf: (_, signal) => {
          signals.push(signal);
          return new Promise(() => undefined);
        },
      },
    );
    const fetching = wire.fetch(strangeUrl);
    wire.runOut();
    expect(await fetching).toEqual(late);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  });

  it("of a name server holds no thread: the look-up is cancelled", async () => {
    const cancel = jest.spyOn(Resolver.prototype, "cancel").mockReturnValue(undefined);
    jest.spyOn(Resolver.prototype, "resolve4").mockReturnValue(new Promise(() => undefined) as never);
    jest.spyOn(Resolver.prototype, "resolve6").mockReturnValue(new Promise(() => undefined));
    const ends: (() => void)[] = [];
    const startTimer = (_: number, end: () => void) => {
      ends.push(end);
      return () => undefined;
    };
    const network = { ...systemNetwork, startTimer };
    const fetching = documentFetcher({ insecureLoopback: false, network })(strangeUrl);
    for (const end of ends) end();
    expect(await fetching).toEqual(late);
    expect(cancel).toHaveBeenCalledTimes(1);
  });
});

describe("an error of the connection after everything has ended (house rule: it never rejects, never throws)", () => {
  const endings: readonly (readonly [string, Behaviour])[] = [
    [
      "a reset behind a good answer",
      (socket) => {
        socket.write(`HTTP/1.1 200 OK\r\n${json}\r\nContent-Length: 2\r\n\r\n{}`, () =>
          socket.resetAndDestroy(),
        );
      },
    ],
    [
      "bytes behind a good answer",
      answerRaw(`HTTP/1.1 200 OK\r\n${json}\r\nContent-Length: 2\r\n\r\n{}more`),
    ],
    [
      "a second answer behind the first",
      answerRaw(`HTTP/1.1 200 OK\r\n${json}\r\nContent-Length: 2\r\n\r\n{}`.repeat(2)),
    ],
    ["a reset in place of an answer", (socket) => void socket.resetAndDestroy()],
  ];

  it.each(endings)("goes unnoticed: %s", async (_, behave) => {
    const host = await plainHost(behave);
    const wire = wireTo(host, { insecureLoopback: true });
    expect(["fetched", "failed"]).toContain((await wire.fetch("http://localhost/")).kind);
    await host.allEnded();
    await everythingUnderWay();
  });
});

describe("what an event says of a fetch (house rule: no input and no remote content)", () => {
  const marker = "hunter2";

  it.each([
    answerRaw(`HTTP/1.1 200 ${marker}\r\nContent-Type: ${marker}\r\n\r\n`),
    answerRaw(`HTTP/1.1 302 ${marker}\r\nLocation: https://${marker}/\r\n\r\n`),
    answerRaw(`${marker}\r\n\r\n`),
    answerJson(marker),
    answerJson("{}", `Content-Encoding: ${marker}`),
  ])("is constant text (%#)", async (behave) => {
    const wire = await wireToTls(behave);
    const outcome = await wire.fetch(`${strangeUrl}?${marker}`);
    expect(outcome).toMatchObject({ kind: "failed" });
    expect(JSON.stringify(outcome)).not.toContain(marker);
    expect(JSON.stringify(outcome)).not.toContain(strangeName);
  });

  it("is constant text when nothing is asked", async () => {
    const outcomes = [
      await wireTo({ port: 0 }).fetch(`http://${marker}.example/`),
      await wireTo({ port: 0 }, { answers: [["127.0.0.1"]] }).fetch(`https://${marker}.example/`),
      await wireTo(
        { port: 0 },
        { addressesOf: () => Promise.reject(new Error(`${marker}.example: SERVFAIL`)) },
      ).fetch(`https://${marker}.example/`),
      await wireTo(await tlsHost(answerJson("{}"))).fetch(`https://${marker}.example/`),
    ];
    expect(outcomes.map(({ kind }) => kind)).toEqual(["refused", "refused", "failed", "failed"]);
    expect(JSON.stringify(outcomes)).not.toMatch(/hunter2|127\.0|SERVFAIL/);
  });
});

function clock(): number {
  return 1_800_000_000;
}

describe("a flood of URLs (RFC 9728 §7.7)", () => {
  it("has 32 connections at a time, and none is left when their time is over: 1,000 URLs", async () => {
    const full = newLatch();
    const host = await tlsHost(() => {
      if (host.heads.length === 32) full.open();
    });
    const wire = wireTo(host);
    const documents = rememberedDocuments({ fetchDocument: wire.fetch, clock });
    const waiting = Array.from({ length: 1_000 }, (_, index) => documents.find(`${strangeUrl}?${index}`));
    await full.opened;
    expect(wire.timers.size).toBe(32);
    wire.runOut();
    const answers = await Promise.all(waiting);
    expect(answers.filter(({ kind }) => kind === "too-many")).toHaveLength(968);
    expect(answers.filter(({ kind }) => kind === "failed")).toHaveLength(32);
    await host.allEnded();
    expect(host.connections()).toBe(32);
    expect(wire.lookedUp).toHaveLength(32);
    expect(wire.timers.size).toBe(0);
  });

  it("that is one URL has one connection: 64 requests", async () => {
    const wire = await wireToTls(answerJson('{"a":1}'));
    const documents = rememberedDocuments({ fetchDocument: wire.fetch, clock });
    const answers = await Promise.all(Array.from({ length: 64 }, () => documents.find(strangeUrl)));
    expect(answers).toMatchObject(Array.from({ length: 64 }, () => ({ kind: "found", value: { a: 1 } })));
    expect(wire.connections()).toBe(1);
    expect(wire.lookedUp).toHaveLength(1);
  });
});
