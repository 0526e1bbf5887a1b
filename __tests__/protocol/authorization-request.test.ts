import * as fc from "fast-check";
import type { Client } from "../../lib";
import type { AuthorizationRequest } from "../../lib/protocol/authorization-request";
import { checkAuthorizationRequest } from "../../lib/requests/check-authorization-request";
import {
  type AnswerParameters,
  authorizationAnswer,
  errorParameters,
  responseModeFor,
} from "../../lib/protocol/authorization-response";
import { type Api, isResourceOf, type Issuer } from "../../lib/protocol/issuer";
import { OAuthError } from "../../lib/protocol/oauth-error";
import { parametersFromObject, parseParameters } from "../../lib/protocol/parameters";
import type { RedirectResponse } from "../../lib/protocol/protocol-response";
import { type RedirectTarget, verifyRedirectUri } from "../../lib/protocol/redirect-uri";
import { checkRequestedScopes } from "../../lib/requests/check-parameters";
import { encode, type Fields } from "../browser/browser";
import { confidentialRecord, issuerRecord, publicRecord } from "../records/records";

const challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
const pkce = { code_challenge: challenge, code_challenge_method: "S256" };

const clients = {
  confidential: confidentialRecord(),
  native: publicRecord("native"),
  browser: publicRecord("browser"),
};

function targetAt(client: Client, requested = client.redirectUris[0]): RedirectTarget {
  const target = verifyRedirectUri(client, { requested, rule: "required", redirectSchemes: [] });
  if (!target) throw new Error("not a registered redirect URI");
  return target;
}

interface Asked {
  readonly client?: Client;
  readonly issuer?: Issuer;
}

/** The check of a request that only names a code, changed by `fields`. */
function check(
  fields: Fields,
  { client = clients.confidential, issuer = issuerRecord() }: Asked = {},
): AuthorizationRequest {
  const parameters = parseParameters(encode({ response_type: "code", ...fields }));
  return checkAuthorizationRequest(parameters, {
    issuer,
    client,
    target: targetAt(client),
    shown: undefined,
  });
}

function refusal(fields: Fields, asked?: Asked): OAuthError | undefined {
  try {
    check(fields, asked);
    return undefined;
  } catch (error) {
    if (error instanceof OAuthError) return error;
    throw error;
  }
}

describe("authorization request (RFC 6749 §4.1.1)", () => {
  it("is read with every parameter", () => {
    const issuer = issuerRecord();
    const fields = {
      ...pkce,
      scope: "orders:write orders:read",
      state: "a state",
      response_mode: "form_post",
      prompt: "login consent",
      resource: "https://api.example/orders",
      max_age: "0",
      login_hint: "alice@example",
      ui_locales: "de en",
    };
    expect(check(fields, { issuer })).toEqual({
      issuer,
      client: clients.confidential,
      target: { uri: "https://web.example/callback", source: "https://web.example" },
      state: "a state",
      responseMode: "form_post",
      requestedScopes: ["orders:write", "orders:read"],
      grantableScopes: ["orders:write", "orders:read"],
      ignoredScopes: [],
      codeChallenge: challenge,
      prompt: ["login", "consent"],
      maxAge: 0,
      acrValues: [],
      loginHint: "alice@example",
      uiLocales: "de en",
    });
  });

  it("needs no more than a response_type of a confidential client", () => {
    expect(check({})).toMatchObject({
      state: undefined,
      responseMode: "query",
      requestedScopes: ["orders:read"],
      codeChallenge: undefined,
      prompt: [],
      maxAge: undefined,
      loginHint: undefined,
      uiLocales: undefined,
    });
  });

  it("counts empty parameters as absent (§3.1)", () => {
    const empty = { scope: "", state: "", code_challenge: "", code_challenge_method: "", resource: "" };
    expect(refusal({ ...empty, prompt: "", max_age: "", request: "", response_mode: "" })).toBeUndefined();
    expect(check({ ...empty, prompt: "", max_age: "" }).state).toBeUndefined();
  });

  it("ignores parameters that it does not know (§3.1)", () => {
    expect(refusal({ nonce: "n", display: "page", claims: "x", constructor: "y" })).toBeUndefined();
  });
});

