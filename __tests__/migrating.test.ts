/** The code of docs/migrating.md, taken from the page and run. */
import type { RequestHandler } from "express";
import { baseUrl } from "./hosts/apis";
import { runBlock } from "./sources/doc-block";
import { type TestHost, testHost } from "./hosts/host";
import { callApi, obtainTokens } from "./browser/journey";

const requireOldToken: RequestHandler = (req, res) => {
  res.status(req.headers.authorization === "Bearer an-old-token" ? 200 : 401).json({ by: "the old server" });
};

function bothServers(): TestHost {
  const host = testHost();
  const page = { page: "migrating.md", heading: "Both side by side" };
  const { requireEither } = runBlock(page, { baseUrl, auth: host.auth, requireOldToken });
  host.app.get("/both", requireEither as RequestHandler, (req, res) => void res.json(req.auth));
  return host;
}

describe("migrating: an API that takes the tokens of both servers", () => {
  it("takes a token of ours", async () => {
    const host = bothServers();
    const { access_token } = await obtainTokens(host, { client: "web" });
    expect((await callApi(host, "/both", access_token)).body).toMatchObject({ subject: "alice" });
  });

  it("takes a token of the old server", async () => {
    const answer = await callApi(bothServers(), "/both", "an-old-token");
    expect(answer).toMatchObject({ status: 200, body: { by: "the old server" } });
  });

  it("does not believe a label", async () => {
    const payload = Buffer.from(JSON.stringify({ iss: `${baseUrl}/auth/password/api/orders` }));
    const answer = await callApi(bothServers(), "/both", `e30.${payload.toString("base64url")}.e30`);
    expect(answer.status).toBe(401);
    expect(answer.headers["www-authenticate"]).toContain('error="invalid_token"');
  });
});
