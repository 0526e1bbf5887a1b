// A client or an attacker puts a secret where it does not belong, in the hope that it is repeated or kept. It was not.
import request from "supertest";
import { pairPath } from "../hosts/apis";
import { codeVerifier } from "../browser/authorization-request";
import { authorize } from "../browser/authorize";
import { encode, formFields } from "../browser/browser";
import { newWorld, post, tokenPath, type World } from "../hosts/canary-host";
import { postToken } from "../requests/client-requests";
import { credentials, webSecret } from "../hosts/clients";
import { obtainCode, obtainTokens } from "../browser/journey";
import { deepText } from "../requests/marked-secrets";

afterEach(() => jest.restoreAllMocks());

const holdable = [
  "client secret",
  "code verifier",
  "code",
  "refresh token",
  "access token",
  "form token",
] as const;

type Holdable = (typeof holdable)[number];

async function collect(world: World): Promise<Readonly<Record<Holdable, string>>> {
  const { access_token, refresh_token = "" } = await obtainTokens(world, { client: "native" });
  const page = await authorize(world.browser(), { client: "other" });
  return {
    "client secret": webSecret.secret,
    "code verifier": codeVerifier,
    code: await obtainCode(world, { client: "web" }),
    "refresh token": refresh_token,
    "access token": access_token,
    "form token": formFields(page.text)["form_token"] ?? "",
  };
}

describe("a secret in a place where it does not belong (RFC 6749 §2.3.1, 9700 §4.3)", () => {
  // not the state, which comes back, and not the challenge, which is kept: that is what they are for
  const atAuthorize = ["client_id", "response_type", "redirect_uri", "scope", "prompt", "resource"];
  const atToken = ["client_id", "grant_type", "scope", "resource", "redirect_uri", "code", "refresh_token"];

  it.each(holdable)("is repeated in no event and no refusal: %s", async (kind) => {
    const world = newWorld();
    const { [kind]: value } = await collect(world);
    const asked = world.calls.length;
    for (const name of [...atAuthorize, "code_challenge_method", "max_age", "unknown"]) {
      await authorize(world.browser(), { client: "web", fields: { [name]: value, prompt: "none" } });
      await authorize(world.browser(), { client: "native", fields: { [name]: value } });
    }
    for (const name of [...atToken, "code_verifier", "client_secret", "unknown"]) {
      const form = { grant_type: "authorization_code", ...credentials("web"), code: "x", [name]: value };
      await postToken(world, { fields: form });
      await postToken(world, { fields: { ...form, [name]: [value, value] } });
      await post(world, { path: `${tokenPath}?${encode({ [name]: value })}`, fields: form });
      await request(world.app).get(`/orders?${encode({ [name]: value })}`);
    }
    for (const endpoint of ["revoke", "introspect"]) {
      for (const name of ["token", "token_type_hint", "client_id", "client_secret", "unknown"]) {
        const fields = { ...credentials("other"), token: "x", [name]: value };
        await post(world, { path: `${pairPath()}/${endpoint}`, fields });
      }
    }
    await world.browser().get(`/login/auth/${value}/api/${value}/authorize`);
    await world.browser().get(`${pairPath()}/authorize/resume`, { interaction: value });
    expect(world.leaks).toEqual([]);
    expect(world.secrets.findIn(deepText(world.events))).toEqual([]);
    expect(world.secrets.findIn(world.printed())).toEqual([]);
    // a client is looked up by whatever the request says that it is; nothing else goes to storage as it comes
    const others = world.calls.slice(asked).filter(({ name }) => name !== "clients.find");
    expect(world.secrets.findIn(deepText(others))).toEqual([]);
  });
});