describe("what the host is told of a refused authorization request (RFC 6749 §4.1.2.1)", () => {
  const unsubscribed = confidentialRecord({ subscriptions: {} });

  it.each<[string, Fields, Asked, string]>([
    ["a repeated parameter", { scope: ["orders:read", "orders:write"] }, {}, "parameter-unusable"],
    ["no subscription", {}, { client: unsubscribed }, "code-grant-not-allowed"],
    ["no code challenge", {}, { client: clients.native }, "code-challenge-missing"],
  ])("%s", (_, fields, asked, code) => {
    expect(refusal(fields, asked)?.code).toBe(code);
  });
});

const { confidential, native, browser } = clients;
const notSubscribed = confidentialRecord({ subscriptions: { files: {} } });
const onlyMachine = confidentialRecord({ subscriptions: { orders: { grantTypes: ["client_credentials"] } } });
const readOnly = confidentialRecord({ subscriptions: { orders: { scopes: ["orders:read"] } } });
const scopeRequired = issuerRecord({ scope: "required" });

describe("refusals by redirect (RFC 6749 §4.1.2.1, 7636 §4.4.1, 8707 §2)", () => {
  it.each<[string, Fields, string, Asked?]>([
    ["response_type is missing", { response_type: undefined }, "invalid_request"],
    ["response_type is empty", { response_type: "" }, "invalid_request"],
    ["response_type is token", { response_type: "token" }, "unsupported_response_type"],
    ["response_type is code token", { response_type: "code token" }, "unsupported_response_type"],
    ["response_type is in upper case", { response_type: "CODE" }, "unsupported_response_type"],
    ["response_type is repeated", { response_type: ["code", "code"] }, "invalid_request"],
    ["state is repeated", { state: ["a", "b"] }, "invalid_request"],
    ["scope is repeated", { scope: ["orders:read", "orders:read"] }, "invalid_request"],
    [
      "resource is repeated",
      { resource: Array<string>(2).fill("https://api.example/orders") },
      "invalid_request",
    ],
    ["an unknown parameter is repeated", { other: ["a", "b"] }, "invalid_request"],
    ["a native client sends no challenge", {}, "invalid_request", { client: native }],
    ["a browser client sends no challenge", {}, "invalid_request", { client: browser }],
    [
      "a public client sends a method alone",
      { code_challenge_method: "S256" },
      "invalid_request",
      { client: native },
    ],
    [
      "a public client sends a challenge alone",
      { code_challenge: challenge },
      "invalid_request",
      { client: native },
    ],
    ["a confidential client sends a method alone", { code_challenge_method: "S256" }, "invalid_request"],
    ["a confidential client sends a challenge alone", { code_challenge: challenge }, "invalid_request"],
    [
      "the method is plain",
      { ...pkce, code_challenge_method: "plain" },
      "invalid_request",
      { client: native },
    ],
    ["the method is s256", { ...pkce, code_challenge_method: "s256" }, "invalid_request", { client: native }],
    ["the challenge has 42 characters", { ...pkce, code_challenge: challenge.slice(1) }, "invalid_request"],
    ["the challenge has 44 characters", { ...pkce, code_challenge: `${challenge}A` }, "invalid_request"],
    ["the challenge is base64", { ...pkce, code_challenge: `${challenge.slice(1)}+` }, "invalid_request"],
    ["the challenge is padded", { ...pkce, code_challenge: `${challenge}=` }, "invalid_request"],
    ["the scope is malformed", { scope: "orders:read  orders:write" }, "invalid_scope"],
    ["the scope is unknown to the API", { scope: "orders:delete" }, "invalid_scope"],
    ["one scope of two is unknown to the API", { scope: "orders:read orders:delete" }, "invalid_scope"],
    ["the scope is a prototype name", { scope: "constructor" }, "invalid_scope"],
    ["the scope is in upper case", { scope: "ORDERS:READ" }, "invalid_scope"],
    [
      "the scope is beyond the subscription",
      { scope: "orders:write" },
      "invalid_scope",
      { client: readOnly },
    ],
    ["scope is missing where the API requires it", {}, "invalid_scope", { issuer: scopeRequired }],
    ["scope is empty where the API requires it", { scope: "" }, "invalid_scope", { issuer: scopeRequired }],
    ["the client has no subscription", {}, "unauthorized_client", { client: notSubscribed }],
    ["the client may not use this grant", {}, "unauthorized_client", { client: onlyMachine }],
    ["the resource is another API", { resource: "https://api.example/files" }, "invalid_target"],
    ["the resource has a slash more", { resource: "https://api.example/orders/" }, "invalid_target"],
    ["the resource is in upper case", { resource: "https://API.example/orders" }, "invalid_target"],
    ["the resource is no URL", { resource: "orders" }, "invalid_target"],
    ["prompt is unknown", { prompt: "create" }, "invalid_request"],
    ["prompt has none beside select_account", { prompt: "none select_account" }, "invalid_request"],
    ["prompt is in upper case", { prompt: "NONE" }, "invalid_request"],
    ["prompt has two spaces", { prompt: "login  consent" }, "invalid_request"],
    ["prompt has none beside login", { prompt: "none login" }, "invalid_request"],
    ["prompt has none beside consent", { prompt: "consent none" }, "invalid_request"],
    ["max_age is negative", { max_age: "-1" }, "invalid_request"],
    ["max_age has a fraction", { max_age: "1.5" }, "invalid_request"],
    ["max_age is a word", { max_age: "Infinity" }, "invalid_request"],
    ["max_age has an exponent", { max_age: "1e3" }, "invalid_request"],
    ["max_age is hexadecimal", { max_age: "0x10" }, "invalid_request"],
    ["max_age has ten digits", { max_age: "1000000000" }, "invalid_request"],
  ])("when %s", (_, fields, error, asked = {}) => {
    const refused = refusal(fields, asked);
    expect(refused?.error).toBe(error);
    // the characters of RFC 6749 §4.1.2.1
    expect(refused?.description).toMatch(/^[\x20\x21\x23-\x5b\x5d-\x7e]+$/);
  });
});

