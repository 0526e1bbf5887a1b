import * as fc from "fast-check";
import type { Client } from "../../lib";
import {
  isRegistrableRedirectUri,
  redirectProvesClient,
  type RedirectTarget,
  verifyRedirectUri,
} from "../../lib/protocol/redirect-uri";
import { confidentialRecord, publicRecord } from "../records/records";

type Kind = "confidential" | "native" | "browser";

const kinds: readonly Kind[] = ["confidential", "native", "browser"];

function clientWith(kind: Kind, ...redirectUris: readonly string[]): Client {
  return kind === "confidential"
    ? confidentialRecord({ redirectUris })
    : publicRecord(kind, { redirectUris });
}

function verify(
  client: Client,
  requested: string | undefined,
  rule: "required" | "optional" = "required",
): string | undefined {
  return verifyRedirectUri(client, { requested, rule, redirectSchemes: [] })?.uri;
}

function targetOf(client: Client): RedirectTarget {
  const target = verifyRedirectUri(client, {
    requested: client.redirectUris[0],
    rule: "required",
    redirectSchemes: [],
  });
  if (!target) throw new Error("the client has no usable redirect URI");
  return target;
}

describe("redirect URI (RFC 6749 §3.1.2.3, 9700 §2.1)", () => {
  const registered = "https://web.example:8443/callback/Path?a=b%2fc";

  it.each(kinds)("accepts the registered URI of a %s client, character for character", (kind) => {
    expect(verify(clientWith(kind, registered), registered)).toBe(registered);
  });

  it.each(kinds)("refuses it when a %s client changes, leaves out or adds a single character", (kind) => {
    const client = clientWith(kind, registered);
    const places = Array.from({ length: registered.length + 1 }, (_, at) => at);
    const changed = places.flatMap((at) => {
      const before = registered.slice(0, at);
      const after = registered.slice(at + 1);
      return [
        `${before}x${after}`,
        `${before}y${after}`,
        before + after,
        `${before}x${registered.slice(at)}`,
      ];
    });
    const others = changed.filter((uri) => uri !== registered);
    expect(others.length).toBeGreaterThan(150);
    expect(others.filter((uri) => verify(client, uri) !== undefined)).toEqual([]);
  });

  it.each([
    ["another host", "https://evil.example/callback"],
    ["a host that begins like it", "https://web.example.evil.example/callback"],
    ["a host that ends like it", "https://evilweb.example/callback"],
    ["a subdomain", "https://a.web.example/callback"],
    ["the host in upper case", "https://WEB.example/callback"],
    ["the scheme in upper case", "HTTPS://web.example/callback"],
    ["http", "http://web.example/callback"],
    ["the default port", "https://web.example:443/callback"],
    ["another port", "https://web.example:8443/callback"],
    ["a dot after the host", "https://web.example./callback"],
    ["an encoded letter", "https://web.example/%63allback"],
    ["the path in upper case", "https://web.example/Callback"],
    ["a slash at the end", "https://web.example/callback/"],
    ["a longer path", "https://web.example/callback/more"],
    ["a path that climbs back", "https://web.example/other/../callback"],
    ["a path with two slashes", "https://web.example//callback"],
    ["an added query", "https://web.example/callback?a=b"],
    ["an empty query", "https://web.example/callback?"],
    ["an added fragment", "https://web.example/callback#"],
    ["an added user name", "https://web.example@evil.example/callback"],
    ["a user name on the same host", "https://me@web.example/callback"],
    ["a backslash before another host", "https://evil.example\\@web.example/callback"],
    ["a space at the end", "https://web.example/callback "],
    ["a line feed at the end", "https://web.example/callback\n"],
    ["a tab inside, which URL parsers drop", "https://web.exa\tmple/callback"],
    ["a NUL at the end", "https://web.example/callback\0"],
    ["no scheme", "//web.example/callback"],
    ["a path alone", "/callback"],
    ["both with a space between", "https://web.example/callback https://web.example/callback"],
  ])("refuses %s, whatever kind of client asks", (_, requested) => {
    const verified = kinds.map((kind) => verify(clientWith(kind, "https://web.example/callback"), requested));
    expect(verified).toEqual([undefined, undefined, undefined]);
  });

  it("accepts each of several registered URIs and no mixture of them", () => {
    const client = clientWith("confidential", "https://a.example/one", "https://b.example/two");
    expect(verify(client, "https://a.example/one")).toBe("https://a.example/one");
    expect(verify(client, "https://b.example/two")).toBe("https://b.example/two");
    expect(verify(client, "https://a.example/two")).toBeUndefined();
  });

  it("takes no star, not even for itself", () => {
    const client = clientWith("confidential", "https://web.example/*");
    expect(verify(client, "https://web.example/*")).toBeUndefined();
    expect(verify(client, "https://web.example/callback")).toBeUndefined();
  });

  it("refuses a registered URI that this kind of client may not have, wherever the record came from", () => {
    expect(verify(clientWith("confidential", "javascript:alert(1)"), "javascript:alert(1)")).toBeUndefined();
    expect(verify(clientWith("browser", "com.example:/cb"), "com.example:/cb")).toBeUndefined();
    expect(verify(clientWith("native", "http://web.example/"), "http://web.example/")).toBeUndefined();
    expect(verify(clientWith("browser", "javascript:alert(1)"), undefined, "optional")).toBeUndefined();
  });

  it("accepts a native client's own scheme with a web address in its query", () => {
    const uri = "com.example.app:/callback?next=https://web.example/";
    expect(verify(clientWith("native", uri), uri)).toBe(uri);
  });

  it("refuses a URI whose host a browser finds only by guessing, also where the path names it again", () => {
    const uri = "https:/web.example/https://web.example/";
    expect(new URL(uri).hostname).toBe("web.example");
    expect(verify(clientWith("confidential", uri), uri)).toBeUndefined();
  });

  it("proves nothing but equality, for any two texts of a URI's characters", () => {
    const tail = fc.string({ unit: fc.constantFrom("a", "/", "?", ".", ":", "@", "%2e", "\\", "#") });
    const uri = tail.map((text) => `https://web.example${text}`);
    fc.assert(
      fc.property(fc.constantFrom(...kinds), uri, uri, (kind, known, requested) => {
        const verified = verify(clientWith(kind, known), requested);
        expect([undefined, known]).toContain(verified);
        if (known !== requested) expect(verified).toBeUndefined();
      }),
    );
  });
});

