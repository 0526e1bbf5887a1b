/** `auth.inFrontOf(app)` beside the same app with its router in Express: over sockets, byte for byte. */
import request from "supertest";
import { memoryStorage, type Storage } from "../../lib";
import { pairPath } from "../fixture/apis";
import { encode } from "../fixture/browser";
import { redeem } from "../fixture/client-requests";
import { basic, clients, credentials } from "../fixture/clients";
import type { TestHost } from "../fixture/host";
import { answersOf, itAnswersAlike } from "../fixture/in-front";
import { obtainCode, obtainRefreshToken, obtainTokens } from "../fixture/journey";
import {
  asked,
  chunked,
  closeServersAfterEachTest,
  form,
  formType,
  introspect,
  last,
  machine,
  machineForm,
  message,
  metadata,
  redemption,
  revoke,
  spaOrigin,
  token,
} from "../fixture/raw-connections";
import { intercept } from "../fixture/slow-storage";
import { shortenTimeLimit } from "../fixture/time-limit";

closeServersAfterEachTest();

function basicLine(id: string, secret: string): string {
  return `Authorization: ${basic(id, secret)}`;
}

const web = credentials("web");
const webBasic = basicLine("web", web["client_secret"] ?? "");
const machineBasic = basicLine("machine", machine["client_secret"] ?? "");

const unknownOrigin = "Origin: https://evil.example";
const preflight = ["Access-Control-Request-Method: POST", "Access-Control-Request-Headers: content-type"];

const newCode = (host: TestHost, client: "web" | "native" | "spa"): Promise<string> =>
  obtainCode(host, { client });

describe("the same bytes: token requests that are good (RFC 6749 §5.1)", () => {
  itAnswersAlike({
    "a code, with Basic": [
      200,
      async (host) => {
        const { client_id: _, client_secret: __, ...fields } = redemption("web", await newCode(host, "web"));
        return form(fields, { headers: [webBasic] });
      },
    ],
    "a code, with the secret in the body": [
      200,
      async (host) => form(redemption("web", await newCode(host, "web"))),
    ],
    "a code, of a native client": [
      200,
      async (host) => form(redemption("native", await newCode(host, "native"))),
    ],
    "a code, of a script": [
      200,
      async (host) => form(redemption("spa", await newCode(host, "spa")), { headers: [spaOrigin] }),
    ],
    "a code, for an opaque token": [
      200,
      async (host) => {
        const pair = { api: "reports" } as const;
        const code = await obtainCode(host, { client: "web", pair });
        return form(redemption("web", code), { path: `${pairPath(pair)}/token` });
      },
    ],
    "a refresh token": [
      200,
      async (host) =>
        form({ grant_type: "refresh_token", ...web, refresh_token: await obtainRefreshToken(host) }),
    ],
    "client credentials": [200, () => form(machine)],
    "client credentials, with Basic": [
      200,
      () => form({ grant_type: "client_credentials" }, { headers: [machineBasic] }),
    ],
    "a media type with a parameter": [
      200,
      () => message({ headers: [`${formType}; charset=UTF-8`.toUpperCase(), last], body: machineForm }),
    ],
    "a client that waits for 100 Continue (RFC 9110 §10.1.1)": [
      200,
      () => form(machine, { headers: ["Expect: 100-continue"] }),
    ],
    "HTTP/1.0": [200, () => form(machine, { version: "1.0" })],
    "an offer of another protocol (RFC 9110 §7.8)": [
      200,
      () => message({ headers: [formType, "Connection: close, Upgrade", "Upgrade: h2c"], body: machineForm }),
    ],
  });
});

describe("the same bytes: token requests that are refused (RFC 6749 §5.2)", () => {
  itAnswersAlike({
    "a wrong secret, with Basic": [
      401,
      () => form({ grant_type: "client_credentials" }, { headers: [basicLine("machine", "wrong")] }),
    ],
    "a wrong secret, in the body": [401, () => form({ ...machine, client_secret: "wrong" })],
    "a wrong secret, of a script": [
      401,
      () => form({ ...machine, client_secret: "wrong" }, { headers: [spaOrigin] }),
    ],
    "an unknown client": [401, () => form({ ...machine, client_id: "nobody" })],
    "another scheme": [401, () => form({ grant_type: "x" }, { headers: ["Authorization: Bearer x"] })],
    "Basic that is no base64": [
      401,
      () => form({ grant_type: "x" }, { headers: ["Authorization: Basic ?"] }),
    ],
    "both ways to authenticate": [400, () => form(machine, { headers: [machineBasic] })],
    "several Authorization headers (§2.3)": [
      400,
      () => form({ grant_type: "client_credentials" }, { headers: [machineBasic, machineBasic] }),
    ],
    "a code that was redeemed": [
      400,
      async (host) => {
        const code = await obtainCode(host, { client: "web" });
        await redeem(host, { client: "web", code });
        return form(redemption("web", code));
      },
    ],
    "a wrong verifier (RFC 7636 §4.6)": [
      400,
      async (host) => {
        const code = await obtainCode(host, { client: "web" });
        return form({ ...redemption("web", code), code_verifier: "x".repeat(43) });
      },
    ],
    "a refresh token that was used": [
      400,
      async (host) => {
        const used = { grant_type: "refresh_token", ...web, refresh_token: await obtainRefreshToken(host) };
        await request(host.app).post(token).type("form").send(encode(used));
        return form(used);
      },
    ],
    "an unknown grant type": [400, () => form({ ...machine, grant_type: "password" })],
    "a scope that is too much": [400, () => form({ ...machine, scope: "orders:write" })],
    "no grant type": [400, () => form(credentials("machine"))],
    "parameters in the URL (§3.2)": [400, () => form("", { path: `${token}?${machineForm}` })],
    "a secret in the URL beside the form": [400, () => form(machine, { path: `${token}?client_secret=x` })],
  });
});

