// The attacker chooses every parameter and header of a link that a victim opens at the authorization endpoint, and wants the
// browser, with or without a code, at an address of theirs, or their own markup or header lines in an answer of this origin.
// They did not get to register anything with the client that the link names.
import * as fc from "fast-check";
import { type Authentication, type Client, memoryStorage, type Storage } from "../../lib";
import { pairPath } from "../hosts/apis";
import { authorizationParameters } from "../browser/authorization-request";
import { authorize } from "../browser/authorize";
import { encode, type Fields } from "../browser/browser";
import { type ClientName, clients } from "../hosts/clients";
import { signedIn, signedOut, testHost } from "../hosts/host";
import type { Answer } from "../hosts/listening";
import { app, host, listenForAllTests, openLink, phone, requestOf, rich, webCallback } from "./opened-links";

listenForAllTests();

/** A page for the person alone: no address in any header, none of theirs in the text. */
function expectPage({ status, headers, text }: Answer): void {
  expect(status).toBe(400);
  expect(headers["location"]).toBeUndefined();
  expect(headers["refresh"]).toBeUndefined();
  expect(headers["link"]).toBeUndefined();
  expect(headers["content-type"]).toBe("text/html; charset=utf-8");
  expect(text).not.toMatch(/evil|http-equiv|<script|<a /i);
}

