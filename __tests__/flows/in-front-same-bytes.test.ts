/** `auth.inFrontOf(app)` beside the same app with its router in Express: over sockets, byte for byte. */
import request from "supertest";
import { memoryStorage, type Storage } from "../../lib";
import { pairPath } from "../hosts/apis";
import { encode } from "../browser/browser";
import { redeem } from "../requests/client-requests";
import { basic, clients, credentials } from "../hosts/clients";
import type { TestHost } from "../hosts/host";
import { answersOf, itAnswersAlike } from "../hosts/in-front";
import { obtainCode, obtainRefreshToken, obtainTokens } from "../browser/journey";
import {
  chunked,
  closeServersAfterEachTest,
  closing,
  form,
  formType,
  introspectPath,
  machineFields,
  machineForm,
  message,
  metadataPath,
  redemption,
  revokePath,
  spaOrigin,
  tokenPath,
  withoutBody,
} from "../requests/raw-connections";
import { intercept } from "../storage/slow-storage";
import { shortenTimeLimit } from "../storage/time-limit";

closeServersAfterEachTest();

function basicLine(id: string, secret: string): string {
  return `Authorization: ${basic(id, secret)}`;
}

const web = credentials("web");
const webBasic = basicLine("web", web["client_secret"] ?? "");
const machineBasic = basicLine("machine", machineFields["client_secret"] ?? "");

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
    "client credentials": [200, () => form(machineFields)],
    "client credentials, with Basic": [
      200,
      () => form({ grant_type: "client_credentials" }, { headers: [machineBasic] }),
    ],
    "a media type with a parameter": [
      200,
      () => message({ headers: [`${formType}; charset=UTF-8`.toUpperCase(), closing], body: machineForm }),
    ],
    "a client that waits for 100 Continue (RFC 9110 §10.1.1)": [
      200,
      () => form(machineFields, { headers: ["Expect: 100-continue"] }),
    ],
    "HTTP/1.0": [200, () => form(machineFields, { version: "1.0" })],
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
    "a wrong secret, in the body": [401, () => form({ ...machineFields, client_secret: "wrong" })],
    "a wrong secret, of a script": [
      401,
      () => form({ ...machineFields, client_secret: "wrong" }, { headers: [spaOrigin] }),
    ],
    "an unknown client": [401, () => form({ ...machineFields, client_id: "nobody" })],
    "another scheme": [401, () => form({ grant_type: "x" }, { headers: ["Authorization: Bearer x"] })],
    "Basic that is no base64": [
      401,
      () => form({ grant_type: "x" }, { headers: ["Authorization: Basic ?"] }),
    ],
    "both ways to authenticate": [400, () => form(machineFields, { headers: [machineBasic] })],
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
        await request(host.app).post(tokenPath).type("form").send(encode(used));
        return form(used);
      },
    ],
    "an unknown grant type": [400, () => form({ ...machineFields, grant_type: "password" })],
    "a scope that is too much": [400, () => form({ ...machineFields, scope: "orders:write" })],
    "no grant type": [400, () => form(credentials("machine"))],
    "parameters in the URL (§3.2)": [400, () => form("", { path: `${tokenPath}?${machineForm}` })],
    "a secret in the URL beside the form": [
      400,
      () => form(machineFields, { path: `${tokenPath}?client_secret=x` }),
    ],
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
    "no Content-Length": [400, () => message({ headers: [formType, closing] })],
    "too large by Content-Length": [413, () => message({ headers: [formType, "Content-Length: 65537"] })],
    "too large, of a script": [
      413,
      () => message({ headers: [formType, spaOrigin, "Content-Length: 65537"] }),
    ],
    "too large in chunks": [413, () => chunked(["x".repeat(65_537)], [closing])],
    "as large as may be": [200, () => form(`${machineForm}&x=`.padEnd(65_536, "x"))],
    "another media type": [
      400,
      () => message({ headers: [json, closing], body: JSON.stringify(machineFields) }),
    ],
    "no media type": [400, () => message({ headers: [closing], body: machineForm })],
    "neither media type nor body": [400, () => message({ headers: [closing] })],
    "a content encoding": [400, () => form(machineFields, { headers: ["Content-Encoding: gzip"] })],
    "the content encoding identity": [
      200,
      () => form(machineFields, { headers: ["Content-Encoding: identity"] }),
    ],
    chunks: [200, () => chunked([machineForm], [closing])],
    "chunks that cannot be read": [
      400,
      () => `${message({ headers: [formType, "Transfer-Encoding: chunked"] })}zz\r\n`,
    ],
  });
});

