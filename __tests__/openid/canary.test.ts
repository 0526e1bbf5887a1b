// The attacker reads what a host keeps and shows: events, channels, storage, refusals, output. No hint and no ID token is there.
import { createPublicKey } from "node:crypto";
import jwt from "jsonwebtoken";
import type { AuthServerOptions } from "../../lib";
import { readSigningKey } from "../../lib/signing/signing-key";
import { authorizationParameters } from "../browser/authorization-request";
import { authorize } from "../browser/authorize";
import { outcomeOf } from "../browser/consent";
import { interactionOf, signIn } from "../browser/interaction";
import { obtainTokens, type Tokens } from "../browser/journey";
import { apis, issuer, pairPath } from "../hosts/apis";
import { expectNoLeak, newWorld, post, signingKey, type World } from "../hosts/canary-host";
import { bob, signedIn, signedOut } from "../hosts/host";
import { aliceClaims, idKey } from "./provider";

afterEach(() => jest.restoreAllMocks());

const { kid: keyid } = readSigningKey(idKey);
const path = `${pairPath()}/authorize`;

function openidWorld(broken?: string): World {
  const orders = apis["orders"] as AuthServerOptions["apis"][string];
  return newWorld({
    signingKeys: [signingKey, idKey],
    apis: { ...apis, orders: { ...orders, openid: { claims: () => aliceClaims } } },
    ...(broken !== undefined && { broken }),
  });
}

/** Hints of all kinds, marked. */
async function hintsOf(world: World): Promise<readonly string[]> {
  const fields = { scope: "openid email" };
  const tokens: Tokens & { id_token?: string } = await obtainTokens(world, { client: "web", fields });
  const { id_token = "", access_token } = tokens;
  const claims = { iss: issuer, aud: world.canary(), sub: world.canary() };
  const wrong = [
    jwt.sign(claims, idKey, { algorithm: "RS256", keyid: "none-of-ours" }),
    jwt.sign(claims, createPublicKey(idKey).export({ type: "spki", format: "pem" }).toString(), {
      algorithm: "HS256",
      keyid: world.canary(),
    }),
    jwt.sign({ ...claims, aud: "other" }, idKey, { algorithm: "RS256", keyid }),
  ];
  for (const token of [id_token, ...wrong]) world.secrets.mark("hint", token.split(".").at(-1) ?? "");
  return [id_token, access_token, ...wrong, world.canary(), `${world.canary()}.${world.canary()}.AA`];
}

/** Visits with the hint, and whoever signs in. */
async function visitWith(world: World, hint: string): Promise<void> {
  for (const session of [signedIn, bob, signedOut, () => bob]) {
    for (const prompt of [undefined, "none", "login", "select_account"]) {
      world.session = session;
      const browser = world.browser();
      const fields = { scope: "openid phone", id_token_hint: hint, prompt };
      const first = await authorize(browser, { client: "web", fields });
      if (outcomeOf(first) === "asked") await browser.answer(first, "switch");
      if (outcomeOf(first) === "/signin?interaction")
        await signIn({ browser, id: interactionOf(first) }, prompt === "login" ? "alice" : "bob");
    }
  }
}

async function attack(world: World): Promise<void> {
  for (const hint of await hintsOf(world)) {
    await visitWith(world, hint);
    const asked = { ...authorizationParameters("web"), scope: "openid" };
    await post(world, { path, fields: { ...asked, id_token_hint: [hint, hint] } });
    await post(world, { path, fields: { ...asked, id_token_hint: hint, state: "x".repeat(9_000) } });
    await post(world, { path: `${path}?id_token_hint=${hint}`, fields: asked });
    await post(world, { path, fields: { [hint]: hint, client_id: [hint, hint] } });
  }
  await world.auth.subjects.erase("alice");
}

describe("no hint and no ID token in events, storage, refusals or output (OpenID Connect Core §16.11)", () => {
  it("whatever hints come, and whoever signs in", async () => {
    const world = openidWorld();
    await attack(world);
    const codes = world.events.flatMap((event) => ("code" in event ? [event.code] : []));
    expect(new Set(codes)).toEqual(
      new Set([
        "id-token-hint-not-ours",
        "id-token-hint-of-no-key",
        "not-signed-in",
        "not-the-hinted-person",
        "account-not-chosen",
        "consent-not-remembered",
        "parameter-unusable",
        "posted-request-too-long",
      ]),
    );
    expectNoLeak(world);
  });

  it("where storage fails and quotes what it was asked", async () => {
    const world = openidWorld("endMarks.find");
    world.session = signedIn;
    const claims = { iss: issuer, aud: "web", sub: "alice" };
    const hint = jwt.sign(claims, idKey, { algorithm: "RS256", keyid });
    world.secrets.mark("hint", hint.split(".").at(-1) ?? "");
    await visitWith(world, hint);
    expect(world.events.some(({ kind }) => kind === "server-error")).toBe(true);
    expectNoLeak(world);
  });
});
