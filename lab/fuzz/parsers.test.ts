// Each parser of what strangers send, alone. The inputs are guided by coverage, of lib/protocol in `npm test`; CONTRIBUTING.md has the
// command that counts the branches of all parsers.
import { hash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Client } from "../../lib";
import { parseKeySet, readClientKey } from "../../lib/clients/client-key";
import { verifyProof } from "../../lib/clients/verify-proof";
import { clientOfDocument } from "../../lib/strangers/metadata-document";
import { checkRegistrationMetadata } from "../../lib/strangers/registration-metadata";
import { isFetchableUrl } from "../../lib/fetching/fetchable-url";
import { parseJson, readMaxAge } from "../../lib/fetching/read-document";
import { chooseLanguage, wantedLanguages } from "../../lib/pages/language";
import { isMaxAge, parsePrompt } from "../../lib/protocol/authorization-request";
import { formatChallenge, readBearerToken } from "../../lib/protocol/bearer-token";
import { assertionAlgorithms, parseClientAssertion } from "../../lib/protocol/client-assertion";
import {
  type ClientAuthentication,
  readClientAuthentication,
} from "../../lib/protocol/client-authentication";
import { proofAlgorithms, readProof } from "../../lib/protocol/dpop-proof";
import { identityProblem, parseIdentityAssertion } from "../../lib/protocol/identity-assertion";
import { OAuthError } from "../../lib/protocol/oauth-error";
import { parseParameters } from "../../lib/protocol/parameters";
import { isRegistrableRedirectUri, verifyRedirectUri } from "../../lib/protocol/redirect-uri";
import { formatScope, parseScope } from "../../lib/protocol/scope";
import { parseTokenHandle } from "../../lib/protocol/token-value";
import { claimsOf, parseJwt } from "../../lib/signing/verify-jwt";
import { part, publicKeys } from "../../__tests__/requests/client-assertions";
import { fuzzGuided, type Parser } from "./fuzz-guided";
import { tell, wish } from "./fuzz-run";
import { confidentialRecord, issuerRecord, publicRecord } from "../../__tests__/records/records";

function holds(condition: boolean, rule: string): void {
  if (!condition) throw new Error(rule);
}

const clients: readonly Client[] = [confidentialRecord(), publicRecord("native"), publicRecord("browser")];
const dangerous = /^(?:javascript|data|file|blob|about|vbscript|view-source|wss?|ftp):/i;