describe("a request without redirect URI (RFC 6749 §3.1.2.3)", () => {
  const one = "https://a.example/one";
  const two = "https://b.example/two";

  it.each([
    ["the only one, where the API allows it", "optional", [one], one],
    ["none, where the API requires it", "required", [one], undefined],
    ["none of two", "optional", [one, two], undefined],
    ["none of two where the API requires it", "required", [one, two], undefined],
    ["none of none", "optional", [], undefined],
  ] as const)("stands for %s", (_, rule, redirectUris, expected) => {
    for (const kind of kinds)
      expect(verify(clientWith(kind, ...redirectUris), undefined, rule)).toBe(expected);
  });

  it("is still refused with a wrong one, where the API allows to leave it out", () => {
    expect(verify(clientWith("confidential", one), two, "optional")).toBeUndefined();
    expect(verify(clientWith("confidential", one), "", "optional")).toBeUndefined();
  });
});

describe("loopback redirect of a native client (RFC 8252 §7.3)", () => {
  const ipv4 = "http://127.0.0.1/callback?a=b";
  const ipv6 = "http://[::1]/callback";

  it.each([
    ["a port where none is registered", ipv4, "http://127.0.0.1:51004/callback?a=b"],
    ["another port", "http://127.0.0.1:3000/callback", "http://127.0.0.1:51004/callback"],
    ["no port where one is registered", "http://127.0.0.1:3000/callback", "http://127.0.0.1/callback"],
    ["a port on IPv6", ipv6, "http://[::1]:51004/callback"],
    ["a port before a query", "http://127.0.0.1?a=b", "http://127.0.0.1:51004?a=b"],
    ["a port at the end", "http://127.0.0.1", "http://127.0.0.1:51004"],
    ["the highest port", ipv6, "http://[::1]:65535/callback"],
  ])("accepts %s and answers there", (_, registered, requested) => {
    expect(verify(clientWith("native", registered), requested)).toBe(requested);
  });

  it.each([
    ["another path", ipv4, "http://127.0.0.1:51004/other?a=b"],
    ["another query", ipv4, "http://127.0.0.1:51004/callback?a=c"],
    ["no query", ipv4, "http://127.0.0.1:51004/callback"],
    ["a path where none is registered", "http://127.0.0.1", "http://127.0.0.1:51004/"],
    ["a fragment", ipv6, "http://[::1]:51004/callback#a"],
    ["https", ipv6, "https://[::1]:51004/callback"],
    ["IPv6 for IPv4", "http://127.0.0.1/callback", "http://[::1]:51004/callback"],
    ["another address of the loopback net", ipv6, "http://127.0.0.2:51004/callback"],
    ["a short form of the address", "http://127.0.0.1/callback", "http://127.1:51004/callback"],
    ["a long form of the address", ipv6, "http://[0:0:0:0:0:0:0:1]:51004/callback"],
    ["a name that begins like it", "http://127.0.0.1/callback", "http://127.0.0.1.evil.example/callback"],
    ["a port that is none", ipv6, "http://[::1]:65536/callback"],
    ["a port of letters", ipv6, "http://[::1]:http/callback"],
    ["an empty port", ipv6, "http://[::1]:/callback"],
    ["a password for a port", "http://127.0.0.1/", "http://127.0.0.1:80@evil.example/"],
    ["a backslash behind the port", "http://127.0.0.1/", "http://127.0.0.1:80\\@evil.example/"],
    ["a line feed in the path", ipv6, "http://[::1]:51004/callback\n"],
  ])("refuses %s", (_, registered, requested) => {
    expect(verify(clientWith("native", registered), requested)).toBeUndefined();
  });

  it.each([
    ["a port where none is registered", "http://localhost/callback", "http://localhost:51004/callback"],
    ["another port", "http://localhost:3000/callback", "http://localhost:51004/callback"],
    ["no port where one is registered", "http://localhost:3000/callback", "http://localhost/callback"],
  ])("accepts %s for localhost (OAuth 2.1 draft §2.3.1)", (_, registered, requested) => {
    expect(verify(clientWith("native", registered), requested)).toBe(requested);
  });

  const loopbackHosts = ["127.0.0.1", "[::1]", "localhost"];

  it.each(loopbackHosts)("takes no other loopback host for %s", (host) => {
    const client = clientWith("native", `http://${host}/callback`);
    const others = loopbackHosts.filter((other) => other !== host);
    for (const other of others) expect(verify(client, `http://${other}/callback`)).toBeUndefined();
    for (const other of others) expect(verify(client, `http://${other}:51004/callback`)).toBeUndefined();
  });

  it.each([
    ["capitals", "http://LOCALHOST:51004/callback"],
    ["a dot behind it", "http://localhost.:51004/callback"],
    ["a name below it", "http://app.localhost:51004/callback"],
    ["a name that begins like it", "http://localhost.evil.example:51004/callback"],
    ["a user name", "http://localhost:51004@evil.example/callback"],
    ["https", "https://localhost:51004/callback"],
    ["another path", "http://localhost:51004/other"],
  ])("refuses localhost with %s", (_, requested) => {
    expect(verify(clientWith("native", "http://localhost/callback"), requested)).toBeUndefined();
  });

  it.each(["confidential", "browser"] as const)("refuses another port to a %s client", (kind) => {
    const client = clientWith(kind, "http://127.0.0.1:3000/callback");
    expect(verify(client, "http://127.0.0.1:3000/callback")).toBe("http://127.0.0.1:3000/callback");
    expect(verify(client, "http://127.0.0.1:51004/callback")).toBeUndefined();
    const byName = clientWith(kind, "http://localhost:3000/callback");
    expect(verify(byName, "http://localhost:51004/callback")).toBeUndefined();
  });

  it.each([ipv4, ipv6, "http://localhost:3000/callback"])(
    "accepts another port of %s to a confidential client that uses PKCE",
    (uri) => {
      const client = clientWith("confidential", uri);
      const requested = uri.replace(/(?::3000)?\/callback/, ":51004/callback");
      const by = { requested, rule: "required", redirectSchemes: [] } as const;
      const target = verifyRedirectUri(client, { ...by, withPkce: true });
      expect(target?.uri).toBe(requested);
      expect(target && redirectProvesClient(client, target)).toBe(false);
      expect(verifyRedirectUri(client, by)).toBeUndefined();
      expect(verifyRedirectUri(clientWith("browser", uri), { ...by, withPkce: true })).toBeUndefined();
    },
  );

  it("refuses another port of a registered https URI", () => {
    const client = clientWith("native", "https://127.0.0.1/callback");
    expect(verify(client, "https://127.0.0.1:51004/callback")).toBeUndefined();
  });
});