const unregistered: readonly (readonly [clientId: string, redirectUri: string])[] = [
  // another place
  ["web", "https://evil.example/callback"],
  ["web", "https://evil.example/?https://web.example/callback"],
  ["web", "https://evil.example/#https://web.example/callback"],
  ["web", "//evil.example/callback"],
  ["web", "///evil.example/callback"],
  ["web", "/\\evil.example/callback"],
  ["web", "/callback"],
  ["web", "callback"],
  ["web", "evil.example"],
  ["web", "?"],
  ["web", "#"],
  ["web", "https:"],
  ["web", "https://"],
  ["web", " "],
  // another host behind the registered one
  ["web", "https://web.example.evil.example/callback"],
  ["web", "https://web.exampleevil.example/callback"],
  ["web", "https://web.example@evil.example/callback"],
  ["web", "https://web.example:x@evil.example/callback"],
  ["web", "https://web.example%40evil.example/callback"],
  ["web", "https://web.example%2eevil.example/callback"],
  ["web", "https://web.example%00.evil.example/callback"],
  ["web", "https://web.example\\.evil.example/callback"],
  ["web", "https://web.example\\@evil.example/callback"],
  ["web", "https://evil.example\\@web.example/callback"],
  ["web", "https://evil.example/@web.example/callback"],
  ["web", "https://evil.example#@web.example/callback"],
  ["web", "https://evil.example?@web.example/callback"],
  ["web", "https://evil.example%2f@web.example/callback"],
  ["web", "https://evil.example;@web.example/callback"],
  ["web", "https://user@web.example/callback"],
  ["web", "https://:@web.example/callback"],
  ["web", "https://evilweb.example/callback"],
  ["web", "https://evil.web.example/callback"],
  ["web", "https://*.example/callback"],
  ["web", "https://web.*/callback"],
  ["web", "https://*/callback"],
  ["web", "*"],
  ["web", "https://[web.example]/callback"],
  ["web", "https://127.0.0.1/callback"],
  // the same host, otherwise
  ["web", "http://web.example/callback"],
  ["web", "ftp://web.example/callback"],
  ["web", "HTTPS://web.example/callback"],
  ["web", "https://WEB.example/callback"],
  ["web", "https://web.example./callback"],
  ["web", "https://web.example:443/callback"],
  ["web", "https://web.example:8443/callback"],
  ["web", "https://web.example:/callback"],
  ["web", "https://web.example"],
  ["web", "https://web.example/"],
  ["web", "https://web.example//callback"],
  ["web", "https:web.example/callback"],
  ["web", "https:/web.example/callback"],
  ["web", "https:///web.example/callback"],
  ["web", "https://web.example/Callback"],
  ["web", "https://web.example/callback/"],
  ["web", "https://web.example/callback/more"],
  ["web", "https://web.example/callback?"],
  ["web", "https://web.example/callback?next=https://evil.example"],
  ["web", "https://web.example/callback&next=https://evil.example"],
  ["web", "https://web.example/callback;"],
  ["web", "https://web.example/callback#"],
  ["web", "https://web.example/callback#evil"],
  ["web", "https://web.example/callback%23evil"],
  ["web", "https://web.example/callback/../open?to=evil"],
  ["web", "https://web.example/x/../callback"],
  ["web", "https://web.example/./callback"],
  ["web", "https://web.example/x/%2e%2e/callback"],
  ["web", "https://web.example%2fcallback"],
  ["web", "https://web.example%5ccallback"],
  ["web", "https://web.example\\callback"],
  ["web", "https://web.example/%63allback"],
  ["web", "https://web.example/callback%20"],
  ["web", "https://web.example/callback%00"],
  ["web", "https://web.example/callback%0d%0aLocation:%20https://evil.example"],
  // whitespace, control and other characters that URL parsers drop
  ["web", ` ${webCallback}`],
  ["web", `${webCallback} `],
  ["web", `\t${webCallback}`],
  ["web", `${webCallback}\n`],
  ["web", "https://web\t.example/callback"],
  ["web", "https://web.example/call\nback"],
  ["web", "ht\ntps://web.example/callback"],
  ["web", `${webCallback}\r\nLocation: https://evil.example`],
  ["web", `${webCallback}\r\n\r\n<script>evil()</script>`],
  ["web", `${webCallback}\u0000`],
  ["web", `\u0000${webCallback}`],
  ["web", `${webCallback}\u0000.evil.example`],
  ["web", `${webCallback}\u007f`],
  ["web", `${webCallback}\u0085`],
  ["web", `\ufeff${webCallback}`],
  ["web", `${webCallback}\u200b`],
  ["web", `${webCallback}\u2028`],
  // letters that look like or normalise to the registered ones
  ["web", "https://web\u3002example/callback"],
  ["web", "https://web\uff0eexample/callback"],
  ["web", "https://\uff57eb.example/callback"],
  ["web", "https://w\u0435b.example/callback"],
  ["web", "https://web.example\uff0fcallback"],
  ["web", "https://web.example/c\u0430llback"],
  ["web", "https://web.example\u2044callback"],
  ["web", "https://web.ex\u00adample/callback"],
  // no place at all
  ["web", "javascript:alert(1)//https://web.example/callback"],
  ["web", "data:text/html,<script>evil()</script>"],
  ["web", "vbscript:evil"],
  ["web", "blob:https://web.example/callback"],
  ["web", "file:///callback"],
  ["web", "about:blank"],
  ["web", "urn:ietf:wg:oauth:2.0:oob"],
  ["web", "view-source:https://web.example/callback"],
  // another client's
  ["web", "https://other.example/callback"],
  ["other", webCallback],
  ["web", "com.example.phone:/callback"],
  ["spa", webCallback],
  ["machine", webCallback],
  ["machine", ""],
  ["web", ""],
  // near a URI with port and query
  ["rich", "https://rich.example:8443/a/b"],
  ["rich", "https://rich.example:8443/a/b?x=1"],
  ["rich", "https://rich.example:8443/a/b?y=2&x=1"],
  ["rich", "https://rich.example:8443/a/b?x=1&y=2&z=3"],
  ["rich", "https://rich.example:8443/a/b?x=1&y=2&"],
  ["rich", "https://rich.example:8443/a/b?x=1&amp;y=2"],
  ["rich", "https://rich.example:8443/a/b?x=1%26y=2"],
  ["rich", "https://rich.example:8444/a/b?x=1&y=2"],
  ["rich", "https://rich.example:08443/a/b?x=1&y=2"],
  ["rich", "https://rich.example/a/b?x=1&y=2"],
  ["rich", "https://rich.example/callback"],
  ["rich", "https://rich.example"],
  ["rich", "https://sub.rich.example"],
  ["rich", "https://sub.rich.example/"],
  ["rich", "https://evil.rich.example/callback"],
  // loopback: only the port may differ, and only for a native client
  ["phone", "http://127.0.0.1/"],
  ["phone", "http://127.0.0.1:8080/callback/"],
  ["phone", "http://127.0.0.1:8080/callback?x=1"],
  ["phone", "http://127.0.0.1:8080/callback#"],
  ["phone", "http://127.0.0.1:8080@evil.example/callback"],
  ["phone", "http://127.0.0.1:80:80/callback"],
  ["phone", "http://127.0.0.1:/callback"],
  ["phone", "http://127.0.0.1:65536/callback"],
  ["phone", "http://127.0.0.1:99999/callback"],
  ["phone", "http://127.0.0.1:-1/callback"],
  ["phone", "http://127.0.0.1:8080.evil.example/callback"],
  ["phone", "http://127.0.0.1.evil.example:8080/callback"],
  ["phone", "http://127.0.0.1@evil.example:8080/callback"],
  ["phone", "http://127.0.0.1:8080\\@evil.example/callback"],
  ["phone", "http://127.0.0.2:8080/callback"],
  ["phone", "http://127.1:8080/callback"],
  ["phone", "http://2130706433:8080/callback"],
  ["phone", "http://0x7f000001:8080/callback"],
  ["phone", "http://0177.0.0.1:8080/callback"],
  ["phone", "http://[::1]:8080/callback"],
  ["phone", "http://[::ffff:127.0.0.1]:8080/callback"],
  ["phone", "http://localhost:8080/callback"],
  ["phone", "http://localhost/callback"],
  ["phone", "https://127.0.0.1:8080/callback"],
  ["phone", "HTTP://127.0.0.1:8080/callback"],
  ["phone", "https://phone.example:8443/callback"],
  ["web", "http://127.0.0.1:8080/callback"],
  ["spa", "http://127.0.0.1:8080/callback"],
  ["dev-spa", "http://127.0.0.1:8080/callback"],
  ["dev-spa", "http://127.0.0.1/callback"],
  ["dev-spa", "http://localhost:3000/callback"],
  // custom schemes
  ["phone", "com.example.phone:/callback/more"],
  ["phone", "com.example.phone:callback"],
  ["phone", "com.example.phone://callback"],
  ["phone", "com.example.phone:///callback"],
  ["phone", "com.example.phone://evil.example/callback"],
  ["phone", "COM.example.phone:/callback"],
  ["phone", "com.example.phone.evil:/callback"],
  ["phone", "com.example:/callback"],
  ["phone", "com.evil.phone:/callback"],
];