/** What everybody must be able to say of a redirect URI that this client may register (RFC 8252 §7, 9700 §2.1). */
function checkRegistrable(client: Client, uri: string): void {
  const { protocol, host, hostname, username, hash: fragment } = new URL(uri);
  holds(/^[\x21-\x7e]+$/.test(uri) && !/[#\\*]/.test(uri), "it has no other characters than those of a URI");
  holds(username === "" && fragment === "", "it has neither user info nor a fragment");
  holds(!dangerous.test(uri), "its scheme is not one that browsers run");
  if (/^https?:$/.test(protocol)) {
    holds(
      uri.toLowerCase().startsWith(`${protocol}//${hostname}`),
      "its host is written as browsers read it",
    );
    const isLoopback = ["localhost", "127.0.0.1", "[::1]"].includes(hostname);
    holds(protocol === "https:" || isLoopback, "plain http stays on this machine");
    return;
  }
  holds(
    !client.confidential && client.platform === "native",
    "only native clients have schemes of their own",
  );
  holds(
    host !== undefined && (protocol.includes(".") || protocol === "cursor:"),
    "the scheme has a dot or is listed",
  );
}

/** Text with a header and claims in JSON, a line each, and then a signature, as the JWT that it stands for. */
function jwtOf(text: string): string {
  const [header = "", claims = "", ...rest] = text.split("\n");
  return [part(header), part(claims), ...rest].join(".");
}

const header = { alg: "ES256", kid: "ec", typ: "at+jwt" };
const claims = { iss: "a", sub: "a", aud: ["https://host.example"], jti: "1", exp: 1e9, iat: 1, nbf: 1 };
const identityClaims = {
  ...claims,
  client_id: "web",
  scope: "a b",
  tenant: "t",
  aud_sub: "a",
  cnf: { jkt: "x" },
};
const issuer = issuerRecord();
const proofHeader = { typ: "dpop+jwt", alg: "ES256", jwk: publicKeys[0] };
const proofClaims = { jti: "1", htm: "GET", htu: "https://api.example/a", iat: 1 };
const signature = "AQID".repeat(20);
const jsonWords = '" { } [ ] : , null true 1e999 -0 "__proto__": "\\ud800" ""'.split(" ");
/** Words as JSON texts. */
const names = (list: string): readonly string[] => list.split(" ").map((name) => JSON.stringify(name));
const jwtWords = [
  ...jsonWords,
  ...names("alg typ kid crit none HS256 JWT at+jwt"),
  ...assertionAlgorithms.map((name) => JSON.stringify(name)),
  ...names("application/at+jwt client-authentication+jwt iss sub aud jti exp iat nbf"),
];
const documentWords = [
  ...jsonWords,
  ...names("redirect_uris client_id client_name client_uri jwks jwks_uri keys scope"),
  ...names("grant_types response_types token_endpoint_auth_method token_endpoint_auth_methods"),
  ...names("software_statement client_secret application_type none private_key_jwt code"),
  ...names("authorization_code refresh_token client_credentials client_secret_basic orders:read"),
  ...names("https://app.example/callback http://127.0.0.1/callback com.example.app:/x cursor://x/y"),
];
const uriWords = (
  "https: http: // com.example.app: cursor: javascript: 127.0.0.1 [::1] localhost 0x7f.1 0177.0.0.1 2130706433 127.1 [::ffff:127.0.0.1] %6c %2e " +
  ". @ :80 :443 xn-- \u3002 \u00ad \uff0e user:pw@ /.. /./ ? # * \\ :0 :99999"
).split(" ");
const clientId = "https://app.example/client.json";
const document = {
  client_id: clientId,
  client_name: "App",
  client_uri: "https://app.example/",
  redirect_uris: ["https://app.example/callback", "http://127.0.0.1/callback"],
  grant_types: ["authorization_code", "refresh_token"],
  response_types: ["code"],
  token_endpoint_auth_method: "private_key_jwt",
  jwks: { keys: publicKeys },
  scope: "orders:read",
};
const rules = {
  browserOrigins: ["https://app.example"],
  reserved: ["https://host.example"],
  redirectSchemes: ["cursor"],
  insecureLoopback: false,
  flags: [],
};

/** A refusal of a rule is good; anything else that is thrown is not. */
function unlessRefused<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof OAuthError) return undefined;
    throw error;
  }
}

function readBasic(plain: string): ClientAuthentication {
  return readClientAuthentication(parseParameters(""), `Basic ${Buffer.from(plain).toString("base64")}`);
}

