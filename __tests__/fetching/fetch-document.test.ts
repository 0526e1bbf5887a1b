import { fetchReasons } from "../../lib/fetching/read-document";
import type { Socket } from "node:net";
import tls from "node:tls";
import { documentFetcher, type FetchedDocument } from "../../lib/fetching/fetch-document";
import { newLatch } from "../storage/latch";
import {
  answerJson,
  answerRaw,
  answerWith,
  closeStrangeHosts,
  plainHost,
  strangeAddress,
  strangeName,
  strangeUrl,
  tlsHost,
  wireTo,
  wireToTls,
} from "./strange-host";

afterEach(closeStrangeHosts);

const json = "Content-Type: application/json";
const good = '{"client_name":"Ein Gerät"}';

function fetched(text: string, maxAgeSeconds?: number): FetchedDocument {
  return { kind: "fetched", text, maxAgeSeconds };
}

function failed(code: keyof typeof fetchReasons): FetchedDocument {
  return { kind: "failed", code, reason: fetchReasons[code] };
}

describe("a document (RFC 8259 §8.1)", () => {
  it("is fetched with one plain request", async () => {
    const wire = await wireToTls(answerJson(good));
    expect(await wire.fetch(`${strangeUrl}?a=b`)).toEqual(fetched(good));
    expect(wire.lookedUp).toEqual([strangeName]);
    expect(wire.targets).toEqual([{ addresses: [strangeAddress], port: 443 }]);
    expect(wire.heads).toEqual([
      [
        "GET /client.json?a=b HTTP/1.1",
        "Host: client.example",
        "Accept: application/json",
        "Accept-Encoding: identity",
        "User-Agent: authmount",
        "Connection: close",
        "\r\n",
      ].join("\r\n"),
    ]);
  });

  it("leaves no connection and no timer behind", async () => {
    const wire = await wireToTls((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\n${json}\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\n{}`);
    });
    expect(await wire.fetch(strangeUrl)).toEqual(fetched("{}"));
    expect(wire.timers.size).toBe(0);
    await wire.allEnded();
    expect(wire.connections()).toBe(1);
  });

  it("has five seconds", async () => {
    const begun = newLatch();
    const wire = await wireToTls(() => begun.open());
    const fetching = wire.fetch(strangeUrl);
    await begun.opened;
    expect([...wire.timers.values()]).toEqual([5_000]);
    wire.runOut();
    expect(await fetching).toEqual(failed("answer-late"));
  });

  it.each(["{}", "[]", '"text"', "null", "0", " {} "])("may be %j", async (text) => {
    const wire = await wireToTls(answerJson(text));
    expect(await wire.fetch(strangeUrl)).toEqual(fetched(text));
  });

  it("may have 5,120 bytes, and no more", async () => {
    const text = JSON.stringify("x".repeat(5_118));
    const wire = await wireToTls(answerJson(text));
    expect(await wire.fetch(strangeUrl)).toEqual(fetched(text));
    const larger = await wireToTls(answerJson(`${text} `));
    expect(await larger.fetch(strangeUrl)).toEqual(failed("document-too-large"));
  });

  it("that says it is larger is not waited for", async () => {
    const wire = await wireToTls((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\n${json}\r\nContent-Length: 5121\r\n\r\n`);
    });
    expect(await wire.fetch(strangeUrl)).toEqual(failed("document-too-large"));
  });

  it("may arrive in chunks, and with trailers, which are ignored", async () => {
    const chunks = "4\r\n{}  \r\n2\r\n  \r\n0\r\nCache-Control: max-age=9\r\nX: y\r\n\r\n";
    const wire = await wireToTls(answerWith([json, "Transfer-Encoding: chunked"], chunks));
    expect(await wire.fetch(strangeUrl)).toEqual(fetched("{}    "));
  });

  it("in chunks may not be larger either, though nothing says how large it is", async () => {
    const text = JSON.stringify("x".repeat(5_119));
    const chunks = `${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`;
    const wire = await wireToTls(answerWith([json, "Transfer-Encoding: chunked"], chunks));
    expect(await wire.fetch(strangeUrl)).toEqual(failed("document-too-large"));
  });

  it("may end with its connection", async () => {
    const wire = await wireToTls(answerWith([json], good));
    expect(await wire.fetch(strangeUrl)).toEqual(fetched(good));
  });

  it.each(["", "{", "{}{}", "{'a':1}", "{} // b", "NaN", "\uFEFF{}", '{"a":1,}', "[".repeat(5_000)])(
    "is JSON, so it is not %j",
    async (text) => {
      const wire = await wireToTls(answerJson(text));
      expect(await wire.fetch(strangeUrl)).toEqual(failed("document-not-json"));
    },
  );

  it.each([
    ["Latin-1", Buffer.from('{"a":"\u00e9"}', "latin1")],
    ["UTF-16", Buffer.from('{"a":"é"}\u{d800}', "utf16le")],
    ["an overlong slash", Buffer.from([0x22, 0xc0, 0xaf, 0x22])],
    ["a surrogate", Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])],
  ])("is UTF-8, so it is not %s, whatever its charset says", async (_, bytes) => {
    const length = `Content-Length: ${bytes.length}`;
    const type = "Content-Type: application/json; charset=iso-8859-1";
    const wire = await wireToTls(answerWith([type, length], bytes));
    expect(await wire.fetch(strangeUrl)).toEqual(failed("document-not-utf8"));
  });
});