describe("what may be registered (RFC 6749 §3.1.2, 8252 §7, 9700 §2.1)", () => {
  it.each([
    ["https", "https://web.example/callback"],
    ["https with port, path and query", "https://web.example:8443/a/b?c=d&e=%20"],
    ["https on an IP address", "https://192.0.2.1/callback"],
    ["https of an international name, in ASCII", "https://xn--mnchen-3ya.example/callback"],
    ["http on IPv4 loopback", "http://127.0.0.1:3000/callback"],
    ["http on IPv6 loopback", "http://[::1]/callback"],
    ["http on localhost", "http://localhost:3000/callback"],
    ["http on a name below localhost (RFC 6761 §6.3)", "http://app.localhost:3000/callback"],
  ])("registers %s for every kind of client", (_, uri) => {
    expect(
      kinds.map((kind) => isRegistrableRedirectUri(clientWith(kind), { uri, redirectSchemes: [] })),
    ).toEqual([true, true, true]);
  });

  it.each([
    ["one slash", "com.example.phone:/callback"],
    ["two slashes", "com.example.phone://callback"],
    ["no slash", "com.example.phone:callback"],
    ["a query", "com.example.phone:/callback?a=b"],
    ["upper case", "com.Example.Phone:/callback"],
    ["digits, plus and minus", "com.example-2.app+x:/callback"],
  ])("registers a scheme with a dot for native clients only (8252 §7.1): %s", (_, uri) => {
    expect(
      kinds.map((kind) => isRegistrableRedirectUri(clientWith(kind), { uri, redirectSchemes: [] })),
    ).toEqual([false, true, false]);
  });

  it.each([
    ["http on another host", "http://web.example/callback"],
    ["http on a name that begins like localhost", "http://localhost.evil.example/callback"],
    ["http on a name that ends like localhost", "http://applocalhost/callback"],
    ["http on a name below localhost with a dot behind it", "http://app.localhost./callback"],
    ["http on a private address", "http://192.168.0.1/callback"],
    ["http on every address", "http://0.0.0.0/callback"],
    ["javascript:", "javascript:alert(1)"],
    ["javascript: in upper case", "JavaScript:alert(1)"],
    ["javascript: with dots behind the colon", "javascript:alert.call(1):"],
    ["data:", "data:text/html,hello"],
    ["data: with a dot behind the colon", "data:text/html;a.b:,hello"],
    ["vbscript:", "vbscript:msgbox(1)"],
    ["file:", "file:///etc/passwd"],
    ["blob:", "blob:https://web.example/1"],
    ["about:", "about:blank"],
    ["ftp:", "ftp://web.example/callback"],
    ["ws:", "ws://web.example/callback"],
    ["mailto:", "mailto:me@web.example"],
    ["a scheme without a dot", "myapp:/callback"],
    ["a scheme that ends with a dot", "myapp.:/callback"],
    ["a scheme with two dots in a row", "com..example:/callback"],
    ["a scheme that begins with a digit", "1com.example:/callback"],
    ["a scheme with an underscore", "com.my_app:/callback"],
    ["a fragment", "https://web.example/callback#part"],
    ["an empty fragment", "https://web.example/callback#"],
    ["a fragment of a native scheme", "com.example.phone:/callback#part"],
    ["a user name", "https://me@web.example/callback"],
    ["a user name and password", "https://me:secret@web.example/callback"],
    ["a password alone", "https://:secret@web.example/callback"],
    ["a user name of a native scheme", "com.example.phone://me@host/callback"],
    ["a wildcard host", "https://*.web.example/callback"],
    ["an encoded wildcard host", "https://%2a.web.example/callback"],
    ["a backslash", "https://web.example\\callback"],
    ["a backslash in the query", "https://web.example/callback?a=\\"],
    ["characters beyond ASCII in the path", "https://web.example/rückweg"],
    ["characters beyond ASCII in the host", "https://münchen.example/callback"],
    ["a full-width slash", "https://web.example／callback"],
    ["a space", "https://web.example/call back"],
    ["a space in front", " https://web.example/callback"],
    ["a tab", "https://web.example/call\tback"],
    ["a line feed", "https://web.example/callback\r\nSet-Cookie:a=b"],
    ["a NUL", "https://web.example/callback\0"],
    ["DEL", "https://web.example/callback\u007f"],
    ["no scheme", "web.example/callback"],
    ["no scheme but slashes", "//web.example/callback"],
    ["a path", "/callback"],
    ["no host", "https://"],
    ["no slashes: browsers take it as a path of the page", "https:web.example/callback"],
    ["one slash: browsers take it as a path of the page", "https:/web.example/callback"],
    ["three slashes", "https:///web.example/callback"],
    ["a port that is none", "https://web.example:65536/callback"],
    ["an address of this machine that only browsers recognise", "http://0177.0.0.1/callback"],
    ["a host with an encoded dot", "https://web.example%2eevil.example/callback"],
    ["nothing", ""],
  ])("registers for no kind of client: %s", (_, uri) => {
    expect(
      kinds.filter((kind) => isRegistrableRedirectUri(clientWith(kind), { uri, redirectSchemes: [] })),
    ).toEqual([]);
  });
});

