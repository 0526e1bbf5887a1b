/** Everything that clients, end users and attackers ask of a host, for a search of what it lets out. */
import request from "supertest";
import { issuer, type Pair, pairPath } from "../hosts/apis";
import { codeVerifier } from "../browser/authorization-request";
import { authorize, redirectParameters } from "../browser/authorize";
import { encode, type Fields, formFields } from "../browser/browser";
import {
  apiPath,
  basic,
  forCredentials,
  humanSecret,
  pairs,
  post,
  tokenPath,
  type World,
} from "../hosts/canary-host";
import { ownKey } from "../requests/bound-requests";
import { assertionOf, presenting } from "../requests/client-assertions";
import { redeem, refresh } from "../requests/client-requests";
import { type ClientName, credentials, machineSecret, otherSecret, webSecret } from "../hosts/clients";
import { stopClock } from "../hosts/clock";
import { signedIn, signedOut } from "../hosts/host";
import { callApi, obtainCode, obtainTokens, type Tokens } from "../browser/journey";
import { type ProofChanges, proofOf } from "../requests/dpop-proofs";
import { askForDevice, type DeviceCodes, poll, typeCode } from "../requests/device-requests";
import { push, visitPushed } from "../requests/pushed-requests";
import { codeFor, redeemAs, register, registered, webMetadata } from "../requests/registration";

/** The whole life of an authorization; stops early where the server refuses. */
async function journey(world: World, { client, pair }: { client: ClientName; pair: Pair }): Promise<void> {
  const code = await obtainCode(world, { client, pair });
  const tokens = (await redeem(world, { client, code, pair })).body as Partial<Tokens>;
  await callApi(world, apiPath(pair), tokens.access_token ?? world.canary());
  if (tokens.refresh_token === undefined) return;
  const again = await refresh(world, { client, pair, refreshToken: tokens.refresh_token });
  await callApi(world, apiPath(pair), (again.body as Partial<Tokens>).access_token ?? world.canary());
}

/** Assertions of a client with a key: a good one, the same again, and wrong ones. */
async function assert(world: World): Promise<void> {
  const good = assertionOf({ claims: { jti: world.canary() } });
  const wrong = [
    { claims: { aud: world.canary() } },
    { claims: { iss: world.canary() } },
    { header: { kid: world.canary() } },
    { header: { typ: world.canary() } },
  ];
  for (const assertion of [good, good, ...wrong.map(assertionOf)]) {
    world.secrets.mark("client assertion", assertion.split(".").at(-1) ?? "");
    const fields = { grant_type: "client_credentials", ...presenting(assertion) };
    await post(world, { path: tokenPath, fields });
  }
}

/** A client registers itself, and gets tokens. */
async function registration(world: World): Promise<void> {
  const client = await registered(world, webMetadata);
  world.secrets.mark("client secret", client.client_secret ?? world.canary());
  const { body } = await redeemAs(world, client, await codeFor(world, client));
  await callApi(world, apiPath({}), (body as Partial<Tokens>).access_token ?? world.canary());
  await register(world, { ...webMetadata, redirect_uris: [`javascript:${world.canary()}`] });
}

/** A proof for this request; its signature must not come out anywhere. */
function proofFor(world: World, changes: ProofChanges): string {
  const proof = proofOf({ key: ownKey, ...changes });
  world.secrets.mark("proof", proof.split(".").at(-1) ?? "");
  return proof;
}

/** A request that is pushed, used twice, and leads to a token that is bound to a key; and what is refused beside it. */
async function pushedAndBound(world: World): Promise<void> {
  const proven = (endpoint: string): Record<string, string> => ({
    DPoP: proofFor(world, { method: "POST", url: `${issuer}/${endpoint}` }),
  });
  const { body } = await push(world, { headers: proven("par") });
  const uri = (body as { request_uri?: string }).request_uri ?? world.canary();
  const page = await visitPushed(world.browser(), { uri });
  const code = redirectParameters(page)["code"] ?? world.canary();
  await visitPushed(world.browser(), { uri });
  await visitPushed(world.browser(), { uri: `${uri}x` });
  const grant = {
    ...credentials("web"),
    grant_type: "authorization_code",
    code,
    code_verifier: codeVerifier,
  };
  for (const headers of [{}, { DPoP: world.canary() }, proven("par"), proven("token")])
    await post(world, { path: tokenPath, headers, fields: grant });
  const answer = await post(world, { path: tokenPath, headers: proven("token"), fields: grant });
  const token = (answer.body as Partial<Tokens>).access_token ?? world.canary();
  await callApi(world, apiPath({}), token);
  const proof = proofFor(world, { url: "https://api.example/orders", token });
  for (const DPoP of [proof, proof, world.canary()])
    await request(world.app)
      .get(apiPath({}))
      .set({ Authorization: `DPoP ${token}`, DPoP });
}

