// What becomes of a registration that the host has approved (RFC 7591 §2, §3.2.1), by direct calls.
import {
  checkAskedScopes,
  clientOfRegistration,
  narrowedTo,
  type NewRegistration,
  registrationResponse,
  scopesOfRegistration,
} from "../../lib/strangers/new-registration";
import { registrationReasons } from "../../lib/strangers/registration-metadata";
import type { RegistrationMetadata } from "../../lib/clients/port";
import { generateClientKey } from "../../lib/clients/client-key";
import { now, refusalOf } from "../host/asked";
import { checkedMetadata, secretDigest } from "../records/records";

const { jwks } = generateClientKey();
const links = {
  client_uri: "https://app.example/",
  policy_uri: "https://app.example/policy",
  tos_uri: "https://app.example/terms",
};

/** A registration of `app` at the API "orders". */
function registration(
  metadata: Partial<RegistrationMetadata> = {},
  changes: Partial<NewRegistration> = {},
): NewRegistration {
  return {
    metadata: checkedMetadata(metadata),
    platform: "native",
    clientId: "app",
    apiId: "orders",
    secretDigest,
    ...changes,
  };
}

describe("the scopes of a registration (RFC 7591 §2)", () => {
  const ofApi = ["orders:read", "orders:write"];
  const scopesOf = (scope: string | undefined, scopes?: readonly string[]) =>
    scopesOfRegistration(checkedMetadata(scope === undefined ? {} : { scope }), {
      decision: { kind: "approved", ...(scopes && { scopes }) },
      ofApi,
    });

  it.each<[string, string | undefined, readonly string[] | undefined]>([
    ["it asks for none", undefined, ["orders:read"]],
    ["it asks for others as well", "other orders:read", ["orders:read"]],
    ["the host names none, which stands for all", "orders:write", undefined],
    ["in the order of the host", undefined, ["orders:write", "orders:read"]],
  ])("are those that the host allows: %s", (_, scope, scopes) => {
    expect(scopesOf(scope, scopes)).toEqual(scopes);
  });

  it("are named once each, whatever the list of the host is like", () => {
    const list: string[] = ["orders:write", "orders:write"];
    list[3] = "orders:read";
    expect(scopesOf(undefined, list)).toEqual(["orders:write", "orders:read"]);
  });

  it.each([
    ["the API does not have them", "other", undefined],
    ["the host does not allow them", "orders:write", ["orders:read"]],
  ])("are refused when none remains: %s", async (_, scope, scopes) => {
    expect(await refusalOf((async () => scopesOf(scope, scopes))())).toEqual({
      error: "invalid_client_metadata",
      description: "This client may have none of these scopes.",
      code: "no-scope-allowed",
    });
  });

  it.each([
    ["it asks for none", undefined],
    ["it asks for others as well", "other orders:read"],
  ])("can be asked for when %s", (_, scope) => {
    const metadata = checkedMetadata(scope === undefined ? {} : { scope });
    expect(() => checkAskedScopes(metadata, { allowed: ofApi, code: "no-scope-of-api" })).not.toThrow();
  });

  it("cannot be asked for when the API has none of them", async () => {
    const metadata = checkedMetadata({ scope: "other one" });
    const asked = async () => checkAskedScopes(metadata, { allowed: ofApi, code: "no-scope-of-api" });
    expect(await refusalOf(asked())).toEqual({
      error: "invalid_client_metadata",
      description: "This client may have none of these scopes.",
      code: "no-scope-of-api",
    });
  });

  it.each([
    ["no list", "orders:read"],
    ["not of the API", ["orders:read", "other"]],
  ])("are a mistake of the host when they are %s", (_, scopes) => {
    expect(() => scopesOf(undefined, scopes as readonly string[])).toThrow(
      expect.objectContaining({ code: "wrong-scopes-of-registration" }),
    );
  });
});

