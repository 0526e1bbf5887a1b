import * as fc from "fast-check";
import type { Consent } from "../../lib";
import { remembered } from "../../lib/protocol/consent";
import { belongsTo } from "../../lib/protocol/authorization";
import {
  baseUrlOf,
  isIssuerBelow,
  isPathId,
  isResourceOf,
  protectedResourceMetadataUrl,
  serverMetadataUrl,
} from "../../lib/protocol/issuer";
import { OAuthError, type OAuthErrorCode, serverError, toOAuthError } from "../../lib/protocol/oauth-error";
import { protectedResourceMetadata } from "../../lib/protocol/protected-resource-metadata";
import { errorPage, jsonError } from "../../lib/protocol/protocol-response";
import { serverMetadata } from "../../lib/protocol/server-metadata";
import { issuerRecord } from "../records/records";

describe("issuer identifier (RFC 8414 §2)", () => {
  it.each(["a", "A", "0", "_", "~", "-", "orders", "orders-2.v1_a~b", "x".repeat(64), "constructor"])(
    "may hold the id %s",
    (id) => {
      expect(isPathId(id)).toBe(true);
    },
  );

  it.each([
    ["nothing", ""],
    ["a dot", "."],
    ["two dots", ".."],
    ["a dot in front", ".orders"],
    ["a slash", "a/b"],
    ["a backslash", "a\\b"],
    ["a percent sign", "a%2fb"],
    ["a space", "a b"],
    ["a question mark", "a?"],
    ["a number sign", "a#"],
    ["a colon", "a:b"],
    ["a character beyond ASCII", "bücher"],
    ["a line feed at the end", "a\n"],
    ["65 characters", "x".repeat(65)],
  ])("may not hold an id with %s", (_, id) => {
    expect(isPathId(id)).toBe(false);
  });

  it("holds an id that URL parsers leave as it is", () => {
    const unit = fc.constantFrom(...Array.from("aZ09-._~%/\\?#: "));
    fc.assert(
      fc.property(fc.string({ unit }).filter(isPathId), (id) => {
        expect(new URL(`https://host.example/auth/${id}/api`).pathname).toBe(`/auth/${id}/api`);
      }),
    );
  });

  it.each([
    ["its own identifier", "/auth/password/api/orders", true],
    ["that of another authentication method", "/auth/otp/api/orders", false],
    ["that of another API", "/auth/password/api/files", false],
    ["its own one at another server", "/other/auth/password/api/orders", false],
  ])("owns a record by %s", (_, path, expected) => {
    expect(belongsTo({ issuer: `https://host.example/login${path}` }, issuerRecord())).toBe(expected);
  });
});

describe("an issuer of this server (RFC 8414 §2)", () => {
  const baseUrl = "https://host.example/login";
  it.each([
    ["is below baseUrl, with both ids", `${baseUrl}/auth/password/api/orders`, true],
    [
      "is not below another host of equal length",
      "https://evil.example/login/auth/password/api/orders",
      false,
    ],
    ["is not below a path that only begins like it", `${baseUrl}x/auth/password/api/orders`, false],
    ["is not baseUrl itself", baseUrl, false],
    ["has auth before the first id", `${baseUrl}/other/password/api/orders`, false],
    ["has api before the second id", `${baseUrl}/auth/password/other/orders`, false],
    ["has both words, not neither", `${baseUrl}/other/password/other/orders`, false],
    ["has nothing behind the ids", `${baseUrl}/auth/password/api/orders/token`, false],
    ["has no slash at the end", `${baseUrl}/auth/password/api/orders/`, false],
    ["has nothing more, whatever stands before", `${baseUrl}/other/password/other/orders/token`, false],
    ["has a first id", `${baseUrl}/auth//api/orders`, false],
    ["has a second id", `${baseUrl}/auth/password/api/`, false],
    ["has a first id of the right form", `${baseUrl}/auth/../api/orders`, false],
    ["has a second id of the right form", `${baseUrl}/auth/password/api/orders?a=b`, false],
    ["has two pairs of parts, not one", `${baseUrl}/auth/password`, false],
    ["has ids", `${baseUrl}/auth`, false],
  ])("%s", (_, identifier, expected) => {
    expect(isIssuerBelow(baseUrl, identifier)).toBe(expected);
  });
});

