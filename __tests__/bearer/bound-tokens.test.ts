import { createPublicKey } from "node:crypto";
import express, { type Express } from "express";
import { protectRoutes, type RouteProtection } from "../../lib/bearer/protect-routes";
import { thumbprintOf } from "../../lib/clients/verify-proof";
import type { NewEvent } from "../../lib/events/port";
import { dpopOnDemand } from "../../lib/on-demand";
import type { AccessToken } from "../../lib/protocol/access-token";
import type { Api } from "../../lib/protocol/issuer";
import { stopClockForEachTest } from "../hosts/clock";
import { accessTokenRecord, apiRecord } from "../records/records";
import { type ProofChanges, proofKeys, proofOf } from "../requests/dpop-proofs";
import { type RawRequest, rawRequest } from "../requests/raw-request";

const clock = stopClockForEachTest();

const boundKey = thumbprintOf(createPublicKey(proofKeys.ES256));
const tokens: Readonly<Record<string, AccessToken>> = {
  bound: accessTokenRecord({ tokenId: "bound", scopes: ["orders:read"], boundKey }),
  twin: accessTokenRecord({ tokenId: "twin", scopes: ["orders:read"], boundKey }),
  other: accessTokenRecord({ tokenId: "other", boundKey: thumbprintOf(createPublicKey(proofKeys.EdDSA)) }),
  unbound: accessTokenRecord({ tokenId: "unbound", scopes: ["orders:read"] }),
};

interface Guarded {
  readonly app: Express;
  readonly auth: RouteProtection;
  readonly events: NewEvent[];
}

/** An app with one API, `/orders`, whose audience is `https://api.example/orders`. */
function guarded(dpop?: Api["dpop"]): Guarded {
  const events: NewEvent[] = [];
  const api = apiRecord(dpop && { dpop });
  const auth = protectRoutes({
    apis: [
      {
        api,
        dpop: dpopOnDemand(() => clock.now())(api),
        verify: (token) => {
          const accessToken = tokens[token];
          return Promise.resolve(
            accessToken
              ? { kind: "valid", accessToken }
              : { kind: "invalid", code: "token-unknown", reason: "unknown" },
          );
        },
      },
    ],
    emit: (event) => void events.push(event),
    clock: () => clock.now(),
  });
  const app = express();
  app.get("/orders/changes", auth.requireBearer({ api: "orders", scope: "orders:write" }), (_, res) => {
    res.json({ tokenId: "changes" });
  });
  app.all("/{*path}", auth.requireBearer({ api: "orders" }), (req, res) => {
    res.json({ tokenId: auth.accessToken(req).tokenId, mcp: auth.mcpAuth(req).token });
  });
  return { app, auth, events };
}

const url = "https://api.example/orders";

interface Sent extends Partial<RawRequest> {
  readonly token?: string;
  readonly proof?: string | readonly string[];
  /** What is different from a good proof. */
  readonly bent?: ProofChanges;
}

/** Sends a bound token as a client would, unless told otherwise. */
async function send(
  { app, events }: Guarded,
  {
    token = "bound",
    bent,
    proof = proofOf({ url, token, ...bent }),
    headers,
    path = "/orders",
    ...others
  }: Sent = {},
) {
  const sent = headers ?? { Authorization: `DPoP ${token}`, DPoP: proof };
  const { status, headers: got, text } = await rawRequest(app, { path, headers: sent, ...others });
  const last = events.at(-1);
  return {
    status,
    challenge: got["www-authenticate"],
    code: status < 400 ? undefined : last && "code" in last ? last.code : "none",
    body: text === "" ? undefined : (JSON.parse(text) as { error?: string; tokenId?: string; mcp?: string }),
  };
}

const place =
  'realm="https://api.example/orders", resource_metadata="https://api.example/.well-known/oauth-protected-resource/orders"';
const algs = 'algs="ES256 EdDSA Ed25519 PS256"';
const described = {
  invalid_token:
    'error="invalid_token", error_description="The access token is invalid, expired or revoked."',
  invalid_dpop_proof:
    'error="invalid_dpop_proof", error_description="The DPoP proof is missing, invalid or was used before."',
  invalid_request: 'error="invalid_request", error_description="The request\'s access token is malformed."',
  insufficient_scope:
    'error="insufficient_scope", error_description="The access token lacks a scope.", scope="orders:write"',
};