describe("the same bytes: methods and origins (RFC 9110 §15.5.6; Fetch standard: CORS)", () => {
  itAnswersAlike({
    "a preflight from a known origin": [
      204,
      () => withoutBody("OPTIONS", tokenPath, spaOrigin, ...preflight),
    ],
    "a preflight from an unknown origin": [
      204,
      () => withoutBody("OPTIONS", tokenPath, unknownOrigin, ...preflight),
    ],
    "a preflight of revoke": [204, () => withoutBody("OPTIONS", revokePath, spaOrigin, ...preflight)],
    "a preflight of introspect": [405, () => withoutBody("OPTIONS", introspectPath, spaOrigin, ...preflight)],
    "OPTIONS without an origin": [204, () => withoutBody("OPTIONS", tokenPath)],
    "OPTIONS of the metadata": [204, () => withoutBody("OPTIONS", metadataPath, spaOrigin)],
    PUT: [405, () => form(machineFields, { method: "PUT" })],
    "a method of WebDAV": [405, () => withoutBody("PROPFIND", tokenPath)],
    "GET of token": [405, () => withoutBody("GET", tokenPath)],
    "HEAD of token": [405, () => withoutBody("HEAD", tokenPath)],
    "POST of the metadata": [405, () => form("", { path: metadataPath })],
    "an unknown origin": [200, () => form(machineFields, { headers: [unknownOrigin] })],
    "an origin that is null": [200, () => form(machineFields, { headers: ["Origin: null"] })],
  });
});

const about = (path: string, presented: string, headers: readonly string[] = [webBasic]): string =>
  form({ token: presented }, { path, headers });

const accessToken = async (host: TestHost): Promise<string> =>
  (await obtainTokens(host, { client: "web" })).access_token;

describe("the same bytes: metadata, revoke, introspect (RFC 8414 §3, 7009 §2, 7662 §2)", () => {
  itAnswersAlike({
    "GET of the metadata": [200, () => withoutBody("GET", metadataPath)],
    "HEAD of the metadata": [200, () => withoutBody("HEAD", metadataPath)],
    "the metadata with a query": [200, () => withoutBody("GET", `${metadataPath}?x=y`)],
    "the metadata for what was kept (RFC 9110 §13.1.2)": [
      200,
      () => withoutBody("GET", metadataPath, "If-None-Match: *"),
    ],
    "revoke an access token": [200, async (host) => about(revokePath, await accessToken(host))],
    "revoke a refresh token": [200, async (host) => about(revokePath, await obtainRefreshToken(host))],
    "revoke what is no token": [200, () => about(revokePath, "x")],
    "revoke nothing": [400, () => form({}, { path: revokePath, headers: [webBasic] })],
    "revoke with a wrong secret": [401, () => about(revokePath, "x", [basicLine("web", "wrong")])],
    "revoke from a script": [
      200,
      () => form({ token: "x", client_id: "spa" }, { path: revokePath, headers: [spaOrigin] }),
    ],
    "introspect an access token": [200, async (host) => about(introspectPath, await accessToken(host))],
    "introspect a refresh token": [
      200,
      async (host) => about(introspectPath, await obtainRefreshToken(host)),
    ],
    "introspect what is no token": [200, () => about(introspectPath, "x")],
    "introspect with a wrong secret": [401, () => about(introspectPath, "x", [basicLine("web", "wrong")])],
    "introspect as a public client": [
      401,
      () => form({ token: "x", client_id: "spa" }, { path: introspectPath }),
    ],
  });
});