describe("the head of an answer (RFC 9110 §8.3, §8.4, §15)", () => {
  it.each([201, 203, 204, 206, 304, 400, 401, 404, 410, 429, 500, 503])("with status %i", async (status) => {
    const wire = await wireToTls(answerRaw(`HTTP/1.1 ${status} X\r\n${json}\r\nContent-Length: 2\r\n\r\n{}`));
    expect(await wire.fetch(strangeUrl)).toEqual(failed("answer-status"));
  });

  it.each([
    "application/json",
    "Application/JSON",
    "application/json;charset=utf-8",
    'application/json ; a="b"',
    "application/cimd+json",
    "application/jwk-set+json; charset=utf-8",
  ])("may have the type %s", async (type) => {
    const wire = await wireToTls(answerWith([`Content-Type: ${type}`], "{}"));
    expect(await wire.fetch(strangeUrl)).toEqual(fetched("{}"));
  });

  it.each([
    ["text/html"],
    ["text/json"],
    ["application/jsonp"],
    ["application/json+xml"],
    ["application/+json"],
    ["application/json, text/html"],
    ["image/svg+xml; a=application/json"],
    ["application/x json"],
    [""],
    ["application/json", "text/html"],
    ["application/json", "application/json"],
    [],
  ])("cannot have the types %j, %j", async (...types) => {
    const lines = types.map((type) => `Content-Type: ${type}`);
    const wire = await wireToTls(answerWith(lines, "{}"));
    expect(await wire.fetch(strangeUrl)).toEqual(failed("answer-type"));
  });

  it("may say that it is not encoded", async () => {
    const wire = await wireToTls(answerJson("{}", "Content-Encoding: Identity"));
    expect(await wire.fetch(strangeUrl)).toEqual(fetched("{}"));
  });

  it.each(["gzip", "br", "deflate", "identity, gzip", "x", ""])("cannot be encoded as %j", async (coding) => {
    const wire = await wireToTls(answerJson("{}", `Content-Encoding: ${coding}`));
    expect(await wire.fetch(strangeUrl)).toEqual(failed("answer-coding"));
  });

  it.each(["100 Continue", "102 Processing", "103 Early Hints"])(
    "comes alone, not after %s",
    async (status) => {
      const wire = await wireToTls(
        answerRaw(`HTTP/1.1 ${status}\r\n\r\nHTTP/1.1 200 OK\r\n${json}\r\nContent-Length: 2\r\n\r\n{}`),
      );
      expect(await wire.fetch(strangeUrl)).toEqual(failed("answer-cut-off"));
    },
  );

  it.each([
    ["is no HTTP", "SSH-2.0-x\r\n"],
    ["changes the protocol", "HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n"],
    ["is empty", ""],
    ["has two lengths", `HTTP/1.1 200 OK\r\n${json}\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}`],
    ["has a head without an end", `HTTP/1.1 200 OK\r\n${`X: ${"y".repeat(1_000)}\r\n`.repeat(100)}`],
    ["ends within its head", "HTTP/1.1 200 OK\r\nContent-"],
    ["ends within its body", `HTTP/1.1 200 OK\r\n${json}\r\nContent-Length: 3\r\n\r\n{}`],
    ["ends within a chunk", `HTTP/1.1 200 OK\r\n${json}\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{}`],
    ["has no last chunk", `HTTP/1.1 200 OK\r\n${json}\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n`],
  ])("fails when it %s", async (_, text) => {
    const wire = await wireToTls(answerRaw(text));
    expect(await wire.fetch(strangeUrl)).toEqual(failed("answer-cut-off"));
  });

  it("fails when the connection is reset in the middle", async () => {
    const sockets: Socket[] = [];
    const host = await plainHost((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\n${json}\r\nContent-Length: 3\r\n\r\n{}`, () =>
        socket.resetAndDestroy(),
      );
      sockets.push(socket);
    });
    const wire = wireTo(host, { insecureLoopback: true });
    expect(await wire.fetch("http://localhost/")).toEqual(failed("answer-cut-off"));
  });
});

describe("freshness (RFC 9111 §5.2.2)", () => {
  it.each([
    [undefined, []],
    [undefined, ["Cache-Control: public", "Expires: Thu, 01 Dec 2044 16:00:00 GMT"]],
    [60, ["Cache-Control: max-age=60"]],
    [60, ['Cache-Control: public, MAX-AGE="60", s-maxage=5']],
    [50, ["Cache-Control: max-age=60", "Age: 10"]],
    [0, ["Cache-Control: max-age=60", "Age: 100"]],
    [60, ["Cache-Control: max-age=60", "Age: old"]],
    [0, ["Cache-Control: no-store"]],
    [0, ["Cache-Control: No-Cache, max-age=60"]],
    [0, ["Cache-Control: max-age=60", "Cache-Control: no-store"]],
    [0, ['Cache-Control: no-cache="set-cookie", max-age=60']],
    [5, ["Cache-Control: max-age=60, max-age=5"]],
    [0, ["Cache-Control: max-age=soon"]],
    [0, ["Cache-Control: max-age"]],
    [0, ["Cache-Control: max-age=-1"]],
    [60, ['Cache-Control: a="b, no-store, \\", max-age=1", max-age=60']],
    [2 ** 31, [`Cache-Control: max-age=${"9".repeat(400)}`]],
  ])("is %p seconds by %j", async (seconds, lines) => {
    const wire = await wireToTls(answerJson("{}", ...lines));
    expect(await wire.fetch(strangeUrl)).toEqual(fetched("{}", seconds));
  });
});

describe("the connection (RFC 9110 §4.3.4)", () => {
  it("fails when the certificate is for another name", async () => {
    const host = await tlsHost(answerJson("{}"), ["other.example"]);
    expect(await wireTo(host).fetch(strangeUrl)).toEqual(failed("no-connection"));
    expect(host.heads).toEqual([]);
  });

  it("fails when the certificate is of an unknown authority", async () => {
    const host = await tlsHost(answerJson("{}"), ["localhost", "127.0.0.1"]);
    const fetch = documentFetcher({ insecureLoopback: true });
    for (const name of ["localhost", "127.0.0.1"]) {
      expect(await fetch(`https://${name}:${host.port}/`)).toEqual(failed("no-connection"));
    }
    expect(host.connections()).toBe(2);
    expect(host.heads).toEqual([]);
  });

  it("needs a valid certificate even with NODE_TLS_REJECT_UNAUTHORIZED=0, which an explicit option overrules", async () => {
    const connecting = jest.spyOn(tls, "connect");
    const wire = await wireToTls(answerJson("{}"));
    await wire.fetch(strangeUrl);
    expect(connecting.mock.calls).toEqual([[expect.objectContaining({ rejectUnauthorized: true })]]);
    connecting.mockRestore();
  });

  it("fails when the server does not speak TLS", async () => {
    const host = await plainHost(answerJson("{}"));
    const wire = wireTo({ port: host.port });
    const fetching = wire.fetch(strangeUrl);
    // a listener that waits for the end of a head gets none
    while (host.connections() === 0) await new Promise(setImmediate);
    wire.runOut();
    expect(await fetching).toEqual(failed("answer-late"));
    expect(host.heads).toEqual([]);
  });

  it("fails when nobody listens", async () => {
    const host = await plainHost(answerJson("{}"));
    await closeStrangeHosts();
    expect(await wireTo(host).fetch(strangeUrl)).toEqual(failed("no-connection"));
  });

  it("fails when no connection can even be begun", async () => {
    const wire = wireTo(
      { port: 0 },
      {
        connect: () => {
          throw new Error("no more sockets");
        },
      },
    );
    expect(await wire.fetch(strangeUrl)).toEqual(failed("no-connection"));
  });

  it.each([
    ["gives no address", () => Promise.resolve([])],
    ["fails", () => Promise.reject(new Error("SERVFAIL client.example"))],
  ])("is not begun when DNS %s", async (_, addressesOf) => {
    const wire = wireTo({ port: 0 }, { addressesOf });
    expect(await wire.fetch(strangeUrl)).toEqual(failed("host-without-address"));
    expect(wire.targets).toEqual([]);
  });

  it("is not begun when DNS answers too late", async () => {
    const answer = newLatch();
    const addressesOf = (): Promise<readonly string[]> => answer.opened.then(() => [strangeAddress]);
    const wire = wireTo({ port: 0 }, { addressesOf });
    const fetching = wire.fetch(strangeUrl);
    wire.runOut();
    expect(await fetching).toEqual(failed("answer-late"));
    answer.open();
    for (let turn = 0; turn < 10; turn += 1) await new Promise(setImmediate);
    expect(wire.targets).toEqual([]);
  });
});

describe("insecureLoopback (house rule: a switch that weakens says so in its name)", () => {
  it.each(["http://localhost", "http://127.0.0.1"])(
    "fetches from %s on any port, without DNS",
    async (origin) => {
      const host = await plainHost(answerJson(good));
      const fetch = documentFetcher({ insecureLoopback: true });
      expect(await fetch(`${origin}:${host.port}/client.json`)).toEqual(fetched(good));
      expect(host.heads[0]).toContain(`Host: ${origin.slice(7)}:${host.port}\r\n`);
    },
  );

  it.each([
    ["localhost", ["127.0.0.1", "::1"]],
    ["127.0.0.1", ["127.0.0.1"]],
    ["[::1]", ["::1"]],
  ])("connects to the addresses of %s, and to no other", async (name, addresses) => {
    const host = await plainHost(answerJson(good));
    const wire = wireTo(host, { insecureLoopback: true });
    expect(await wire.fetch(`http://${name}/`)).toEqual(fetched(good));
    expect(wire.targets).toEqual([{ addresses, port: 80 }]);
  });

  it.each(["localhost", "127.0.0.1"])("fetches from https://%s with a trusted certificate", async (name) => {
    const host = await tlsHost(answerJson(good), ["localhost", "127.0.0.1"]);
    const wire = wireTo(host, { insecureLoopback: true });
    expect(await wire.fetch(`https://${name}:8443/`)).toEqual(fetched(good));
    expect(wire.lookedUp).toEqual([]);
    expect(wire.targets[0]?.port).toBe(8443);
  });

  it.each(["http://localhost/", "https://localhost/", "http://127.0.0.1/", "https://[::1]/"])(
    "is off by default: %s is refused",
    async (url) => {
      const host = await plainHost(answerJson(good));
      const wire = wireTo(host);
      expect(await wire.fetch(url)).toMatchObject({ kind: "refused" });
      expect(wire.targets).toEqual([]);
    },
  );

  it("changes nothing for other names", async () => {
    const wire = wireTo({ port: 0 }, { insecureLoopback: true, answers: [["127.0.0.1"]] });
    expect(await wire.fetch(strangeUrl)).toMatchObject({ kind: "refused" });
    expect(await wire.fetch("http://client.example/")).toMatchObject({ kind: "refused" });
    expect(await wire.fetch("http://a.localhost/")).toMatchObject({ kind: "refused" });
    expect(wire.targets).toEqual([]);
  });
});