describe("the same bytes: bodies (RFC 6749 §3.2, appendix B)", () => {
  const json = "Content-Type: application/json";
  itAnswersAlike({
    "an escape that is none": [400, () => form(`${machineForm}&x=%zz`)],
    "a repeated parameter": [400, () => form(`${machineForm}&grant_type=x`)],
    "not UTF-8, as bytes": [400, () => form(`${machineForm}&scope=\xff`)],
    "not UTF-8, as escapes": [400, () => form(`${machineForm}&scope=%FF`)],
    "UTF-8": [400, () => form(`${machineForm}&scope=\xc3\xa9`)],
    "nothing but separators": [400, () => form("&&&=&")],
    "Content-Length 0": [400, () => form("")],
    "no Content-Length": [400, () => message({ headers: [formType, last] })],
    "too large by Content-Length": [413, () => message({ headers: [formType, "Content-Length: 65537"] })],
    "too large, of a script": [
      413,
      () => message({ headers: [formType, spaOrigin, "Content-Length: 65537"] }),
    ],
    "too large in chunks": [413, () => chunked(["x".repeat(65_537)], [last])],
    "as large as may be": [200, () => form(`${machineForm}&x=`.padEnd(65_536, "x"))],
    "another media type": [400, () => message({ headers: [json, last], body: JSON.stringify(machine) })],
    "no media type": [400, () => message({ headers: [last], body: machineForm })],
    "neither media type nor body": [400, () => message({ headers: [last] })],
    "a content encoding": [400, () => form(machine, { headers: ["Content-Encoding: gzip"] })],
    "the content encoding identity": [200, () => form(machine, { headers: ["Content-Encoding: identity"] })],
    chunks: [200, () => chunked([machineForm], [last])],
    "chunks that cannot be read": [
      400,
      () => `${message({ headers: [formType, "Transfer-Encoding: chunked"] })}zz\r\n`,
    ],
  });
});

describe("the same bytes: methods and origins (RFC 9110 §15.5.6; Fetch standard: CORS)", () => {
  itAnswersAlike({
    "a preflight from a known origin": [204, () => asked("OPTIONS", token, spaOrigin, ...preflight)],
    "a preflight from an unknown origin": [204, () => asked("OPTIONS", token, unknownOrigin, ...preflight)],
    "a preflight of revoke": [204, () => asked("OPTIONS", revoke, spaOrigin, ...preflight)],
    "a preflight of introspect": [405, () => asked("OPTIONS", introspect, spaOrigin, ...preflight)],
    "OPTIONS without an origin": [204, () => asked("OPTIONS", token)],
    "OPTIONS of the metadata": [405, () => asked("OPTIONS", metadata, spaOrigin)],
    PUT: [405, () => form(machine, { method: "PUT" })],
    "a method of WebDAV": [405, () => asked("PROPFIND", token)],
    "GET of token": [405, () => asked("GET", token)],
    "HEAD of token": [405, () => asked("HEAD", token)],
    "POST of the metadata": [405, () => form("", { path: metadata })],
    "an unknown origin": [200, () => form(machine, { headers: [unknownOrigin] })],
    "an origin that is null": [200, () => form(machine, { headers: ["Origin: null"] })],
  });
});

const about = (path: string, presented: string, headers: readonly string[] = [webBasic]): string =>
  form({ token: presented }, { path, headers });

const accessToken = async (host: TestHost): Promise<string> =>
  (await obtainTokens(host, { client: "web" })).access_token;

describe("the same bytes: metadata, revoke, introspect (RFC 8414 §3, 7009 §2, 7662 §2)", () => {
  itAnswersAlike({
    "GET of the metadata": [200, () => asked("GET", metadata)],
    "HEAD of the metadata": [200, () => asked("HEAD", metadata)],
    "the metadata with a query": [200, () => asked("GET", `${metadata}?x=y`)],
    "the metadata for what was kept (RFC 9110 §13.1.2)": [
      200,
      () => asked("GET", metadata, "If-None-Match: *"),
    ],
    "revoke an access token": [200, async (host) => about(revoke, await accessToken(host))],
    "revoke a refresh token": [200, async (host) => about(revoke, await obtainRefreshToken(host))],
    "revoke what is no token": [200, () => about(revoke, "x")],
    "revoke nothing": [400, () => form({}, { path: revoke, headers: [webBasic] })],
    "revoke with a wrong secret": [401, () => about(revoke, "x", [basicLine("web", "wrong")])],
    "revoke from a script": [
      200,
      () => form({ token: "x", client_id: "spa" }, { path: revoke, headers: [spaOrigin] }),
    ],
    "introspect an access token": [200, async (host) => about(introspect, await accessToken(host))],
    "introspect a refresh token": [200, async (host) => about(introspect, await obtainRefreshToken(host))],
    "introspect what is no token": [200, () => about(introspect, "x")],
    "introspect with a wrong secret": [401, () => about(introspect, "x", [basicLine("web", "wrong")])],
    "introspect as a public client": [
      401,
      () => form({ token: "x", client_id: "spa" }, { path: introspect }),
    ],
  });
});