it("an issuer knows the baseUrl of its server (RFC 8414 §2)", () => {
  const identifier = "https://host.example/login/auth/password/api/orders";
  const { api, authMethodId } = issuerRecord();
  expect(authMethodId + api.apiId).toBe("passwordorders");
  expect(baseUrlOf({ ...issuerRecord(), identifier })).toBe("https://host.example/login");
});

describe("the resource of an issuer (RFC 8707 §2, RFC 3986 §6.2.3)", () => {
  it.each([
    ["https://api.example", "https://api.example", true],
    ["https://api.example", "https://api.example/", true],
    ["https://api.example/", "https://api.example", true],
    ["https://api.example/orders", "https://api.example/orders/", false],
    ["https://api.example/orders", "https://api.exampleorders", false],
    ["https://api.example/orders", "https://api.example", false],
    ["https://api.example/https://b.example", "https://api.example/https://b.example/", false],
    ["https://api.example/orders", "https://api.example/Orders", false],
  ])("of the audience %s: is it %s?", (audience, resource, expected) => {
    expect(isResourceOf(issuerRecord({ audience }), resource)).toBe(expected);
    expect(isResourceOf(issuerRecord({ audience: resource }), audience)).toBe(expected);
  });
});

describe("authorization server metadata (RFC 8414 §3.1)", () => {
  it.each([
    [
      "https://host.example/auth/a/api/b",
      "https://host.example/.well-known/oauth-authorization-server/auth/a/api/b",
    ],
    [
      "https://host.example/login/auth/a/api/b",
      "https://host.example/.well-known/oauth-authorization-server/login/auth/a/api/b",
    ],
    [
      "https://host.example:8443/x/y/auth/a.b~c/api/_-d",
      "https://host.example:8443/.well-known/oauth-authorization-server/x/y/auth/a.b~c/api/_-d",
    ],
    [
      "http://localhost:3000/auth/a/api/b",
      "http://localhost:3000/.well-known/oauth-authorization-server/auth/a/api/b",
    ],
    ["https://host.example", "https://host.example/.well-known/oauth-authorization-server"],
    ["https://host.example/", "https://host.example/.well-known/oauth-authorization-server"],
  ])("of %s is at %s", (identifier, expected) => {
    expect(serverMetadataUrl({ ...issuerRecord(), identifier })).toBe(expected);
  });
});

describe("what authorization server metadata says of clients that nobody registered (RFC 8414 §2, 7591 §3)", () => {
  const { identifier } = issuerRecord();
  const members = ["registration_endpoint", "client_id_metadata_document_supported"];

  it.each([
    [false, false, {}],
    [true, false, { client_id_metadata_document_supported: true }],
    [false, true, { registration_endpoint: `${identifier}/register` }],
  ])("documents: %s, registrations: %s", (documents, registrations, expected) => {
    const issuer = issuerRecord({ selfDescribed: { documents, registrations } });
    const said = Object.entries(serverMetadata(issuer, "https://host.example/jwks"));
    expect(Object.fromEntries(said.filter(([name]) => members.includes(name)))).toEqual(expected);
  });
});

describe("protected resource metadata (RFC 9728 §2, §3.1)", () => {
  it.each([
    ["https://api.example", "https://api.example/.well-known/oauth-protected-resource"],
    ["https://api.example/", "https://api.example/.well-known/oauth-protected-resource"],
    ["https://api.example/orders", "https://api.example/.well-known/oauth-protected-resource/orders"],
    ["https://api.example/a/b", "https://api.example/.well-known/oauth-protected-resource/a/b"],
    ["https://api.example/a/", "https://api.example/.well-known/oauth-protected-resource/a/"],
    ["http://localhost:3000/a", "http://localhost:3000/.well-known/oauth-protected-resource/a"],
  ])("of %s is at %s", (audience, expected) => {
    expect(protectedResourceMetadataUrl(audience)).toBe(expected);
  });

  it("lists every issuer of the API, its scopes and how to send a token", () => {
    const issuers = [issuerRecord().identifier, issuerRecord({}, "otp").identifier];
    expect(protectedResourceMetadata({ ...issuerRecord().api, issuers })).toEqual({
      resource: "https://api.example/orders",
      resource_name: "Orders",
      authorization_servers: [
        "https://host.example/login/auth/password/api/orders",
        "https://host.example/login/auth/otp/api/orders",
      ],
      scopes_supported: ["orders:read", "orders:write"],
      bearer_methods_supported: ["header"],
    });
  });
});