describe("redirect URI (RFC 6749 §3.1.2.3, §10.15; 8252 §7; 9700 §2.1, §4.1, §4.11)", () => {
  it.each(unregistered)("of %s: shows a page for %j", async (clientId, redirectUri) => {
    expectPage(await openLink(requestOf(clientId, redirectUri)));
  });

  it.each(unregistered)(
    "of %s: shows a page for %j although more is wrong",
    async (clientId, redirectUri) => {
      const wrong = { response_type: "token", scope: "no such", prompt: "none" };
      expectPage(await openLink({ ...requestOf(clientId, redirectUri), ...wrong }));
    },
  );

  it.each([
    [[webCallback, "https://evil.example/"]],
    [["https://evil.example/", webCallback]],
    [[webCallback, webCallback]],
    [["", "https://evil.example/"]],
  ])("shows a page for a repeated one, %j", async (redirectUris) => {
    expectPage(await openLink(requestOf("web", redirectUris)));
  });

  it.each([
    `redirect_uri=${encodeURIComponent(webCallback)}&redirect%5Furi=https://evil.example`,
    `redirect_uri=${encodeURIComponent(webCallback)}%ff`,
    `redirect_uri[]=${encodeURIComponent(webCallback)}`,
    `redirect_uri[0]=https://evil.example`,
    `redirect_uri;=https://evil.example`,
    `Redirect_Uri=${encodeURIComponent(webCallback)}`,
    `redirect_uri%00=${encodeURIComponent(webCallback)}`,
  ])("shows a page for a bent parameter, %s", async (query) => {
    const others = encode({ ...authorizationParameters("web"), redirect_uri: undefined });
    expectPage(await app.send({ path: `${pairPath()}/authorize?${others}&${query}` }));
  });

  it.each([
    ["web", "an unknown client", { client_id: "nobody" }],
    ["web", "two clients", { client_id: ["web", "evil"] }],
    ["web", "the client in another letter case", { client_id: "WEB" }],
    ["web", "no client", { client_id: undefined }],
    ["web", "a client id that is no text", { client_id: "web\r\nLocation: https://evil.example" }],
  ])("of %s: shows a page for %s", async (_, what, fields) => {
    const answer = await openLink({ ...requestOf("web", webCallback), ...fields });
    expect({ what, status: answer.status }).toEqual({ what, status: 400 });
    expectPage(answer);
  });

  it("shows no redirect to a caller that prefers JSON either", async () => {
    const { status, headers, body } = await openLink(requestOf("web", "https://evil.example/"), {
      Accept: "application/json",
    });
    expect(status).toBe(400);
    expect(headers["location"]).toBeUndefined();
    expect(body).toEqual({
      error: "invalid_request",
      error_description: "The redirect_uri is not registered for this client.",
    });
  });

  it.each(["http://127.0.0.1:1/callback", "http://127.0.0.1:65535/callback", "http://127.0.0.1/callback"])(
    "lets a native client, and a confidential one with PKCE, choose its loopback port: %s",
    async (redirectUri) => {
      for (const client of ["phone", "dev-web"]) {
        const { status, headers } = await openLink(requestOf(client, redirectUri));
        expect(status).toBe(302);
        expect(headers["location"]).toMatch(/^http:\/\/127\.0\.0\.1(:\d+)?\/callback\?code=/);
        expect(headers["location"]?.startsWith(`${redirectUri}?code=`)).toBe(true);
      }
    },
  );

  it.each(["web", "other", "native", "spa"] satisfies ClientName[])(
    "answers %s where it is registered",
    async (client) => {
      const [redirectUri = ""] = clients[client].redirectUris;
      const { status, headers } = await openLink({ ...requestOf(client, redirectUri), prompt: "none" });
      expect(status).toBe(302);
      expect(headers["location"]?.startsWith(`${redirectUri}?error=`)).toBe(true);
    },
  );

  it("keeps the query of a registered URI and adds to it", async () => {
    const { headers } = await openLink(requestOf("rich", "https://rich.example:8443/a/b?x=1&y=2"));
    expect(headers["location"]).toMatch(/^https:\/\/rich\.example:8443\/a\/b\?x=1&y=2&code=/);
  });
});