const formAt = (path: string) => (): string => form(machineFields, { path });

describe("the same bytes: paths (RFC 3986 §6.2.2, 9112 §3.2)", () => {
  itAnswersAlike({
    "a query": [200, formAt(`${tokenPath}?x=y`)],
    "an empty query": [200, formAt(`${tokenPath}?`)],
    "two question marks": [200, formAt(`${tokenPath}?x=/login?y`)],
    "a fragment": [404, formAt(`${tokenPath}#x`)],
    "a slash at the end": [404, formAt(`${tokenPath}/`)],
    "a double slash": [404, formAt(`${pairPath()}//token`)],
    "a double slash ahead": [404, formAt(`/${tokenPath}`)],
    "a double slash after the mount path": [404, formAt(tokenPath.replace("/login/", "/login//"))],
    "another case": [404, formAt(`${pairPath()}/TOKEN`)],
    "another case of the mount path": [404, formAt(tokenPath.replace("login", "LOGIN"))],
    "an escape": [404, formAt(`${pairPath()}/%74oken`)],
    "an escape in the mount path": [404, formAt(tokenPath.replace("login", "%6cogin"))],
    "an escape that is none": [404, formAt(`${pairPath()}/%zz`)],
    dots: [404, formAt(`/x/..${tokenPath}`)],
    "an unknown pair": [404, formAt("/login/auth/x/api/orders/token")],
    "the metadata of an unknown pair": [
      404,
      () => withoutBody("GET", "/login/auth/x/api/orders/.well-known/oauth-authorization-server"),
    ],
    "a path that begins like the mount path": [404, formAt(tokenPath.replace("login", "loginx"))],
    "the mount path alone": [404, formAt("/login")],
    "the path without the mount path": [404, formAt(tokenPath.replace("/login", ""))],
    "the name of an object's property": [404, formAt("/login__proto__")],
    "the absolute form": [200, formAt(`http://host.example${tokenPath}`)],
    "the absolute form with a port": [200, formAt(`HTTPS://host.example:8443${tokenPath}`)],
    "the absolute form of an address": [200, formAt(`http://[::1]:8080${tokenPath}`)],
    "the absolute form of a host that is none": [404, formAt(`https://%zz${tokenPath}`)],
    "the absolute form of a port that is none": [404, formAt(`https://host.example:8b${tokenPath}`)],
    "OPTIONS *": [404, () => withoutBody("OPTIONS", "*")],
    "the key set": [200, () => withoutBody("GET", "/login/jwks")],
    "the API's metadata": [200, () => withoutBody("GET", "/.well-known/oauth-protected-resource/orders")],
    "an authorization request without a client": [400, () => withoutBody("GET", `${pairPath()}/authorize`)],
    "an API without a token": [401, () => withoutBody("GET", "/orders")],
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
    "it throws": { storage: throwing, status: 500, error: "server_error", send: () => form(machineFields) },
    "it never answers": {
      storage: silent,
      status: 503,
      error: "temporarily_unavailable",
      send: () => form(machineFields),
    },
    "it throws at revoke": {
      storage: throwing,
      status: 500,
      error: "server_error",
      send: () => form({ token: "x" }, { path: revokePath, headers: [webBasic] }),
    },
    "it throws at introspect": {
      storage: throwing,
      status: 500,
      error: "server_error",
      send: () => form({ token: "x" }, { path: introspectPath, headers: [webBasic] }),
    },
    "it throws for the origin": {
      storage: noOrigin,
      status: 500,
      error: "server_error",
      send: () => form(machineFields, { headers: [spaOrigin] }),
    },
    "it throws for the origin of a preflight": {
      storage: noOrigin,
      status: 500,
      error: "server_error",
      send: () => withoutBody("OPTIONS", tokenPath, spaOrigin, ...preflight),
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