/** A device that gets tokens, and one that hears of a no; and codes that lead nowhere. */
async function devices(world: World): Promise<void> {
  for (const decision of ["approve", "deny"] as const) {
    const fields = { client_id: "tv" };
    const asked = await askForDevice(world, { fields });
    const { device_code = world.canary(), user_code = "BBBB-BBBB" } = asked.body as Partial<DeviceCodes>;
    // what stands before the dot is the id of the authorization
    world.secrets.mark("device code", device_code.split(".").at(-1) ?? "");
    await poll(world, { device_code }, { fields });
    const browser = world.browser();
    await typeCode(browser, { user_code: "BBBB-BBBB" });
    await browser.answer(await typeCode(browser, { user_code }), decision);
    for (const code of [device_code, device_code, world.canary()])
      await poll(world, { device_code: code }, { fields });
  }
}

/** Every grant, by every kind of client, for every format of access tokens. */
export async function allGrants(world: World): Promise<void> {
  for (const client of ["web", "native", "spa"] as const) {
    for (const pair of pairs) await journey(world, { client, pair });
  }
  await post(world, { path: tokenPath, fields: forCredentials("human", humanSecret) });
  await post(world, { path: tokenPath, fields: forCredentials("machine", machineSecret.secret) });
  const fields = { grant_type: "client_credentials" };
  await post(world, { path: tokenPath, headers: basic("machine", machineSecret.secret), fields });
  await assert(world);
  await registration(world);
  await pushedAndBound(world);
  await devices(world);
  await world.auth.consents.list("alice");
  const ofWeb = { subject: "alice", clientId: "web", apiId: "orders" };
  await world.auth.consents.narrow({ ...ofWeb, scopes: ["orders:read"] });
  await world.auth.consents.revoke(ofWeb);
  await world.auth.authorizations.list("alice");
  await world.auth.subjects.revoke("alice");
  await world.auth.clients.revoke("web");
  await world.auth.apis.revoke("orders");
  await world.auth.subjects.erase("alice");
}

/** Signing in, answering and refusing on the host's pages. */
export async function signIn(world: World): Promise<void> {
  const { session } = world;
  for (const [client, pair] of [
    ["web", {}],
    ["native", { api: "reports" }],
  ] as const) {
    world.session = signedOut;
    const browser = world.browser();
    const sentAway = await authorize(browser, { client, pair });
    await browser.follow(sentAway);
    const interaction = new URL(String(sentAway.headers["location"]), "https://x").searchParams.get(
      "interaction",
    );
    const back = await browser.post("/signin", { interaction: interaction ?? "", subject: "alice" });
    const page = await browser.follow(back);
    await browser.answer(page, client === "web" ? "approve" : "deny");
  }
  world.session = signedOut;
  const browser = world.browser();
  const sentAway = await authorize(browser, { client: "web" });
  const interaction = String(sentAway.headers["location"]).split("=")[1];
  await browser.post("/cancel", { interaction });
  await browser.get(`${pairPath()}/authorize/resume`, { interaction });
  world.session = session;
}

async function clientRefusals(world: World): Promise<void> {
  const wrong = world.canary();
  const code = await obtainCode(world, { client: "web" });
  const fields = { grant_type: "authorization_code", code, code_verifier: codeVerifier };
  for (const id of ["web", "human", "native", "spa", "nobody", "machine"]) {
    for (const secret of [wrong, webSecret.secret, humanSecret, otherSecret.secret]) {
      await post(world, { path: tokenPath, fields: { ...fields, client_id: id, client_secret: secret } });
      await post(world, { path: tokenPath, headers: basic(id, secret), fields });
      await post(world, { path: tokenPath, headers: basic("", secret), fields });
      await post(world, {
        path: tokenPath,
        headers: basic(id, secret),
        fields: { ...fields, ...credentials("web") },
      });
    }
  }
  const { secret } = webSecret;
  for (const value of [
    `Basic ${secret}`,
    `Basic ${secret}:`,
    `Bearer ${secret}`,
    secret,
    `Basic %${secret}`,
  ]) {
    await post(world, { path: tokenPath, headers: { Authorization: value }, fields });
  }
  await post(world, { path: `${tokenPath}?${encode(credentials("web"))}`, fields });
  await post(world, { path: `${tokenPath}?${encode(fields)}`, fields: credentials("web") });
  await post(world, {
    path: tokenPath,
    fields: { ...fields, ...credentials("web"), client_secret: [secret, secret] },
  });
  await Promise.all(
    Array.from({ length: 20 }, () =>
      post(world, { path: tokenPath, fields: forCredentials("human", world.canary()) }),
    ),
  );
}