describe("what refusals by redirect say (RFC 6749 §4.1.2.1)", () => {
  it("repeats nothing of the request", () => {
    const fields = { scope: "nowhere-else", prompt: "nowhere-else", max_age: "nowhere-else" };
    for (const [name, value] of Object.entries(fields)) {
      expect(refusal({ [name]: value })?.message).not.toContain("nowhere-else");
    }
  });

  it("come in a constant order, so that one answer never hangs on a later parameter", () => {
    const wrong = {
      state: ["a", "b"],
      response_type: undefined,
      code_challenge: "short",
      code_challenge_method: undefined,
      resource: "https://api.example/files",
      scope: "orders:delete",
      prompt: "none login",
      max_age: "-1",
    };
    const fixed: [Fields, Client][] = [
      [{}, onlyMachine],
      [{ state: "a" }, onlyMachine],
      [{ response_type: "token" }, onlyMachine],
      [{ response_type: "code" }, onlyMachine],
      [{}, confidential],
      [{ code_challenge_method: "S256" }, confidential],
      [{ code_challenge: challenge }, confidential],
      [{ resource: undefined }, confidential],
      [{ scope: undefined }, confidential],
      [{ prompt: "none" }, confidential],
      [{ max_age: "1" }, confidential],
    ];
    let fields: Fields = wrong;
    const answers = fixed.map(([change, client]) => {
      fields = { ...fields, ...change };
      const error = refusal(fields, { client });
      return error && `${error.error}: ${error.description}`;
    });
    expect(answers).toEqual([
      "invalid_request: A parameter is repeated or is not UTF-8 text.",
      "invalid_request: response_type is missing.",
      "unsupported_response_type: The only response_type is code.",
      "unauthorized_client: The client may not use the authorization code grant at this API.",
      "invalid_request: code_challenge_method must be S256.",
      "invalid_request: code_challenge must be 43 base64url characters.",
      "invalid_target: The resource is not the API of this endpoint.",
      "invalid_scope: The client may not have this scope at this API.",
      "invalid_request: prompt=none must be the only value.",
      "invalid_request: max_age must be a whole number of seconds.",
      undefined,
    ]);
  });
});

describe("PKCE by kind of client (RFC 7636 §4.4.1, 9700 §2.1.1)", () => {
  it.each(["confidential", "native", "browser"] as const)(
    "takes an S256 challenge of a %s client",
    (kind) => {
      expect(check(pkce, { client: clients[kind] }).codeChallenge).toBe(challenge);
    },
  );
});

function scopesOf(scope: string | undefined, api: Partial<Api>, client: Client): readonly string[] {
  return checkRequestedScopes(scope, { issuer: issuerRecord(api), client }).requestedScopes;
}