function before(...scopes: readonly string[]): Consent {
  return {
    subject: "alice",
    clientId: "web",
    apiId: "orders",
    scopes,
    grantedAt: 1,
    endMarks: [],
    expiresAt: 2,
  };
}

describe("remembered consent (RFC 6749 §10.2)", () => {
  it.each([
    ["what is allowed the first time", undefined, ["a", "b"], ["a"], ["a"]],
    ["what was allowed before and not asked again", before("a", "b"), ["c"], ["c"], ["a", "b", "c"]],
    ["no scope that was asked again and not allowed", before("a", "b"), ["a", "c"], ["c"], ["b", "c"]],
    ["a scope once", before("a"), ["a"], ["a"], ["a"]],
    ["nothing when all is asked again and nothing allowed", before("a"), ["a"], [], []],
    ["what was allowed before when nothing is asked", before("a"), [], [], ["a"]],
  ])("has %s", (_, consent, askedScopes, grantedScopes, expected) => {
    expect(remembered(consent, { askedScopes, grantedScopes, expiresAt: 9 }).scopes).toEqual(expected);
  });

  it.each([
    ["the first time", undefined, 9],
    ["when all of it is asked again", before("a"), 9],
    ["with what was allowed before and is not asked again: nobody was asked", before("a", "b"), 2],
    ["no later than a shorter one that is new", { ...before("a", "b"), expiresAt: 10 }, 9],
  ])("ends %s", (_, consent, expiresAt) => {
    const decision = { askedScopes: ["a"], grantedScopes: ["a"], expiresAt: 9 };
    expect(remembered(consent, decision).expiresAt).toBe(expiresAt);
  });

  it("never has a scope twice, nor one that was asked for last and not allowed", () => {
    const scopes = fc.uniqueArray(fc.constantFrom<string>("a", "b", "c", "d", "e"));
    fc.assert(
      fc.property(scopes, scopes, fc.func(fc.boolean()), (known, askedScopes, allows) => {
        const grantedScopes = askedScopes.filter((scope) => allows(scope));
        const decision = { askedScopes, grantedScopes, expiresAt: 9 };
        const { scopes: all } = remembered(before(...known), decision);
        expect(new Set(all).size).toBe(all.length);
        expect(all.filter((scope) => askedScopes.includes(scope)).toSorted()).toEqual(
          grantedScopes.toSorted(),
        );
      }),
    );
  });
});

describe("errors (RFC 6749 §4.1.2.1, §5.2)", () => {
  it.each<[OAuthErrorCode, number]>([
    ["invalid_request", 400],
    ["invalid_client", 401],
    ["invalid_grant", 400],
    ["unauthorized_client", 400],
    ["unsupported_grant_type", 400],
    ["invalid_scope", 400],
    ["invalid_target", 400],
    ["server_error", 500],
    ["temporarily_unavailable", 503],
  ])("answer %s with the status %s", (code, status) => {
    const error = new OAuthError(code, {
      description: "For the client.",
      code: "for-events",
      reason: "for the event",
    });
    expect(jsonError(error, { "X-A": "b" })).toEqual({
      kind: "json",
      status,
      body: { error: code, error_description: "For the client." },
      headers: { "X-A": "b" },
    });
    expect(errorPage(error)).toEqual({ kind: "error-page", status, error });
  });

  it("tell the event what the client may not know", () => {
    const error = new OAuthError("invalid_grant", {
      description: "For the client.",
      code: "for-events",
      reason: "for the event",
    });
    expect(error.code).toBe("for-events");
    expect(error.reason).toBe("for the event");
    expect(String(error)).toBe("OAuthError: invalid_grant: For the client.");
    expect(new OAuthError("invalid_grant", { description: "For both.", code: "for-events" }).reason).toBe(
      "For both.",
    );
  });

  it("stand for anything thrown, without telling the client what it was", () => {
    const cause = new Error("password of the database");
    const error = toOAuthError(cause);
    expect(error).toMatchObject({ error: "server_error", code: "server-failed" });
    expect(error.cause).toBe(cause);
    expect(JSON.stringify(jsonError(error))).not.toContain("password");
    expect(toOAuthError("a text").cause).toBe("a text");
    expect(toOAuthError(undefined).error).toBe("server_error");
  });

  it("stay what they are", () => {
    const error = serverError(undefined);
    expect(toOAuthError(error)).toBe(error);
  });
});
