// For each ECDSA signature (r, s) there is a second one, (r, n - s), that anybody can compute. Nothing is gained by it: what is
// remembered goes by the text of a token, and what is revoked by its jti.
import request from "supertest";
import { credentials } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { testHost } from "../hosts/host";
import { callApi, obtainTokens } from "../browser/journey";

/** The order of the curve P-256. */
const n = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;

function twinOf(token: string): string {
  const [header, payload, signature = ""] = token.split(".");
  const bytes = Buffer.from(signature, "base64url");
  const s = n - BigInt(`0x${bytes.subarray(32).toString("hex")}`);
  const twin = Buffer.concat([bytes.subarray(0, 32), Buffer.from(s.toString(16).padStart(64, "0"), "hex")]);
  return [header, payload, twin.toString("base64url")].join(".");
}

stopClockForEachTest();

describe("the second signature of a token (RFC 7515 §5.2, 7009 §2)", () => {
  it("is as good as the first, and ends with it", async () => {
    const host = testHost({ revocationLagSeconds: 0 });
    const { access_token: token } = await obtainTokens(host, { client: "web" });
    const twin = twinOf(token);
    expect(twin).not.toBe(token);
    expect((await callApi(host, "/orders", twin)).status).toBe(200);
    const form = { ...credentials("web"), token };
    await request(host.app).post("/login/auth/password/api/orders/revoke").type("form").send(form);
    expect((await callApi(host, "/orders", token)).status).toBe(401);
    expect((await callApi(host, "/orders", twin)).status).toBe(401);
  });
});