describe("tokens that are bound to a key (RFC 9449 §7.1)", () => {
  it("pass with a proof of the key", async () => {
    const host = guarded({ required: false });
    expect(await send(host)).toMatchObject({ status: 200, body: { tokenId: "bound", mcp: "bound" } });
    expect(host.events).toEqual([]);
  });

  it.each(["DPoP", "dpop", "DPOP"])("pass with the scheme written %s", async (scheme) => {
    const headers = { Authorization: `${scheme} bound`, dpop: proofOf({ url, token: "bound" }) };
    expect(await send(guarded({ required: false }), { headers })).toMatchObject({ status: 200 });
  });

  it("leave other tokens as they are", async () => {
    const headers = { Authorization: "Bearer unbound" };
    expect(await send(guarded({ required: false }), { headers })).toMatchObject({
      status: 200,
      body: { tokenId: "unbound" },
    });
  });

  it.each<[string, Sent, string, keyof typeof described]>([
    ["without a proof", { headers: { Authorization: "DPoP bound" } }, "proof-missing", "invalid_dpop_proof"],
    ["with an empty proof", { proof: "" }, "proof-not-a-jwt", "invalid_dpop_proof"],
    [
      "with two proofs",
      { proof: [proofOf({ url, token: "bound" }), proofOf({ url, token: "bound" })] },
      "proof-several-headers",
      "invalid_dpop_proof",
    ],
    ["with a proof for another token", { bent: { token: "x" } }, "proof-ath-wrong", "invalid_dpop_proof"],
    [
      "with a proof for no token, as for the token endpoint",
      { bent: { claims: { ath: undefined } } },
      "proof-ath-wrong",
      "invalid_dpop_proof",
    ],
    ["with a proof for another route", { path: "/orders/7" }, "proof-htu-wrong", "invalid_dpop_proof"],
    ["with a proof for another method", { method: "POST" }, "proof-htm-wrong", "invalid_dpop_proof"],
    ["with a proof of another key", { token: "other" }, "proof-of-another-key", "invalid_token"],
    ["that are not bound", { token: "unbound" }, "access-token-not-bound", "invalid_token"],
    ["that are unknown", { token: "nothing" }, "token-unknown", "invalid_token"],
    [
      "that are malformed",
      { headers: { Authorization: "DPoP" } },
      "bearer-header-malformed",
      "invalid_request",
    ],
  ])("are refused %s", async (_, sent, code, error) => {
    const answer = await send(guarded({ required: false }), sent);
    expect(answer).toMatchObject({ status: error === "invalid_request" ? 400 : 401, code, body: { error } });
    expect(answer.challenge).toBe(`Bearer ${place}, DPoP ${algs}, ${described[error]}`);
  });

  it("are refused as Bearer, be there a proof or not", async () => {
    for (const headers of [
      { Authorization: "Bearer bound" },
      { Authorization: "Bearer bound", DPoP: proofOf({ url, token: "bound" }) },
    ])
      expect(await send(guarded({ required: false }), { headers })).toMatchObject({
        status: 401,
        code: "access-token-without-proof",
        challenge: `Bearer ${place}, ${described.invalid_token}, DPoP ${algs}`,
      });
  });

  it("are told of in the event, so that the host sees whose token is in other hands", async () => {
    const host = guarded({ required: false });
    await send(host, { headers: { Authorization: "Bearer bound" } });
    expect(host.events).toMatchObject([
      { kind: "bearer-refused", apiId: "orders", clientId: "web", subject: "alice" },
    ]);
  });

  it("are asked for by both schemes where there is no token", async () => {
    const challenge = `Bearer ${place}, DPoP ${algs}`;
    expect(await send(guarded({ required: false }), { headers: {} })).toMatchObject({
      status: 401,
      challenge,
    });
    const changes = { headers: {}, path: "/orders/changes" };
    expect(await send(guarded({ required: false }), changes)).toMatchObject({
      status: 401,
      challenge: `Bearer ${place}, scope="orders:write", DPoP ${algs}`,
    });
  });

  it("are refused for their scopes after the proof is checked", async () => {
    const [path, changes] = ["/orders/changes", `${url}/changes`];
    expect(await send(guarded({ required: false }), { path })).toMatchObject({
      status: 401,
      code: "proof-htu-wrong",
    });
    expect(
      await send(guarded({ required: false }), { path, proof: proofOf({ url: changes, token: "bound" }) }),
    ).toMatchObject({
      status: 403,
      challenge: `Bearer ${place}, DPoP ${algs}, ${described.insufficient_scope}`,
    });
  });

  it("are refused by auth.challenge at the scheme that was used", async () => {
    const { auth, app } = guarded({ required: false });
    const outer = express().get("/orders", auth.requireBearer({ api: "orders" }), (req, res) =>
      auth.challenge(req, res, { api: "orders", scope: "orders:write" }),
    );
    const { challenge, status } = await send({ app: outer.use(app), auth, events: [] });
    expect([status, challenge]).toEqual([
      403,
      `Bearer ${place}, DPoP ${algs}, ${described.insufficient_scope}`,
    ]);
  });
});

