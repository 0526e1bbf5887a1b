/** Hardened processes, `--disallow-code-generation-from-strings`: schemas are compiled when the package is built. */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { buildOnce } from "../../__tests__/servers/build-once";
import { hostFolder, jsonOf, optionsModule } from "../../__tests__/servers/command-line";

const repository = path.resolve(__dirname, "../..");
const hardened = "--disallow-code-generation-from-strings";

/** Starts a host, signs in at it, and calls two APIs, one of them elsewhere; then tries what is refused. */
const program = `
  const assert = require("node:assert");
  const { createAuthServer, generateClientKey, generateClientSecret, generateSigningKey, memoryStorage } = require("authmount");
  const { createResourceServer } = require("authmount/resource-server");
  const { testSignIn, testTokens } = require("authmount/testing");
  const express = require("express");
  assert.throws(() => Function("return 1"), EvalError);
  (async () => {
    const app = express();
    const server = app.listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    const origin = "http://127.0.0.1:" + server.address().port;
    const audience = origin + "/orders";
    const { secret, digest } = generateClientSecret();
    const subscriptions = { orders: { trusted: true } };
    const client = { clientId: "app", name: "App", redirectUris: ["http://127.0.0.1/cb"], subscriptions };
    const storage = memoryStorage({ clients: [
      { ...client, confidential: false, platform: "native" },
      { ...client, clientId: "job", confidential: true, secretDigests: [digest] },
      { ...client, clientId: "key", confidential: true, jwks: generateClientKey().jwks },
    ] });
    const fake = testSignIn();
    fake.signIn("anna");
    const options = {
      baseUrl: origin + "/login", storage, secrets: ["s".repeat(32)], signingKeys: [generateSigningKey()],
      authMethods: { password: fake.authMethod },
      apis: { orders: { audience, authMethods: ["password"], scopes: { read: "Read" } } },
    };
    const auth = createAuthServer(options);
    app.use("/login", auth.router);
    app.use(auth.wellKnown);
    app.get("/orders", auth.requireBearer({ api: "orders", scope: "read" }), (req, res) => res.json(auth.accessToken(req).subject));
    const api = createResourceServer({
      baseUrl: origin + "/login", apis: { orders: { audience, scopes: ["read"] } }, introspection: { clientId: "job", clientSecret: secret },
    });
    app.get("/elsewhere", api.requireBearer({ api: "orders", scope: "read" }), (req, res) => res.json(api.accessToken(req).subject));

    const issuer = origin + "/login/auth/password/api/orders";
    const verifier = "v".repeat(43);
    const challenge = require("node:crypto").createHash("sha256").update(verifier).digest("base64url");
    const redirect_uri = "http://127.0.0.1:9/cb";
    const query = new URLSearchParams({ response_type: "code", client_id: "app", redirect_uri, scope: "read", state: "s", code_challenge: challenge, code_challenge_method: "S256" });
    const visit = await fetch(issuer + "/authorize?" + query, { redirect: "manual" });
    const code = new URL(visit.headers.get("location")).searchParams.get("code");
    const form = { grant_type: "authorization_code", code, redirect_uri, client_id: "app", code_verifier: verifier };
    const answer = await fetch(issuer + "/token", { method: "POST", body: new URLSearchParams(form) });
    const { access_token } = await answer.json();
    const calls = [access_token, await testTokens(options).issue({ api: "orders", client: "app", scope: "read", subject: "anna" })].flatMap((token) =>
      ["/orders", "/elsewhere"].map((route) => fetch(origin + route, { headers: { authorization: "Bearer " + token } })));
    for (const call of await Promise.all(calls)) console.log(call.status, await call.text());
    const refused = (run) => { try { run(); } catch (error) { console.log(error.message); } };
    refused(() => createAuthServer({ ...options, apis: { orders: { ...options.apis.orders, scopes: { read: "" } } } }));
    refused(() => createAuthServer({ ...options, consent: {} }));
    refused(() => memoryStorage({ clients: [{ ...client, confidential: false, platform: "phone" }] }));
    refused(() => createResourceServer({ baseUrl: origin, apis: {} }));
    server.close();
    server.closeAllConnections();
  })();
`;

describe(`a process with ${hardened}`, () => {
  beforeAll(buildOnce);

  // Express 4 does not start with it
  it("serves a whole flow, and says what is wrong with options", () => {
    const args = [hardened, "--no-warnings", "-e", program];
    const printed = execFileSync(process.execPath, args, { cwd: repository, encoding: "utf8" });
    expect(printed.trim().split("\n")).toEqual([
      ...Array<string>(4).fill('200 "anna"'),
      "createAuthServer: apis.orders.scopes.read must not be empty. Write the sentence that people read, or a sentence for each language.",
      "createAuthServer: consent lacks the method decide. Write a ConsentAdapter: { decide(request) { … } }.",
      'client "app": platform must be one of native, browser.',
      "createResourceServer: apis must not be empty. Write at least one API: { orders: { audience, scopes } }.",
    ]);
  });

  it("runs authmount check", async () => {
    const host = await hostFolder();
    await host.write("checked.mjs", optionsModule());
    const ended = await host.run(["check", "checked.mjs", "--json"], { env: { NODE_OPTIONS: hardened } });
    expect(jsonOf(ended)).toMatchObject({ problems: [] });
    await host.remove();
  });
});

it("nothing in the package loads a compiler of schemas", () => {
  buildOnce();
  const dist = path.join(repository, "dist");
  const files = readdirSync(dist, { recursive: true, encoding: "utf8" }).filter((name) =>
    /\.(js|d\.ts)$/.test(name),
  );
  const loads = files.filter((name) => /["']ajv\b/.test(readFileSync(path.join(dist, name), "utf8")));
  expect(loads).toEqual([]);
});