describe("requested scopes (RFC 6749 §3.3)", () => {
  it.each([
    ["the API's defaults", undefined, {}, confidential, ["orders:read"]],
    ["no defaults", undefined, { defaultScopes: [] }, confidential, []],
    [
      "the defaults that the client may have",
      undefined,
      { defaultScopes: ["orders:write", "orders:read"] },
      readOnly,
      ["orders:read"],
    ],
    ["those named, each once", "orders:write orders:write", {}, confidential, ["orders:write"]],
    [
      "those named where the API requires it",
      "orders:read",
      { scope: "required" },
      confidential,
      ["orders:read"],
    ],
  ] as const)("are %s", (_, scope, api, client, expected) => {
    expect(scopesOf(scope, api, client)).toEqual(expected);
  });
});

describe("resource indicator (RFC 8707 §2)", () => {
  it.each([
    ["https://api.example/orders", true],
    ["https://api.example/orders?a=b", false],
    ["https://api.example/ORDERS", false],
    ["https://api.example", false],
    ["", false],
  ])("is the API of the issuer: %s %s", (resource, expected) => {
    expect(isResourceOf(issuerRecord(), resource)).toBe(expected);
  });

  it.each(["https://api.example", "https://api.example/"])(
    "may have or lack the one slash of an origin: %s (RFC 3986 §6.2.3)",
    (audience) => {
      const issuer = issuerRecord({ audience });
      expect(isResourceOf(issuer, "https://api.example")).toBe(true);
      expect(isResourceOf(issuer, "https://api.example/")).toBe(true);
    },
  );

  it.each([
    ["two slashes", "https://api.example//"],
    ["a path", "https://api.example/a"],
    ["capitals", "https://API.example/"],
    ["its port", "https://api.example:443/"],
    ["a query", "https://api.example/?"],
    ["a fragment", "https://api.example/#"],
    ["a space", "https://api.example/ "],
    ["http", "http://api.example/"],
  ])("overlooks nothing else of an origin: %s", (_, resource) => {
    expect(isResourceOf(issuerRecord({ audience: "https://api.example" }), resource)).toBe(false);
  });
});

describe("prompt and max_age (OpenID Connect Core §3.1.2.1)", () => {
  it.each([
    ["none", ["none"]],
    ["none none", ["none"]],
    ["consent login", ["consent", "login"]],
    ["login login", ["login"]],
  ])("reads prompt=%s", (prompt, expected) => {
    expect(check({ prompt }).prompt).toEqual(expected);
  });

  it.each([
    ["0", 0],
    ["007", 7],
    ["999999999", 999_999_999],
  ])("reads max_age=%s", (maxAge, expected) => {
    expect(check({ max_age: maxAge }).maxAge).toBe(expected);
  });

  it("gives a checked request or an OAuthError, whatever the parameters", () => {
    const names = ["response_type", "scope", "state", "prompt", "max_age", "resource", "code_challenge"];
    const value = fc.oneof(fc.constantFrom("code", "none", "orders:read", "S256", challenge), fc.string());
    const fields = fc.dictionary(fc.constantFrom(...names, "code_challenge_method"), value);
    fc.assert(
      fc.property(fields, fc.constantFrom(confidential, native, browser), (body, client) => {
        const parameters = parametersFromObject(body);
        try {
          const asked = {
            issuer: issuerRecord(),
            client,
            target: targetAt(client),
            shown: undefined,
          };
          const { codeChallenge } = checkAuthorizationRequest(parameters, asked);
          if (!client.confidential) expect(codeChallenge).toHaveLength(43);
        } catch (error) {
          expect(error).toBeInstanceOf(OAuthError);
        }
      }),
    );
  });
});

const iss = "https://host.example/login/auth/password/api/orders";

function targetOf(uri: string): RedirectTarget {
  return targetAt(publicRecord("native", { redirectUris: [uri] }));
}

function locationOf(target: RedirectTarget, parameters: AnswerParameters): string {
  return (authorizationAnswer(target, { mode: "query", parameters }) as RedirectResponse).location;
}