describe("any redirect URI that is bent from a registered one (RFC 9700 §2.1)", () => {
  const registered = [rich, phone, clients.web, clients.spa].flatMap(({ clientId, redirectUris }) =>
    redirectUris.map((uri) => ({ clientId, uri })),
  );
  const additions = fc.oneof(
    fc.constantFrom(
      ..."@ : / // \\ ? # & ; . .. * % %2f %5c %2e %00 %0d%0a %23 %40 :443 :80 :8080 :1 user@ @evil.example .evil.example \t \n \r\n \u0000 \u3002 \uff0f \u200b ÿ [ ] { } | ^ ` < > \" '".split(
        " ",
      ),
    ),
    fc.string({ minLength: 1, maxLength: 3, unit: "binary" }),
  );
  const place = fc.nat({ max: 60 });
  const edit = fc.oneof(
    fc.record({ kind: fc.constant("insert" as const), at: place, text: additions }),
    fc.record({ kind: fc.constant("replace" as const), at: place, text: additions }),
    fc.record({ kind: fc.constant("remove" as const), at: place }),
    fc.record({ kind: fc.constant("upper" as const), at: place }),
    fc.record({ kind: fc.constant("encode" as const), at: place }),
    fc.record({ kind: fc.constant("append" as const), text: additions }),
    fc.record({ kind: fc.constant("prepend" as const), text: additions }),
    fc.record({ kind: fc.constant("join" as const), other: fc.constantFrom(...registered) }),
  );

  type Edit = typeof edit extends fc.Arbitrary<infer T> ? T : never;

  function apply(uri: string, step: Edit): string {
    if (step.kind === "append") return uri + step.text;
    if (step.kind === "prepend") return step.text + uri;
    if (step.kind === "join") return uri + step.other.uri;
    const before = uri.slice(0, step.at);
    const there = uri.slice(step.at, step.at + 1);
    const after = uri.slice(step.at + 1);
    switch (step.kind) {
      case "insert":
        return before + step.text + there + after;
      case "replace":
        return before + step.text + after;
      case "remove":
        return before + after;
      case "upper":
        return before + there.toUpperCase() + after;
      case "encode":
        return before + [...Buffer.from(there)].map((byte) => `%${byte.toString(16)}`).join("") + after;
    }
  }

  function mayLeadTo(clientId: string, uri: string): boolean {
    const ofClient = registered.filter((each) => each.clientId === clientId);
    if (ofClient.some((each) => each.uri === uri)) return true;
    const port = /^http:\/\/127\.0\.0\.1(?::([1-9]\d{0,4}|0\d{0,4}))?\/callback$/.exec(uri)?.[1];
    return clientId === "phone" && port !== undefined && Number(port) <= 65_535;
  }

  it("leads to a registered address or to none", async () => {
    let pages = 0;
    let redirects = 0;
    const bent = fc.tuple(fc.constantFrom(...registered), fc.array(edit, { maxLength: 3 }));
    const property = fc.asyncProperty(bent, async ([{ clientId, uri }, steps]) => {
      const redirectUri = steps.reduce(apply, uri);
      const answer = await openLink({ ...requestOf(clientId, redirectUri), prompt: "none" });
      if (!mayLeadTo(clientId, redirectUri)) {
        pages += 1;
        return expectPage(answer);
      }
      redirects += 1;
      expect(answer.status).toBe(302);
      expect(answer.headers["location"]?.slice(0, redirectUri.length)).toBe(redirectUri);
      expect(answer.headers["location"]?.charAt(redirectUri.length)).toMatch(/[?&]/);
    });
    // a failure is reported with its seed
    await fc.assert(property, { numRuns: 1_500 });
    expect(pages).toBeGreaterThan(500);
    expect(redirects).toBeGreaterThan(20);
  });

  it("leads to a registered address with every state, byte for byte", async () => {
    const property = fc.asyncProperty(
      fc.string({ minLength: 1, maxLength: 200, unit: "binary" }),
      fc.constantFrom("code", "token"),
      async (state, responseType) => {
        const fields = {
          ...requestOf("rich", rich.redirectUris[0] ?? ""),
          state,
          response_type: responseType,
        };
        const location = (await openLink(fields)).headers["location"] ?? "";
        expect(location.startsWith(`${rich.redirectUris[0]}&`)).toBe(true);
        expect(location).toMatch(/^[\x21-\x7e]+$/);
        expect(new URL(location).searchParams.getAll("state")).toEqual([state]);
        expect(new URL(location).hash).toBe("");
      },
    );
    await fc.assert(property, { numRuns: 200 });
  });
});

