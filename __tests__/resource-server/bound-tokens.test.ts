import request from "supertest";
import type { DpopOptions } from "../../lib";
import { checkResourceServerOptions } from "../../lib/resource-server/options";
import { stopClockForEachTest } from "../hosts/clock";
import { boundApis, ownBound, ownKey, postBound } from "../requests/bound-requests";
import { proofOf } from "../requests/dpop-proofs";
import { introspection, type RemoteApi, remoteApi, type RemoteServer, remoteServer } from "./remote";

stopClockForEachTest();
const orders = { audience: "https://api.example/orders", scopes: ["orders:read", "orders:write"] };
let server: RemoteServer;

beforeEach(async () => {
  server = await remoteServer({ apis: boundApis() });
});
afterEach(() => server.stop());

/** The APIs of `server` apart from it, with `dpop` at each. */
function boundApi(dpop: DpopOptions = {}, others: Parameters<typeof remoteApi>[1] = {}): RemoteApi {
  return remoteApi(server, {
    apis: {
      orders: { ...orders, dpop },
      reports: { audience: "https://api.example/reports", scopes: ["reports:read"], dpop },
    },
    introspection,
    ...others,
  });
}

/** A token of the client's own at this API, bound to `ownKey`. */
async function boundToken(api: "orders" | "reports"): Promise<string> {
  const proof = proofOf({
    method: "POST",
    url: `${server.baseUrl}/auth/password/api/${api}/token`,
    key: ownKey,
  });
  const { body } = await ownBound(server.host, {
    pair: { api },
    proofs: [proof],
    fields: { scope: `${api}:read` },
  });
  return (body as { access_token: string }).access_token;
}

async function metadataOf(api: RemoteApi): Promise<unknown> {
  return (await request(api.app).get("/.well-known/oauth-protected-resource/orders")).body;
}

function call(api: RemoteApi, { path, token, url }: { path: string; token: string; url?: string }) {
  const proof = proofOf({ url: url ?? `https://api.example${path}`, token, key: ownKey });
  return request(api.app)
    .get(path)
    .set({ Authorization: `DPoP ${token}`, DPoP: proof });
}

describe("bound tokens at an API apart from the authorization server (RFC 9449 §7, 7662 §2.2)", () => {
  it.each<["orders" | "reports", string]>([
    ["orders", "a JWT"],
    ["reports", "an opaque token, by cnf of its introspection"],
  ])("pass at %s, as %s", async (path) => {
    const api = boundApi();
    const token = await boundToken(path);
    expect(await call(api, { path: `/${path}`, token })).toMatchObject({
      status: 200,
      body: { clientId: "web" },
    });
    const asBearer = await request(api.app).get(`/${path}`).auth(token, { type: "bearer" });
    expect([asBearer.status, api.events.at(-1)]).toMatchObject([401, { code: "access-token-without-proof" }]);
    const elsewhere = await call(api, { path: `/${path}`, token, url: `${server.origin}/${path}` });
    expect([elsewhere.status, api.events.at(-1)]).toMatchObject([401, { code: "proof-htu-wrong" }]);
  });

  it("pass as JWTs without introspection", async () => {
    const api = remoteApi(server, {
      apis: { orders: { ...orders, dpop: {} } },
    });
    expect((await call(api, { path: "/orders", token: await boundToken("orders") })).status).toBe(200);
  });

  it("are refused where the API apart does not have dpop", async () => {
    const api = remoteApi(server, { introspection });
    for (const path of ["orders", "reports"] as const) {
      const token = await boundToken(path);
      const answer = await request(api.app).get(`/${path}`).auth(token, { type: "bearer" });
      expect([answer.status, api.events.at(-1)]).toMatchObject([401, { code: "access-token-bound" }]);
      expect(await call(api, { path: `/${path}`, token })).toMatchObject({ status: 401 });
    }
  });

  it("are the only ones where they are required", async () => {
    const api = boundApi({ tokens: "required" });
    const { body } = await postBound(server.host, {
      client: "web",
      fields: { grant_type: "client_credentials", scope: "orders:read" },
    });
    const token = (body as { access_token: string }).access_token;
    const answer = await request(api.app).get("/orders").auth(token, { type: "bearer" });
    expect([answer.status, api.events.at(-1)]).toMatchObject([401, { code: "access-token-must-be-bound" }]);
    expect(answer.headers["www-authenticate"]).toMatch(/^DPoP realm=/);
    expect((await call(api, { path: "/orders", token: await boundToken("orders") })).status).toBe(200);
  });

  it("have their URLs below publicUrl", async () => {
    const api = boundApi({ publicUrl: "https://public.example/api" });
    const token = await boundToken("orders");
    const url = "https://public.example/api/orders";
    expect((await call(api, { path: "/orders", token, url })).status).toBe(200);
    expect((await call(api, { path: "/orders", token })).status).toBe(401);
  });

  it("are told of in the metadata of the API (RFC 9728 §2)", async () => {
    const algorithms = ["ES256", "EdDSA", "Ed25519", "PS256"];
    expect(await metadataOf(boundApi())).toMatchObject({
      dpop_signing_alg_values_supported: algorithms,
      dpop_bound_access_tokens_required: false,
    });
    expect(await metadataOf(boundApi({ tokens: "required" }))).toMatchObject({
      dpop_signing_alg_values_supported: algorithms,
      dpop_bound_access_tokens_required: true,
    });
    expect(Object.keys((await metadataOf(remoteApi(server))) as object).join()).not.toContain("dpop");
  });
});

/** What is said of the option; `undefined` when it is right. */
function problemOf(dpop: unknown): string | undefined {
  try {
    checkResourceServerOptions({
      baseUrl: "https://host.example",
      apis: { orders: { ...orders, dpop } },
    } as never);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

describe("the option dpop of createResourceServer", () => {
  const at = "createResourceServer: apis.orders.dpop";

  it.each<[unknown, string | undefined]>([
    [{}, undefined],
    [{ tokens: "optional" }, undefined],
    [{ tokens: "required", publicUrl: "https://public.example/api" }, undefined],
    [{ publicUrl: "http://localhost:3000" }, undefined],
    [true, `${at} must be an object. Write {}, or an object with any of tokens and publicUrl.`],
    [{ token: "required" }, `${at}.token is not an option. Known options: tokens, publicUrl.`],
    [{ tokens: undefined }, `${at}.tokens is undefined. Leave the key out, or write a value.`],
    [{ tokens: "Required" }, `${at}.tokens`],
    [{ publicUrl: "https://public.example/" }, `${at}.publicUrl ends with a slash.`],
    [{ publicUrl: "http://public.example" }, `${at}.publicUrl must be https.`],
    [{ publicUrl: "https://public.example?a" }, `${at}.publicUrl must have neither query nor fragment.`],
    [{ publicUrl: "" }, `${at}.publicUrl`],
  ])("%j: %s", (dpop, problem) => {
    const found = problemOf(dpop);
    if (problem === undefined) expect(found).toBeUndefined();
    else expect(found).toContain(problem);
  });
});