describe("the record of a client that has registered (RFC 7591 §2)", () => {
  const record = {
    clientId: "app",
    name: "app.example",
    confidential: true,
    redirectUris: ["https://app.example/callback"],
    subscriptions: { orders: { grantTypes: ["authorization_code"] } },
  };

  it("has what the client needs, and nothing else", () => {
    expect(clientOfRegistration(registration())).toStrictEqual({ ...record, secretDigests: [secretDigest] });
  });

  it.each<[string, Partial<RegistrationMetadata>, object]>([
    [
      "a secret in the form",
      { token_endpoint_auth_method: "client_secret_post" },
      { secretDigests: [secretDigest] },
    ],
    ["its keys", { token_endpoint_auth_method: "private_key_jwt", jwks }, { jwks }],
    [
      "keys at a URL",
      { token_endpoint_auth_method: "private_key_jwt", jwks_uri: "https://app.example/jwks" },
      { jwksUri: "https://app.example/jwks" },
    ],
    ["nothing", { token_endpoint_auth_method: "none" }, { confidential: false, platform: "native" }],
  ])("says how the client proves itself: by %s", (_, metadata, proof) => {
    expect(clientOfRegistration(registration(metadata))).toStrictEqual({ ...record, ...proof });
  });

  it("has the links that the client has sent", () => {
    expect(clientOfRegistration(registration(links))).toMatchObject({
      clientUri: links.client_uri,
      policyUri: links.policy_uri,
      tosUri: links.tos_uri,
    });
  });

  it("is narrowed to the scopes that the host allows", () => {
    const client = clientOfRegistration(registration());
    const { subscriptions, ...others } = narrowedTo(["orders:read"], client);
    expect({ ...others, subscriptions: client.subscriptions }).toStrictEqual(client);
    expect(subscriptions).toStrictEqual({
      orders: { grantTypes: ["authorization_code"], scopes: ["orders:read"] },
    });
    expect(narrowedTo(undefined, client)).toStrictEqual(client);
  });

  it.each<[string, Partial<RegistrationMetadata>, string]>([
    ["its own", { client_name: "Shop" }, "Shop"],
    [
      "the host of its first https redirect",
      { redirect_uris: ["com.app:/", "HTTPS://b.example/"] },
      "b.example",
    ],
    ["its id when it has none", { redirect_uris: ["http://127.0.0.1/https://b.example/"] }, "app"],
  ])("has a name: %s", (_, metadata, name) => {
    const asNative = registration({ token_endpoint_auth_method: "none", ...metadata });
    expect(clientOfRegistration(asNative).name).toBe(name);
  });

  it("is not made when a key is of no use, and nothing of the key is repeated", async () => {
    const metadata = {
      token_endpoint_auth_method: "private_key_jwt",
      jwks: { keys: [{ kty: "EC" }] },
    } as const;
    expect(await refusalOf((async () => clientOfRegistration(registration(metadata)))())).toEqual({
      error: "invalid_client_metadata",
      description: registrationReasons["metadata-unusable"],
      code: "metadata-unusable",
    });
  });
});

/** The answer at an API with these scopes. */
function answered(
  made: NewRegistration,
  {
    secret,
    scopes,
    ofApi,
  }: { secret?: string; scopes?: readonly string[] | undefined; ofApi: readonly string[] },
) {
  const client = narrowedTo(scopes, clientOfRegistration(made));
  return registrationResponse(made, { client, secret, ofApi, issuedAt: now });
}

describe("the answer to a registration (RFC 7591 §3.2.1)", () => {
  const always = {
    client_id: "app",
    client_id_issued_at: now,
    redirect_uris: ["https://app.example/callback"],
    token_endpoint_auth_method: "client_secret_basic",
    grant_types: ["authorization_code"],
    client_name: "app.example",
    response_types: ["code"],
  };

  it.each<[string, readonly string[] | undefined, string]>([
    ["all of the API", undefined, "orders:read orders:write"],
    ["those that the host allows", ["orders:read"], "orders:read"],
  ])("names the scopes that the client may request, not those that it sent: %s", (_, scopes, scope) => {
    const made = registration({ scope: "orders:write other", sent: { logo_uri: "x" }, ...links });
    const answer = answered(made, { scopes, ofApi: ["orders:read", "orders:write"] });
    expect(answer).toStrictEqual({ ...always, ...links, scope });
  });

  it("has no scope where there is none", () => {
    expect(answered(registration(), { ofApi: [] })).toStrictEqual(always);
  });

  it("tells the secret, which does not expire", () => {
    const answer = answered(registration(), { secret: "s3cret", ofApi: [] });
    expect(answer).toStrictEqual({ ...always, client_secret: "s3cret", client_secret_expires_at: 0 });
  });
});