function throwing(): Authentication {
  throw new Error("no session store");
}

describe("every redirect (RFC 6749 §4.1.2.1, 9700 §4.11.2)", () => {
  it.each<readonly [string, Fields, (() => Authentication) | Authentication]>([
    ["invalid_request", { code_challenge_method: "plain" }, signedIn],
    ["invalid_request", { state: ["a", "https://evil.example"] }, signedIn],
    ["invalid_request", { response_type: undefined }, signedIn],
    ["invalid_request", { prompt: "none login" }, signedIn],
    ["invalid_request", { max_age: "-1" }, signedIn],
    ["unsupported_response_type", { response_type: "token" }, signedIn],
    ["invalid_scope", { scope: "evil" }, signedIn],
    ["invalid_target", { resource: "https://evil.example/" }, signedIn],
    ["login_required", { prompt: "none" }, signedOut],
    ["consent_required", { prompt: "none", scope: "orders:write" }, signedIn],
    ["access_denied", {}, { kind: "denied" }],
    ["access_denied", {}, { kind: "denied", description: "Location: https://evil.example/" }],
    ["server_error", {}, throwing],
    ["server_error", {}, { kind: "denied", description: "a\r\nLocation: https://evil.example" }],
    ["server_error", {}, { kind: "interaction", url: "/signin\r\nLocation: https://evil.example" }],
    ["server_error", {}, { kind: "authenticated", subject: "" }],
  ])("with %s (%j) leads to the registered address", async (error, fields, session) => {
    host.session = session;
    const { status, headers } = await openLink({ ...requestOf("web", webCallback), ...fields });
    expect(status).toBe(302);
    const location = new URL(headers["location"] ?? "");
    expect(location.origin + location.pathname).toBe(webCallback);
    expect(location.searchParams.get("error")).toBe(error);
    expect(location.hash).toBe("");
  });

  it("takes nothing from Host and X-Forwarded-* headers", async () => {
    host.session = signedOut;
    const headers = {
      Host: "evil.example",
      "X-Forwarded-Host": "evil.example",
      "X-Forwarded-Proto": "http",
      "X-Original-URL": "https://evil.example/",
      Forwarded: "host=evil.example;proto=http",
    };
    const sentAway = await openLink(requestOf("web", webCallback), headers);
    expect(sentAway.headers["location"]).toMatch(/^\/signin\?interaction=[\w-]{22}$/);
    const cookie = sentAway.headers["set-cookie"]?.[0]?.split(";")[0] ?? "";
    host.session = signedIn;
    const interaction = new URLSearchParams(sentAway.headers["location"]?.split("?")[1]).get("interaction");
    const led = await app.send({
      path: "/signin",
      form: { interaction: interaction ?? "", subject: "alice" },
      headers: { ...headers, Cookie: cookie },
    });
    expect(led.headers["location"]).toBe(
      `https://host.example${pairPath()}/authorize/resume?interaction=${interaction}`,
    );
    const page = await app.send({
      path: `${pairPath()}/authorize/resume?interaction=${interaction}`,
      headers: { ...headers, Cookie: cookie },
    });
    expect(page.text).toContain(`action="https://host.example${pairPath()}/authorize/consent"`);
    expect(JSON.stringify([led.headers, page.headers, page.text])).not.toContain("evil");
  });

  it.each([
    "//evil.example",
    "https://evil.example/",
    "x\r\nLocation: https://evil.example",
    "../../../evil.example",
    "__proto__",
  ])("is never bent by the interaction %j", async (interaction) => {
    const query = encode({ interaction });
    const answers = [
      await app.send({ path: `${pairPath()}/authorize/resume?${query}` }),
      await app.send({ path: "/signin", form: { interaction, subject: "alice" } }),
      await app.send({ path: "/cancel", form: { interaction } }),
      await app.send({ path: "/allow", form: { interaction } }),
      await app.send({ path: `${pairPath()}/authorize/consent`, form: { interaction, decision: "approve" } }),
    ];
    for (const answer of answers) expectPage(answer);
  });
});