describe("a proof (RFC 9449 §4.3, §11.1)", () => {
  it("counts once in this process, at every route of the server", async () => {
    const host = guarded({ required: false });
    const proof = proofOf({ url, token: "bound" });
    expect([(await send(host, { proof })).code, (await send(host, { proof })).code]).toEqual([
      undefined,
      "proof-used-before",
    ]);
    // another process has not seen it: this is per process, and the documentation says so
    expect((await send(guarded({ required: false }), { proof })).status).toBe(200);
  });

  it("counts when the token then lacks a scope", async () => {
    const host = guarded({ required: false });
    const sent = { path: "/orders/changes", proof: proofOf({ url: `${url}/changes`, token: "bound" }) };
    expect([(await send(host, sent)).status, (await send(host, sent)).code]).toEqual([
      403,
      "proof-used-before",
    ]);
  });

  it("does not count when it was refused: a guesser uses up no proof of the client", async () => {
    const host = guarded({ required: false });
    const proof = proofOf({ url, token: "bound", claims: { jti: "one" } });
    const forged = proofOf({ url, token: "other", claims: { jti: "one" } });
    expect((await send(host, { token: "other", proof: forged })).code).toBe("proof-of-another-key");
    expect((await send(host, { token: "nothing", proof })).code).toBe("token-unknown");
    expect((await send(host, { path: "/orders/7", proof })).code).toBe("proof-htu-wrong");
    expect((await send(host, { proof })).status).toBe(200);
  });

  it("counts once when it comes twice at the same time", async () => {
    const host = guarded({ required: false });
    const proof = proofOf({ url, token: "bound" });
    const answers = await Promise.all([1, 2, 3].map(() => send(host, { proof })));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  });

  it("is for one token, also of the same key", async () => {
    const proof = proofOf({ url, token: "bound" });
    expect(await send(guarded({ required: false }), { token: "twin", proof })).toMatchObject({
      status: 401,
      code: "proof-ath-wrong",
    });
  });
});

describe("an API that requires bound tokens (RFC 9449 §7.1)", () => {
  it("takes no other ones, and challenges for DPoP alone", async () => {
    const host = guarded({ required: true });
    expect(await send(host)).toMatchObject({ status: 200 });
    expect(await send(host, { headers: { Authorization: "Bearer unbound" } })).toMatchObject({
      status: 401,
      code: "access-token-must-be-bound",
      challenge: `DPoP ${place}, ${algs}, ${described.invalid_token}`,
    });
    expect(await send(host, { token: "unbound" })).toMatchObject({ code: "access-token-must-be-bound" });
    expect(await send(host, { headers: { Authorization: "Bearer bound" } })).toMatchObject({
      code: "access-token-without-proof",
    });
    expect(await send(host, { headers: {} })).toMatchObject({
      status: 401,
      challenge: `DPoP ${place}, ${algs}`,
    });
  });
});

describe("an API without dpop (RFC 9449 §7.2)", () => {
  it("refuses bound tokens: whoever sends them proves nothing here", async () => {
    const headers = { Authorization: "Bearer bound", DPoP: proofOf({ url, token: "bound" }) };
    expect(await send(guarded(), { headers })).toMatchObject({
      status: 401,
      code: "access-token-bound",
      challenge: `Bearer ${place}, ${described.invalid_token}`,
    });
  });

  it("knows no scheme DPoP", async () => {
    expect(await send(guarded())).toMatchObject({
      status: 401,
      code: "no-access-token",
      challenge: `Bearer ${place}`,
    });
  });

  it("ignores the DPoP header", async () => {
    const headers = { Authorization: "Bearer unbound", DPoP: "nonsense" };
    expect(await send(guarded(), { headers })).toMatchObject({ status: 200 });
  });
});