const parsers: readonly Parser[] = [
  {
    name: "parameters (RFC 6749 Appendix B)",
    seeds: ["client_id=web&scope=orders%3Aread+orders%3Awrite&state=%F0%9F%98%80", "a=1&a=2&b&=c&&d=%zz"],
    words: [
      "client_id",
      "scope",
      "%00",
      "%ED%A0%80",
      "%C0%AF",
      "%EF%BB%BF",
      "%FF",
      "%zz",
      "%",
      "&",
      "=",
      "+",
      "[]",
      ";",
    ],
    check(text) {
      const parameters = parseParameters(text);
      const { unusable } = parameters;
      // it drops one question mark at the beginning, as of the query of a URL
      const others = new URLSearchParams(`?${text}`);
      for (const name of [...unusable, ...others.keys()]) {
        const value = parameters.get(name);
        if (value === undefined) continue;
        holds(!unusable.has(name) && value !== "", "a value is usable, and not empty");
        holds(others.getAll(name).join() === value, "others read the same one value");
      }
    },
  },
  {
    name: "scope (RFC 6749 §3.3)",
    seeds: ["orders:read orders:write", "a"],
    words: ["orders:read", " ", "  ", '"', "\\"],
    check(text) {
      const scopes = parseScope(text);
      if (!scopes) return;
      holds(new Set(scopes).size === scopes.length && !scopes.includes(""), "each scope is there once");
      holds(
        text.split(" ").every((each) => scopes.includes(each)),
        "no scope is lost",
      );
      holds(parseScope(formatScope(scopes))?.join() === scopes.join(), "what is written is read again");
    },
  },
  {
    name: "prompt and max_age (OpenID Connect Core §3.1.2.1)",
    seeds: ["none", "login consent", "select_account", "300"],
    words: ["none", "login", "consent", "select_account", " ", "0", "00"],
    check(text) {
      const prompts = parsePrompt(text);
      holds(!prompts || new Set(prompts).size === prompts.length, "each prompt is there once");
      holds(!isMaxAge(text) || String(Number(text)).length <= 9, "max_age is a number");
    },
  },
  {
    name: "bearer token (RFC 6750 §2.1)",
    seeds: ["Bearer abc.def-_~+/==", "bearer  x ", "Basic a"],
    words: ["Bearer", "bearer ", " ", ",", "=", "\t"],
    check(text) {
      const presented = readBearerToken(text);
      if (presented.kind !== "token") return;
      holds(
        /^[\w.~+/-]+=*$/.test(presented.token) && text.includes(presented.token),
        "the token is in the header",
      );
    },
  },
  {
    name: "challenge (RFC 9110 §11.6.1)",
    seeds: ["orders", 'a "quoted" \\ text'],
    words: ['"', "\\", "\r\n", ", error="],
    check: (text) =>
      holds(
        /^Bearer realm="(?:[^"\\\r\n]|\\.)*"$/.test(formatChallenge("Bearer", { realm: text })),
        "it is one text",
      ),
  },
  {
    name: "HTTP Basic (RFC 6749 §2.3.1)",
    seeds: ["web:secret", "a%3Ab:c+d%20e", ":", "web:"],
    words: [":", "%3A", "%zz", "+", "%00", "%ED%A0%80", "\u00e9"],
    check(text) {
      const presented = readBasic(text);
      if (presented.kind !== "client_secret_basic") return;
      const { clientId: id, clientSecret } = presented;
      const again = readBasic(`${encodeURIComponent(id)}:${encodeURIComponent(clientSecret)}`);
      holds(JSON.stringify(again) === JSON.stringify(presented), "what is written is read again");
    },
  },
  {
    name: "client authentication (RFC 6749 §2.3, 7521 §4.2)",
    seeds: [
      "client_id=web&client_secret=x",
      "client_id=spa",
      `client_assertion_type=urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer&client_assertion=${jwtOf(`${JSON.stringify({ alg: "ES256" })}\n${JSON.stringify(claims)}\n${signature}`)}`,
    ],
    words: [
      "client_id=",
      "&client_secret=",
      "&client_assertion=",
      "&client_assertion_type=",
      "&client_id=a",
      "=",
    ],
    check(text) {
      const parameters = parseParameters(text);
      const presented = readClientAuthentication(parameters, undefined);
      // what is there twice is refused before
      if (!("clientId" in presented) || parameters.unusable.size > 0) return;
      const sent = new URLSearchParams(`?${text}`).get("client_id") ?? "";
      holds(
        presented.clientId !== "" && (sent === "" || sent === presented.clientId),
        "the client is the one that was named",
      );
    },
  },
  {
    name: "code or refresh token",
    seeds: [`${"a".repeat(22)}.${"b".repeat(43)}`],
    words: [".", "-", "_", "=", "\n"],
    check(text) {
      const handle = parseTokenHandle(text);
      if (!handle) return;
      holds(text.length === 66 && text.startsWith(`${handle.authorizationId}.`), "the id is its first part");
      holds(handle.digest === hash("sha256", text, "base64url"), "all of it counts");
    },
  },
  {
    name: "JWT access token (RFC 9068 §4)",
    seeds: [`${JSON.stringify(header)}\n${JSON.stringify(claims)}\n${signature}`, jwtOf("{}\n{}\nAA")],
    words: jwtWords,
    check(text) {
      for (const token of [text, jwtOf(text)]) {
        const jwt = parseJwt(token);
        if (!jwt) continue;
        // a token may end before its signature, which then verifies nothing
        holds(`${jwt.signed}.${jwt.signature}`.startsWith(token), "all of it is signed or signature");
        const read = claimsOf(jwt);
        holds(!read || part(jwt.payload) !== "", "claims can be asked for");
      }
    },
  },
  {
    name: "client assertion (RFC 7523 §3)",
    seeds: [
      `${JSON.stringify({ ...header, typ: "JWT" })}\n${JSON.stringify(claims)}\n${signature}`,
      jwtOf("{}\n{}\nAA"),
    ],
    words: jwtWords,
    check(text) {
      for (const token of [text, jwtOf(text)]) {
        const assertion = parseClientAssertion(token);
        if (assertion.kind === "unreadable") continue;
        const { signed, signature: bytes, claims: read } = assertion;
        holds(
          `${signed}.${bytes.toString("base64url")}` === token,
          "it is written in the one form that it has",
        );
        holds(read.jti !== "" && Number.isFinite(read.exp), "it has an id and ends");
      }
    },
  },
  {
    name: "identity assertion (draft-ietf-oauth-identity-assertion-authz-grant-03 §3.1)",
    seeds: [
      `${JSON.stringify({ ...header, typ: "oauth-id-jag+jwt" })}\n${JSON.stringify(identityClaims)}\n${signature}`,
      jwtOf(`${JSON.stringify({ ...header, typ: "oauth-id-jag+jwt" })}\n{}\nAA`),
    ],
    words: [
      ...jwtWords,
      ...names("oauth-id-jag+jwt client_id resource scope tenant aud_sub aud_tenant cnf jkt act"),
    ],
    check(text) {
      for (const token of [text, jwtOf(text)]) {
        const read = parseIdentityAssertion(token);
        if ("unreadable" in read || "malformed" in read) continue;
        const { signed, signature: bytes, assertion, claims: said } = read;
        holds(
          `${signed}.${bytes.toString("base64url")}` === token,
          "it is written in the one form that it has",
        );
        holds(assertion.subject !== "" && Number.isFinite(said.exp), "it names somebody and ends");
        holds(Object.isFrozen(assertion), "nobody can change what the host is told");
        const expected = { issuer, clientId: "web", providers: {}, now: 1 };
        holds(identityProblem(read, expected) === "identity-issuer-unknown", "no provider is listed");
      }
    },
  },
  {
    name: "DPoP proof (RFC 9449 §4.3)",
    seeds: [
      `${JSON.stringify(proofHeader)}\n${JSON.stringify(proofClaims)}\n${signature}`,
      jwtOf("{}\n{}\nAA"),
    ],
    words: [...jwtWords, ...names("dpop+jwt jwk kty EC crv P-256 x y d htm htu iat ath GET"), ...uriWords],
    check(text) {
      for (const proof of [text, jwtOf(text)]) {
        const read = readProof([proof], { method: "GET", url: "https://api.example/a", now: 1 });
        const verdict = verifyProof([proof], { method: "GET", url: "https://api.example/a", now: 1 });
        holds(verdict.kind === "invalid", "nobody has signed it");
        if (read?.kind !== "readable") continue;
        const { signed, signature: bytes, proofId, algorithm } = read;
        holds(
          `${signed}.${bytes.toString("base64url")}` === proof,
          "it is written in the one form that it has",
        );
        holds(proofId !== "" && proofAlgorithms.includes(algorithm), "it has an id and an algorithm");
      }
    },
  },
  {
    name: "redirect URI (RFC 6749 §3.1.2, 8252 §7)",
    seeds: [
      "https://app.example/callback?a=b",
      "http://127.0.0.1:80/x",
      "http://[::1]/",
      "com.example.app:/x",
      "cursor://a/b",
    ],
    words: uriWords,
    check(text) {
      for (const client of clients) {
        const redirectSchemes = ["cursor"];
        const isRegistrable = isRegistrableRedirectUri(client, { uri: text, redirectSchemes });
        if (isRegistrable) checkRegistrable(client, text);
        const known = { ...client, redirectUris: ["http://127.0.0.1/x", "https://app.example/callback"] };
        const target = verifyRedirectUri(known, { requested: text, rule: "required", redirectSchemes });
        if (!target) continue;
        const isNative = !client.confidential && client.platform === "native";
        const isOther = isNative && /^http:\/\/127\.0\.0\.1:\d{1,5}\/x$/.test(text);
        holds(target.uri === text && (known.redirectUris.includes(text) || isOther), "it is registered");
      }
    },
  },
  {
    name: "URL of a document (RFC 3986 §6.2)",
    seeds: [
      "https://app.example/client.json",
      "http://localhost:3000/a",
      "https://xn--bcher-kva.example/?a=b",
    ],
    words: uriWords,
    check(text) {
      if (!isFetchableUrl(text, { insecureLoopback: false })) return;
      const { href, protocol, port, hostname } = new URL(text);
      holds(href === text && protocol === "https:" && port === "", "it is public https, in its one form");
      holds(/^[a-z\d._-]+\.[a-z\d_-]*[a-z_-][a-z\d_-]*$/.test(hostname), "its host is a name");
    },
  },
  {
    name: "metadata document",
    seeds: [
      JSON.stringify(document),
      JSON.stringify({ ...document, token_endpoint_auth_method: "none", jwks: undefined }),
    ],
    words: documentWords,
    check(text) {
      const decision = { kind: "accepted", redirectOrigins: [] } as const;
      const client = clientOfDocument(parseJson(text), { ...rules, clientId, apiId: "orders", decision });
      if ("problem" in client) return;
      holds(client.clientId === clientId && client.trusted !== true, "it is this client, and not trusted");
      for (const uri of client.redirectUris) {
        checkRegistrable(client, uri);
        holds(
          !/^https:/i.test(uri) || new URL(uri).origin === "https://app.example",
          "its redirects are its own",
        );
      }
      const { grantTypes = [] } = client.subscriptions["orders"] ?? {};
      holds(!grantTypes.includes("client_credentials"), "it gets no tokens of its own");
    },
  },
  {
    name: "metadata of a registration (RFC 7591 §2)",
    seeds: [
      JSON.stringify(document),
      JSON.stringify({ redirect_uris: ["cursor://x/y"], token_endpoint_auth_method: "none" }),
    ],
    words: documentWords,
    check(text) {
      const checked = unlessRefused(() => checkRegistrationMetadata(parseJson(text), rules));
      if (!checked) return;
      const { metadata, platform } = checked;
      const isPublic = metadata.token_endpoint_auth_method === "none";
      const client = isPublic ? publicRecord(platform) : confidentialRecord();
      for (const uri of metadata.redirect_uris) checkRegistrable(client, uri);
      holds(metadata.redirect_uris.length > 0 && metadata.redirect_uris.length <= 10, "it has redirects");
      holds(
        !isPublic || platform === "native" || !metadata.grant_types.includes("refresh_token"),
        "a script gets no refresh token",
      );
    },
  },
  {
    name: "key set (RFC 7517 §5)",
    seeds: [JSON.stringify({ keys: publicKeys })],
    words: [...documentWords, ...names("kty crv n e x y d use sig key_ops alg RSA AQAB")],
    check(text) {
      for (const key of parseKeySet(parseJson(text))?.keys ?? [])
        for (const algorithm of assertionAlgorithms)
          holds((readClientKey(key, algorithm)?.type ?? "public") === "public", "only public keys are read");
    },
  },
  {
    name: "Cache-Control (RFC 9111 §5.2)",
    seeds: ["max-age=60, public", 'max-age="60", no-cache', "no-store"],
    words: [
      "max-age=",
      "max-age",
      "no-store",
      "no-cache",
      '"',
      "\\",
      ",",
      "=",
      "-1",
      "1e9",
      "99999999999999999999",
    ],
    check(text) {
      const seconds = readMaxAge({ "cache-control": [text], age: [text] });
      holds(
        seconds === undefined || (Number.isInteger(seconds) && seconds >= 0 && seconds <= 2 ** 31),
        "it is a time",
      );
    },
  },
  {
    name: "Accept-Language (RFC 9110 §12.5.4)",
    seeds: ["de-AT,de;q=0.9,en;q=0.5", "*", "zh-Hant-TW"],
    words: ["de", "en", ";q=", ",", "-", "*", "0.5", "NaN", "1e9", "__proto__"],
    check(text) {
      const req = { headers: { "accept-language": text } } as IncomingMessage;
      const chosen = chooseLanguage(wantedLanguages(req, { uiLocales: text, isStranger: false }), [
        "de",
        "en",
        "zh-hant",
      ]);
      holds(chosen === undefined || ["de", "en", "zh-hant"].includes(chosen), "it is one that there is");
    },
  },
];

describe(`parsers of what strangers send, seed ${wish.seed}`, () => {
  it.each(parsers.map((parser) => [parser.name, parser] as const))("%s", (name, parser) => {
    const report = fuzzGuided(parser);
    if (wish.isLong) tell(name, report);
    expect(report.inputs).toBe(wish.count);
  });
});