describe("the response mode (Form Post §2)", () => {
  it.each<[string, Client, "form_post" | undefined]>([
    ["a confidential client", clients.confidential, "form_post"],
    ["an app", clients.native, undefined],
    ["a script in a page, which cannot read a form", clients.browser, undefined],
    [
      "a client that nobody registered",
      { ...clients.confidential, selfDescription: { by: "document", digest: "d" } },
      undefined,
    ],
  ])("form_post: %s", (_, client, expected) => {
    expect(responseModeFor("form_post", { client, state: undefined })).toBe(expected);
    expect(responseModeFor("query", { client, state: "ä" })).toBe("query");
  });

  it("carries the error beside the form, for those who watch", () => {
    const target = targetAt(clients.confidential);
    const told = { code: "a.code", state: undefined, iss };
    const answer = { kind: "form-post", action: target.uri, fields: told };
    expect(authorizationAnswer(target, { mode: "form_post", parameters: told })).toEqual(answer);
    const refused = new OAuthError("access_denied", { description: "No.", code: "not-now" });
    const fields = errorParameters(refused, { state: "s", iss });
    expect(authorizationAnswer(target, { mode: "form_post", parameters: fields })).toEqual({
      ...answer,
      fields,
      error: "access_denied",
    });
  });
});

describe("authorization response (RFC 6749 §4.1.2, 9207 §2)", () => {
  const answer = { code: "a.code", state: undefined, iss };
  const encodedIss = encodeURIComponent(iss);

  it.each([
    ["no query", "https://web.example/callback", `?code=a.code&iss=${encodedIss}`],
    [
      "a query, which stays as it is",
      "https://web.example/cb?b=%2f+%20&a=",
      `&code=a.code&iss=${encodedIss}`,
    ],
    ["an empty query", "https://web.example/cb?", `code=a.code&iss=${encodedIss}`],
    ["a query that ends with &", "https://web.example/cb?a=b&", `code=a.code&iss=${encodedIss}`],
    ["no path", "https://web.example", `?code=a.code&iss=${encodedIss}`],
    ["a scheme of its own", "com.example.phone:/callback", `?code=a.code&iss=${encodedIss}`],
    ["a loopback port", "http://127.0.0.1:51004/cb", `?code=a.code&iss=${encodedIss}`],
  ])("is added to a redirect URI with %s", (_, uri, added) => {
    expect(locationOf(targetOf(uri), answer)).toBe(uri + added);
  });

  it("carries the state between code and iss", () => {
    const location = locationOf(targetOf("https://web.example/cb"), { ...answer, state: "a b&c=d" });
    expect(location).toBe(`https://web.example/cb?code=a.code&state=a%20b%26c%3Dd&iss=${encodedIss}`);
  });

  it.each([
    ["letters", "abcXYZ019"],
    ["what a query is made of", "a=b&c=d?e#f;g/h:i@j"],
    ["plus and space", "a+b c"],
    ["percent signs", "100%25%zz"],
    ["quotes and markup", `"'<script>\\`],
    ["line ends", "a\r\nb"],
    ["control characters", "\0\u0001\u007f"],
    ["characters beyond ASCII", "ä€字🔑"],
    ["a combining character, not made one", "a\u0308"],
    ["a byte order mark", "\ufeffa"],
    ["spaces at both ends", " a "],
  ])("gives back the state byte for byte: %s", (_, state) => {
    const location = locationOf(targetOf("https://web.example/cb?a=b"), { ...answer, state });
    expect(new URL(location).searchParams.getAll("state")).toEqual([state]);
    // visible ASCII: nothing can end the header or be changed on its way
    expect(location).toMatch(/^[\x21-\x7e]+$/);
  });

  it("gives back any state that a request can have sent", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", minLength: 1 }), (sent) => {
        const state = parseParameters(`state=${encodeURIComponent(sent)}`).get("state");
        const location = locationOf(targetOf("https://web.example/cb"), { ...answer, state });
        expect(Object.fromEntries(new URL(location).searchParams)).toEqual({
          code: "a.code",
          state: sent,
          iss,
        });
      }),
    );
  });

  it("carries an error with its description, the state and iss (§4.1.2.1)", () => {
    const error = new OAuthError("access_denied", {
      description: "The end user said no.",
      code: "end-user-denied",
      reason: "secret",
    });
    const location = locationOf(
      targetOf("https://web.example/cb?a=b"),
      errorParameters(error, { state: "ä", iss }),
    );
    expect(location).toBe(
      `https://web.example/cb?a=b&error=access_denied&error_description=The%20end%20user%20said%20no.&state=%C3%A4&iss=${encodedIss}`,
    );
  });

  it("carries an error without state when there was none", () => {
    const error = new OAuthError("access_denied", { description: "No.", code: "end-user-denied" });
    const location = locationOf(
      targetOf("https://web.example/cb"),
      errorParameters(error, { state: undefined, iss }),
    );
    expect(location).toBe(
      `https://web.example/cb?error=access_denied&error_description=No.&iss=${encodedIss}`,
    );
  });
});