interface Called {
  readonly path: string;
  readonly proofUrl: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Why a request to this path is refused, with a proof for a URL. */
async function codeAt(host: Guarded, { path, proofUrl, headers }: Called): Promise<string | undefined> {
  const proof = proofOf({ url: proofUrl, token: "bound" });
  const sent = { Authorization: "DPoP bound", DPoP: proof, ...headers };
  return (await send(host, { path, headers: sent })).code;
}

describe("the URL of a request to an API (RFC 9449 §4.3)", () => {
  it("is at the origin of the audience, whatever the request says of itself", async () => {
    const host = guarded({ required: false });
    const forwarded = {
      Host: "evil.example",
      "X-Forwarded-Host": "evil.example",
      Forwarded: "host=evil.example",
    };
    expect(await codeAt(host, { path: "/orders", proofUrl: url, headers: forwarded })).toBeUndefined();
    expect(
      await codeAt(host, { path: "/orders", proofUrl: "https://evil.example/orders", headers: forwarded }),
    ).toBe("proof-htu-wrong");
    expect(await codeAt(host, { path: "http://evil.example/orders", proofUrl: url })).toBeUndefined();
    expect(
      await codeAt(host, { path: "http://evil.example/orders", proofUrl: "http://evil.example/orders" }),
    ).toBe("proof-htu-wrong");
  });

  it("has its own slashes: %2F is none", async () => {
    const host = guarded({ required: false });
    expect(await codeAt(host, { path: "/orders/a%2Fb?x=1", proofUrl: `${url}/a%2fb` })).toBeUndefined();
    expect(await codeAt(host, { path: "/orders/a%2Fb", proofUrl: `${url}/a/b` })).toBe("proof-htu-wrong");
    expect(await codeAt(host, { path: "/orders/a/b", proofUrl: `${url}/a%2Fb` })).toBe("proof-htu-wrong");
  });

  it.each(["/x/../orders", "/x/%2E%2e/orders", "/./orders", "/orders/.", "/x/..\\orders", "/x\\..\\orders"])(
    "is %s as routes see it: a proof for where it would lead is for another request",
    async (path) => {
      const host = guarded({ required: false });
      for (const proofUrl of [`https://api.example${path}`, url, `${url}/`])
        expect([proofUrl, await codeAt(host, { path, proofUrl })]).toEqual([proofUrl, "proof-htu-wrong"]);
    },
  );

  it("may have names with dots", async () => {
    const host = guarded({ required: false });
    for (const path of ["/orders/.hidden", "/orders/..a", "/orders/a.", "/orders/...", "/.well-known/x"])
      expect([path, await codeAt(host, { path, proofUrl: `https://api.example${path}` })]).toEqual([
        path,
        undefined,
      ]);
  });

  it("never has a path that becomes a part of the host", async () => {
    for (const path of ["//evil.example/orders", "/@evil.example/orders", "/\\evil.example/orders"]) {
      const host = guarded({ required: false });
      expect([path, await codeAt(host, { path, proofUrl: "https://evil.example/orders" })]).toEqual([
        path,
        "proof-htu-wrong",
      ]);
    }
  });

  it("has a slash after the host, whatever a proxy or a function platform makes of the path", () => {
    const guard = dpopOnDemand(() => clock.now())(apiRecord({ dpop: { required: false } }));
    const codeOf = (originalUrl: string, proofUrl: string): string | undefined => {
      const rawHeaders = ["DPoP", proofOf({ url: proofUrl, token: "bound" })];
      const req = { method: "GET", originalUrl, rawHeaders } as never;
      const accessToken = tokens["bound"] as AccessToken;
      return guard?.refusalOf({ req, scheme: "DPoP", token: "bound", accessToken })?.code;
    };
    expect(codeOf("@evil.example/orders", "https://evil.example/orders")).toBe("proof-htu-wrong");
    expect(codeOf(".evil.example/orders", "https://api.example.evil.example/orders")).toBe("proof-htu-wrong");
    expect(codeOf("orders", url)).toBeUndefined();
  });

  it("is below publicUrl where a proxy adds or removes a path", async () => {
    const host = guarded({ required: false, publicUrl: "https://public.example/v1" });
    expect(
      await codeAt(host, { path: "/orders", proofUrl: "https://public.example/v1/orders" }),
    ).toBeUndefined();
    expect(await codeAt(host, { path: "/orders", proofUrl: url })).toBe("proof-htu-wrong");
    expect(await codeAt(host, { path: "/orders", proofUrl: "https://public.example/orders" })).toBe(
      "proof-htu-wrong",
    );
  });

  it("has the path at which the host has mounted its routers", async () => {
    const host = guarded({ required: false });
    const mounted = express().use("/v2/inner", host.app);
    const whole = { ...host, app: express().use("/outer", mounted) };
    expect(
      await codeAt(whole, {
        path: "/outer/v2/inner/orders",
        proofUrl: "https://api.example/outer/v2/inner/orders",
      }),
    ).toBeUndefined();
    expect(await codeAt(whole, { path: "/outer/v2/inner/orders", proofUrl: url })).toBe("proof-htu-wrong");
  });
});
