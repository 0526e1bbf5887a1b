import request, { type Response } from "supertest";
import { redirectParameters } from "../browser/authorize";
import { authorizationParameters } from "../browser/authorization-request";
import { encode, type Fields } from "../browser/browser";
import { origin, pairPath } from "../hosts/apis";
import { credentials, clients } from "../hosts/clients";
import { testHost, type TestHost } from "../hosts/host";
import {
  boundApis,
  claimsOf,
  otherKey,
  ownKey,
  ownThumbprint,
  redeemBound,
  tokenProof,
} from "../requests/bound-requests";
import { proofOf } from "../requests/dpop-proofs";
import { visitPushed } from "../requests/pushed-requests";

const par = `${pairPath()}/par`;

/** A host that binds tokens to keys and takes pushed requests; its client is trusted. */
function boundPushHost(tokens: "optional" | "required" = "optional"): TestHost {
  const { orders, ...others } = boundApis({ tokens });
  return testHost({
    apis: { ...others, ...(orders && { orders: { ...orders, pushedRequests: "optional" } }) },
    clients: [{ ...clients.web, trusted: true }],
  });
}

const proofAt = (path: string, key = ownKey): string => proofOf({ method: "POST", url: origin + path, key });

/** POST par with this proof. */
async function pushWith(
  host: TestHost,
  { proof, fields = {} }: { proof?: string; fields?: Fields } = {},
): Promise<Response> {
  const sent = request(host.app).post(par).type("form");
  if (proof !== undefined) void sent.set("DPoP", proof);
  return sent.send(encode({ ...authorizationParameters("web"), ...credentials("web"), ...fields }));
}

/** The code of a visit by what was pushed. */
async function codeOf(host: TestHost, { body }: Response): Promise<string> {
  const { request_uri: uri } = body as { request_uri: string };
  return redirectParameters(await visitPushed(host.browser(), { uri }))["code"] ?? "";
}

describe("a proof with a pushed request (RFC 9449 §10.1)", () => {
  // made when they are sent: a proof is good for a minute
  it.each<[string, () => { proof?: string; fields?: Fields }]>([
    ["by the proof", () => ({ proof: proofAt(par) })],
    ["by dpop_jkt", () => ({ fields: { dpop_jkt: ownThumbprint } })],
    ["by both", () => ({ proof: proofAt(par), fields: { dpop_jkt: ownThumbprint } })],
  ])("binds the code to the key %s", async (_, made) => {
    const host = boundPushHost();
    const code = await codeOf(host, await pushWith(host, made()));
    for (const attempt of [{}, { key: otherKey }])
      expect((await redeemBound(host, { client: "web", code, ...attempt })).body).toMatchObject({
        error: "invalid_grant",
      });
    const { body } = await redeemBound(host, { client: "web", code, key: ownKey });
    const { access_token: token } = body as { access_token: string };
    expect(claimsOf(token)["cnf"]).toEqual({ jkt: ownThumbprint });
  });

  it.each<[string, () => { proof: string; fields?: Fields }, string]>([
    [
      "of another key than dpop_jkt",
      () => ({ proof: proofAt(par, otherKey), fields: { dpop_jkt: ownThumbprint } }),
      "dpop-jkt-of-another-key",
    ],
    ["for the token endpoint", () => ({ proof: tokenProof() }), "proof-htu-wrong"],
    ["that is no proof", () => ({ proof: "x" }), "proof-not-a-jwt"],
  ])("is refused where it is %s", async (_, made, code) => {
    const host = boundPushHost();
    const { status, body } = await pushWith(host, made());
    expect([status, body]).toEqual([400, expect.objectContaining({ error: "invalid_dpop_proof" })]);
    expect(host.events.at(-1)).toMatchObject({ kind: "push-refused", code });
  });

  it("may be left out where tokens must be bound: the exchange binds them", async () => {
    const host = boundPushHost("required");
    const code = await codeOf(host, await pushWith(host));
    const { body } = await redeemBound(host, { client: "web", code, key: ownKey });
    expect(body).toMatchObject({ token_type: "DPoP" });
  });
});