async function codeRefusals(world: World): Promise<void> {
  for (const pair of pairs) {
    const code = await obtainCode(world, { client: "web", pair });
    const attempts: readonly Fields[] = [
      { code_verifier: world.canary() },
      { code_verifier: undefined },
      { code_verifier: `${codeVerifier}!` },
      { code_verifier: codeVerifier.slice(0, 30) },
      { redirect_uri: "https://evil.example/" },
      { code: world.canary() },
      { code: `${code}x` },
      { code: [code, code] },
      { resource: "https://evil.example/" },
      credentials("other"),
      { grant_type: "password" },
      { grant_type: undefined },
      { grant_type: "refresh_token", refresh_token: code },
    ];
    for (const fields of attempts) await redeem(world, { client: "web", code, pair, fields });
    await redeem(world, { client: "web", code, pair: { method: "sso" } });
    await redeem(world, { client: "web", code, pair });
    await redeem(world, { client: "web", code, pair });
    const late = await obtainCode(world, { client: "native", pair });
    stopClock(1_800_000_060);
    await redeem(world, { client: "native", code: late, pair });
    stopClock();
  }
}

async function refreshRefusals(world: World): Promise<void> {
  for (const pair of pairs) {
    const { refresh_token: refreshToken = "" } = await obtainTokens(world, { client: "native", pair });
    const attempts: readonly Fields[] = [
      { refresh_token: world.canary() },
      { refresh_token: `${refreshToken}x` },
      { refresh_token: [refreshToken, "x"] },
      { refresh_token: undefined },
      { scope: "orders:write" },
      { scope: `${refreshToken}"` },
      { client_secret: world.canary() },
      credentials("web"),
      { client_id: "spa" },
    ];
    for (const fields of attempts) await refresh(world, { client: "native", refreshToken, pair, fields });
    await refresh(world, { client: "native", refreshToken, pair: { method: "sso" } });
    await refresh(world, { client: "native", refreshToken, pair });
    await refresh(world, { client: "native", refreshToken, pair });
  }
}

async function authorizationRefusals(world: World): Promise<void> {
  const attempts: readonly Fields[] = [
    { client_id: "nobody" },
    { client_id: undefined },
    { redirect_uri: `https://evil.example/${world.canary()}` },
    { response_type: "token" },
    { scope: "unknown" },
    { code_challenge: codeVerifier.slice(1) },
    { code_challenge_method: "plain", code_challenge: codeVerifier },
    { prompt: "none" },
    { prompt: "login none" },
    { max_age: "x" },
    { resource: "x" },
    { nonce: ["x", "y"] },
    { state: "x".repeat(4_000) },
  ];
  for (const session of [signedIn, signedOut, { kind: "denied" } as const]) {
    world.session = session;
    for (const fields of attempts) await authorize(world.browser(), { client: "web", fields });
  }
}

async function consentRefusals(world: World): Promise<void> {
  const browser = world.browser();
  const page = await authorize(browser, { client: "web" });
  const form = formFields(page.text);
  const path = `${pairPath()}/authorize/consent`;
  const attempts: readonly Fields[] = [
    { form_token: world.canary() },
    { form_token: [form["form_token"] ?? "", "x"] },
    { interaction: world.canary() },
    { interaction: form["form_token"] },
    { decision: form["form_token"] },
    { decision: undefined },
  ];
  for (const fields of attempts) await browser.answer(page, "approve", fields);
  await browser.post(path, { ...form, decision: "approve" }, { Origin: "https://evil.example" });
  await browser.post(`${path}?${encode(form)}`, {});
  await browser.post("/allow", form);
  await browser.get("/allow", form);
  await world.browser().answer(page, "approve");
  const forged = { Cookie: [...browser.cookies].map(([name, value]) => `${name}=${value}x`).join("; ") };
  await browser.post(path, { ...form, decision: "approve" }, forged);
  world.session = { kind: "authenticated", subject: "bob" };
  await browser.answer(page, "approve");
  world.session = { kind: "authenticated", subject: "web" };
  await browser.answer(page, "approve");
}