/** The host's own client table, which nobody checks when it is written. */
function hostTable(client: Client): Storage {
  const storage = memoryStorage({ clients: [] });
  return { ...storage, clients: { ...storage.clients, find: async () => client } };
}

describe("redirect URIs that no client may have (RFC 9700 §2.1, 8252 §7.1)", () => {
  const dangerous = [
    "javascript:alert(1)",
    "javascript://x.example/%0aalert(1)",
    "data:text/html,x",
    "vbscript:x",
    "blob:https://web.example/x",
    "file:///x",
    "https://*.example/callback",
    "http://web.example/callback",
    "https://user:password@web.example/",
    "https://web.example/#x",
    "https://web.example\\@evil.example/",
    "https://web.example/\r\nx",
    "/callback",
    "",
  ];

  it.each(dangerous)("memoryStorage does not register %j", (uri) => {
    expect(() => memoryStorage({ clients: [{ ...phone, redirectUris: [uri] }] })).toThrow(
      /^client "phone": redirectUris\.0 (?:has|is) /,
    );
  });

  it.each(dangerous)("a host's client table cannot make %j a target", async (uri) => {
    const ownTable = testHost({ storage: hostTable({ ...phone, redirectUris: [uri] }) });
    const response = await authorize(ownTable.browser(), {
      client: "native",
      fields: { client_id: "phone", redirect_uri: uri },
    });
    expect(response.status).toBe(500);
    expect(response.headers["location"]).toBeUndefined();
  });

  it("a host's client table that answers with another client makes no target", async () => {
    const evil: Client = { ...rich, clientId: "evil", redirectUris: ["https://evil.example/"] };
    const ownTable = testHost({ storage: hostTable(evil) });
    const fields = { redirect_uri: "https://evil.example/" };
    const response = await authorize(ownTable.browser(), { client: "web", fields });
    expect(response.status).toBe(400);
    expect(response.headers["location"]).toBeUndefined();
  });
});

describe("response splitting (RFC 6749 §10.14, 9110 §5.5)", () => {
  const split = "x\r\nSet-Cookie: evil=1\r\nX-Evil: 1\r\n\r\n<script>evil()</script>";
  const parameterNames = [...Object.keys(authorizationParameters("web")), "prompt", "resource", "max_age"];
  const names = [...parameterNames, "login_hint", "ui_locales", "interaction", "unknown"];

  it.each(names)("no %s adds a header or a body", async (name) => {
    for (const client of ["web", "rich"]) {
      const target = client === "web" ? webCallback : (rich.redirectUris[0] ?? "");
      const { headers, text } = await openLink({ ...requestOf(client, target), [name]: split });
      expect(headers["x-evil"]).toBeUndefined();
      expect(headers["set-cookie"]?.join() ?? "").not.toContain("evil");
      expect(headers["location"] ?? "").not.toMatch(/[\r\n<]/);
      expect(text).not.toContain("<script");
    }
  });

  it("a state with line breaks comes back encoded and whole", async () => {
    const { headers } = await openLink({ ...requestOf("rich", rich.redirectUris[1] ?? ""), state: split });
    expect(headers["location"]).toContain("state=x%0D%0ASet-Cookie%3A%20evil%3D1%0D%0A");
    expect(new URL(headers["location"] ?? "").searchParams.get("state")).toBe(split);
  });
});