describe("what a redirect proves about the client (RFC 8252 §8.6, 9700 §4.11.2)", () => {
  it.each([
    ["confidential", "https://web.example/callback", true],
    ["confidential", "http://127.0.0.1:3000/callback", true],
    ["browser", "https://web.example/callback", true],
    ["browser", "http://localhost:3000/callback", false],
    ["browser", "http://127.0.0.1:3000/callback", false],
    ["browser", "http://[::1]:3000/callback", false],
    ["native", "https://phone.example/callback", true],
    ["native", "com.example.phone:/callback", false],
    ["native", "http://127.0.0.1/callback", false],
    ["native", "http://[::1]/callback", false],
    ["native", "http://localhost:3000/callback", false],
  ] as const)("for a %s client at %s: %s", (kind, uri, expected) => {
    const client = clientWith(kind, uri);
    expect(redirectProvesClient(client, targetOf(client))).toBe(expected);
  });

  it.each([
    ["https://web.example:8443/callback?a=b", "https://web.example:8443"],
    ["https://web.example:443/callback", "https://web.example"],
    ["http://127.0.0.1:51004/callback", "http://127.0.0.1:51004"],
    ["com.example.phone:/callback", "com.example.phone:"],
    ["com.example.phone://callback/path", "com.example.phone:"],
  ])("that leads to %s is shown as %s", (uri, expected) => {
    expect(targetOf(clientWith("native", uri)).source).toBe(expected);
  });
});