const formAt = (path: string) => (): string => form(machine, { path });

describe("the same bytes: paths (RFC 3986 §6.2.2, 9112 §3.2)", () => {
  itAnswersAlike({
    "a query": [200, formAt(`${token}?x=y`)],
    "an empty query": [200, formAt(`${token}?`)],
    "two question marks": [200, formAt(`${token}?x=/login?y`)],
    "a fragment": [404, formAt(`${token}#x`)],
    "a slash at the end": [404, formAt(`${token}/`)],
    "a double slash": [404, formAt(`${pairPath()}//token`)],
    "a double slash ahead": [404, formAt(`/${token}`)],
    "a double slash after the mount path": [404, formAt(token.replace("/login/", "/login//"))],
    "another case": [404, formAt(`${pairPath()}/TOKEN`)],
    "another case of the mount path": [200, formAt(token.replace("login", "LOGIN"))],
    "an escape": [404, formAt(`${pairPath()}/%74oken`)],
    "an escape in the mount path": [404, formAt(token.replace("login", "%6cogin"))],
    "an escape that is none": [404, formAt(`${pairPath()}/%zz`)],
    dots: [404, formAt(`/x/..${token}`)],
    "an unknown pair": [404, formAt("/login/auth/x/api/orders/token")],
    "the metadata of an unknown pair": [
      404,
      () => asked("GET", "/login/auth/x/api/orders/.well-known/oauth-authorization-server"),
    ],
    "a path that begins like the mount path": [404, formAt(token.replace("login", "loginx"))],
    "the mount path alone": [404, formAt("/login")],
    "the path without the mount path": [404, formAt(token.replace("/login", ""))],
    "the name of an object's property": [404, formAt("/login__proto__")],
    "the absolute form": [200, formAt(`http://host.example${token}`)],
    "OPTIONS *": [404, () => asked("OPTIONS", "*")],
    "the key set": [200, () => asked("GET", "/login/jwks")],
    "the API's metadata": [200, () => asked("GET", "/.well-known/oauth-protected-resource/orders")],
    "an authorization request without a client": [400, () => asked("GET", `${pairPath()}/authorize`)],
    "an API without a token": [401, () => asked("GET", "/orders")],
  });
});

const failing = (name: string, fail: () => Promise<never>): Storage =>
  intercept(memoryStorage({ clients: Object.values(clients) }), (called, call) =>
    called === name ? fail() : call(),
  );

describe("the same bytes: storage fails (RFC 6749 §5.2)", () => {
  const throwing = failing("clients.find", () => Promise.reject(new Error("password=hunter2")));
  const silent = failing("clients.find", () => new Promise(() => {}));
  const noOrigin = failing("clients.isBrowserOrigin", () => Promise.reject(new Error("down")));

  beforeEach(() => void shortenTimeLimit());

  const faults: Record<string, { storage: Storage; status: number; error: string; send: () => string }> = {
    "it throws": { storage: throwing, status: 500, error: "server_error", send: () => form(machine) },
    "it never answers": {
      storage: silent,
      status: 503,
      error: "temporarily_unavailable",
      send: () => form(machine),
    },
    "it throws at revoke": {
      storage: throwing,
      status: 500,
      error: "server_error",
      send: () => form({ token: "x" }, { path: revoke, headers: [webBasic] }),
    },
    "it throws at introspect": {
      storage: throwing,
      status: 500,
      error: "server_error",
      send: () => form({ token: "x" }, { path: introspect, headers: [webBasic] }),
    },
    "it throws for the origin": {
      storage: noOrigin,
      status: 500,
      error: "server_error",
      send: () => form(machine, { headers: [spaOrigin] }),
    },
    "it throws for the origin of a preflight": {
      storage: noOrigin,
      status: 500,
      error: "server_error",
      send: () => asked("OPTIONS", token, spaOrigin, ...preflight),
    },
  };

  it.each(Object.entries(faults))("%s", async (_, { storage, status, error, send }) => {
    const [inExpress, inFront] = await answersOf(send, { storage });
    expect(inExpress).toMatchObject({ status, events: ["server-error"] });
    expect(inExpress?.answer).toContain(`"error":"${error}"`);
    expect(inExpress?.answer).not.toContain("hunter2");
    expect(inFront).toEqual(inExpress);
  });
});