async function bearerRefusals(world: World): Promise<void> {
  for (const pair of pairs) {
    const { access_token: token, refresh_token: refreshToken = "" } = await obtainTokens(world, {
      client: "native",
      pair,
    });
    const path = apiPath(pair);
    const headers = [
      `Bearer ${token}x`,
      `Bearer ${token} x`,
      `Bearer "${token}"`,
      `bearer ${world.canary()}`,
    ];
    for (const value of [...headers, `Bearer,${token}`, `Basic ${token}`, token, `Token ${token}`]) {
      await request(world.app).get(path).set("Authorization", value);
    }
    await request(world.app).get(`${path}?access_token=${token}`);
    await request(world.app).get(`${path}?access_token=${token}`).set("Authorization", `Bearer ${token}`);
    await request(world.app).post(path).type("form").send(`access_token=${token}`);
    await callApi(world, path === "/orders" ? "/reports" : "/orders", token);
    await callApi(world, "/orders/changes", token);
    await refresh(world, { client: "native", pair, refreshToken });
    await refresh(world, { client: "native", pair, refreshToken });
    await callApi(world, path, token);
    stopClock(1_900_000_000);
    await callApi(world, path, token);
    stopClock();
  }
}

async function unreadableBodies(world: World): Promise<void> {
  const code = await obtainCode(world, { client: "web" });
  const fields = { ...credentials("web"), code, code_verifier: codeVerifier };
  for (const type of ["application/json", "text/plain", "multipart/form-data; boundary=x"]) {
    await request(world.app).post(tokenPath).set("Content-Type", type).send(JSON.stringify(fields));
  }
  await post(world, { path: tokenPath, headers: { "Content-Encoding": "gzip" }, fields });
  await post(world, { path: tokenPath, fields: { ...fields, filler: "x".repeat(70_000) } });
  await request(world.app)
    .post(tokenPath)
    .type("form")
    .send(`${encode(fields)}&scope=%ff&%ff=x`);
  await request(world.app).put(tokenPath).type("form").send(encode(fields));
  await request(world.app).get(`${tokenPath}?${encode(fields)}`);
  await request(world.app)
    .post(`/login/auth/none/api/none/token?${encode(fields)}`)
    .type("form")
    .send(encode(fields));
}

/** Every way to ask about a token or to end it, the refused ones first. */
async function askAndRevoke(world: World, { pair, token }: { pair: Pair; token: string }): Promise<void> {
  const web = credentials("web");
  for (const endpoint of ["introspect", "revoke"]) {
    const path = `${pairPath(pair)}/${endpoint}`;
    const attempts: readonly Fields[] = [
      { token, client_id: "web", client_secret: world.canary() },
      { token, ...credentials("other") },
      { token: [token, "x"], ...web },
      { token, token_type_hint: token, ...credentials("native") },
      { token, token_type_hint: token, ...credentials("spa") },
      { token, token_type_hint: token, ...web },
    ];
    for (const fields of attempts) await post(world, { path, fields });
    await post(world, { path: `${path}?${encode({ token })}`, fields: web });
    await post(world, { path, headers: basic("web", webSecret.secret), fields: { token } });
  }
}

async function revocationAndIntrospection(world: World): Promise<void> {
  for (const pair of pairs) {
    for (const client of ["web", "native", "spa"] as const) {
      const code = await obtainCode(world, { client, pair });
      const { access_token, refresh_token = world.canary() } = await obtainTokens(world, { client, pair });
      const tokens = [code, world.canary(), `${access_token}x`, access_token, refresh_token];
      for (const token of tokens) await askAndRevoke(world, { pair, token });
    }
  }
}

/** What is asked, by what it is about. */
export const flows: Readonly<Record<string, (world: World) => Promise<void>>> = {
  "every grant, client kind and token format": allGrants,
  "signing in and answering on pages": signIn,
  "refused clients": clientRefusals,
  "refused codes": codeRefusals,
  "refused refresh tokens": refreshRefusals,
  "refused authorization requests": authorizationRefusals,
  "refused answers to the consent page": consentRefusals,
  "refused access tokens": bearerRefusals,
  "bodies that cannot be read": unreadableBodies,
  "revocation and introspection, granted and refused": revocationAndIntrospection,
};

/** The same, where any step may end it. */
export async function asFarAsItGoes(world: World): Promise<void> {
  for (const flow of [allGrants, registration, signIn, bearerRefusals, refreshRefusals]) {
    await flow(world).catch(() => undefined);
  }
  const headers = { Origin: "https://spa.example" };
  await post(world, { path: tokenPath, headers, fields: credentials("spa") });
  const machine = credentials("machine");
  const own = await post(world, {
    path: tokenPath,
    fields: { grant_type: "client_credentials", ...machine },
  });
  const { access_token: token } = own.body as { access_token?: string };
  for (const path of ["introspect", "revoke"]) {
    await post(world, { path: `${pairPath()}/${path}`, fields: { token, ...machine } });
  }
  for (const client of ["web", "native", "spa"] as const) {
    for (const pair of pairs) await journey(world, { client, pair }).catch(() => undefined);
  }
}
