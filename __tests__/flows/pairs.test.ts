import request, { type Response } from "supertest";
import type { AuthServerOptions } from "../../lib";
import { apis, baseUrl, type Pair, pairPath } from "../hosts/apis";
import { authorizationParameters, codeVerifier } from "../browser/authorization-request";
import { authorize } from "../browser/authorize";
import { formFields } from "../browser/browser";
import { postToken, redeem, refresh } from "../requests/client-requests";
import { type ClientName, credentials } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { type TestHost, testHost } from "../hosts/host";
import { callApi, obtainCode, obtainTokens } from "../browser/journey";

stopClockForEachTest();

const methodIds = ["password", "otp", "sso"] as const;
const apiIds = ["orders", "reports", "files"] as const;

const pairs: readonly Required<Pair>[] = methodIds.flatMap((method) =>
  apiIds.map((api) => ({ method, api })),
);

interface Tally {
  readonly tried: number;
  readonly accepted: number;
  /** What the refusals were, each once. */
  readonly refusals: readonly string[];
}

/** Counts the answers to what was presented where it does not belong. */
function tally(answers: readonly Response[]): Tally {
  const refused = answers.filter(({ status }) => status !== 200);
  return {
    tried: answers.length,
    accepted: answers.length - refused.length,
    refusals: [...new Set(refused.map(({ status, text }) => `${status} ${text}`))],
  };
}

const invalidGrant =
  '400 {"error":"invalid_grant","error_description":"The code or refresh token is unknown, expired, used or not for this client."}';

/** Presents the value of each issuer at every other one. */
async function atOtherPairs(
  present: (from: Pair, at: Pair) => Promise<Response>,
): Promise<readonly Response[]> {
  const answers = [];
  for (const from of pairs) {
    for (const at of pairs) if (at !== from) answers.push(await present(from, at));
  }
  return answers;
}

async function atOwnPairs(present: (from: Pair, at: Pair) => Promise<Response>): Promise<readonly number[]> {
  const statuses = [];
  for (const pair of pairs) statuses.push((await present(pair, pair)).status);
  return statuses;
}

async function forEachPair<T>(obtain: (pair: Pair) => Promise<T>): Promise<(pair: Pair) => T> {
  const values = new Map<Pair, T>();
  for (const pair of pairs) values.set(pair, await obtain(pair));
  return (pair) => values.get(pair) as T;
}

const everyPairOk = pairs.map(() => 200);

/** Calls each API with the access token of each issuer of the other two. */
async function atOtherApis(host: TestHost, tokenOf: (pair: Pair) => string): Promise<readonly Response[]> {
  const answers = [];
  for (const pair of pairs) {
    for (const api of apiIds)
      if (api !== pair.api) answers.push(await callApi(host, `/${api}`, tokenOf(pair)));
  }
  return answers;
}

describe("nine issuers, each on its own (RFC 9700 §4.4, 8414 §2, 9207 §2)", () => {
  it.each<ClientName>(["web", "native", "spa"])(
    "a code of %s is worth nothing at another pair",
    async (client) => {
      const host = testHost();
      const codeOf = await forEachPair((pair) => obtainCode(host, { client, pair }));
      const present = (from: Pair, at: Pair): Promise<Response> =>
        redeem(host, { client, code: codeOf(from), pair: at });
      expect(tally(await atOtherPairs(present))).toEqual({
        tried: 72,
        accepted: 0,
        refusals: [invalidGrant],
      });
      // no attempt has burned a code
      expect(await atOwnPairs(present)).toEqual(everyPairOk);
    },
  );

  it.each<ClientName>(["web", "native"])(
    "a refresh token of %s is worth nothing at another pair",
    async (client) => {
      const host = testHost();
      const tokensOf = await forEachPair((pair) => obtainTokens(host, { client, pair }));
      const present = (from: Pair, at: Pair): Promise<Response> =>
        refresh(host, { client, refreshToken: tokensOf(from).refresh_token ?? "", pair: at });
      expect(tally(await atOtherPairs(present))).toEqual({
        tried: 72,
        accepted: 0,
        refusals: [invalidGrant],
      });
      // no attempt has burned a token
      expect(await atOwnPairs(present)).toEqual(everyPairOk);
    },
  );

  it("a used code or refresh token that comes to another pair revokes nothing", async () => {
    const host = testHost({ revocationLagSeconds: 0 });
    const codeOf = await forEachPair((pair) => obtainCode(host, { client: "web", pair }));
    const firstOf = await forEachPair((pair) => redeem(host, { client: "web", code: codeOf(pair), pair }));
    const usedTokenOf = (pair: Pair): string =>
      (firstOf(pair).body as { refresh_token: string }).refresh_token;
    const secondOf = await forEachPair((pair) =>
      refresh(host, { client: "web", refreshToken: usedTokenOf(pair), pair }),
    );
    const answers = [
      ...(await atOtherPairs((from, at) => redeem(host, { client: "web", code: codeOf(from), pair: at }))),
      ...(await atOtherPairs((from, at) =>
        refresh(host, { client: "web", refreshToken: usedTokenOf(from), pair: at }),
      )),
    ];
    expect(tally(answers)).toEqual({ tried: 144, accepted: 0, refusals: [invalidGrant] });
    expect(
      await atOwnPairs((pair) => {
        const { access_token } = secondOf(pair).body as { access_token: string };
        return callApi(host, `/${pair.api}`, access_token);
      }),
    ).toEqual(everyPairOk);
  });

  it("a pending request can neither be resumed nor approved at another pair", async () => {
    const host = testHost();
    // a browser each, as one keeps only as many pending requests as its cookies have room for
    const visitOf = await forEachPair(async (pair) => {
      const browser = host.browser();
      const page = await authorize(browser, { client: "web", pair });
      return { browser, page, form: formFields(page.text) };
    });
    const resume = (from: Pair, at: Pair): Promise<Response> => {
      const { browser, form } = visitOf(from);
      return browser.get(`${pairPath(at)}/authorize/resume`, { interaction: form["interaction"] });
    };
    const approve = (from: Pair, at: Pair): Promise<Response> => {
      const { browser, form } = visitOf(from);
      return browser.post(`${pairPath(at)}/authorize/consent`, { ...form, decision: "approve" });
    };
    const answers = [...(await atOtherPairs(resume)), ...(await atOtherPairs(approve))];
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 400));
    expect(answers.flatMap(({ headers }) => headers["location"] ?? [])).toEqual([]);
    expect(answers.length).toBe(144);
    expect((await host.auth.consents.list("alice")).consents).toEqual([]);
    expect(await atOwnPairs(resume)).toEqual(everyPairOk);
    expect(await atOwnPairs(approve)).toEqual(pairs.map(() => 303));
  });

  it("a client without a subscription gets nothing at any pair of the API", async () => {
    const host = testHost();
    const fields = { grant_type: "client_credentials", ...credentials("machine") };
    const answers = [];
    for (const pair of pairs.filter(({ api }) => api !== "orders")) {
      answers.push(await postToken(host, { pair, fields }));
    }
    expect(tally(answers)).toEqual({
      tried: 6,
      accepted: 0,
      refusals: [
        '400 {"error":"unauthorized_client","error_description":"The client may not use this grant at this API."}',
      ],
    });
  });
});

describe("tokens of nine issuers at the APIs (RFC 9700 §4.4, 9068 §4)", () => {
  const invalidToken =
    '401 {"error":"invalid_token","error_description":"The access token is invalid, expired or revoked."}';

  it("an access token of an end user is worth nothing at another API", async () => {
    const host = testHost();
    const tokensOf = await forEachPair((pair) => obtainTokens(host, { client: "web", pair }));
    const tokenOf = (pair: Pair): string => tokensOf(pair).access_token;
    const once = await atOtherApis(host, tokenOf);
    expect(await atOwnPairs((pair) => callApi(host, `/${pair.api}`, tokenOf(pair)))).toEqual(everyPairOk);
    // and once more, now that their own APIs remember them
    const again = await atOtherApis(host, tokenOf);
    expect(tally([...once, ...again])).toEqual({ tried: 36, accepted: 0, refusals: [invalidToken] });
  });

  it("an access token of a client is worth nothing at another API", async () => {
    const host = testHost();
    const tokenOf = await forEachPair(async (pair) => {
      const fields = { grant_type: "client_credentials", ...credentials("web"), scope: `${pair.api}:read` };
      const { body } = await postToken(host, { pair, fields });
      return (body as { access_token: string }).access_token;
    });
    const answers = await atOtherApis(host, tokenOf);
    expect(tally(answers)).toEqual({ tried: 18, accepted: 0, refusals: [invalidToken] });
    expect(await atOwnPairs((pair) => callApi(host, `/${pair.api}`, tokenOf(pair)))).toEqual(everyPairOk);
  });

  it("the API sees which pair a token is from", async () => {
    const host = testHost();
    const tokensOf = await forEachPair((pair) => obtainTokens(host, { client: "web", pair }));
    const seen = [];
    for (const pair of pairs) {
      const answer = await callApi(host, `/${pair.api}`, tokensOf(pair).access_token);
      seen.push((answer.body as { issuer: string }).issuer);
    }
    expect(seen).toEqual(pairs.map(({ method, api }) => `${baseUrl}/auth/${method}/api/${api}`));
  });
});

describe("authentication methods of an API (RFC 8414 §2, 9728 §2)", () => {
  const limited: Record<(typeof apiIds)[number], readonly (typeof methodIds)[number][]> = {
    orders: ["password", "otp"],
    reports: ["sso"],
    files: ["password"],
  };
  const limitedApis = Object.fromEntries(
    apiIds.map((api) => [api, { ...apis[api], authMethods: limited[api] }]),
  ) as AuthServerOptions["apis"];
  const valid = pairs.filter(({ method, api }) => limited[api].includes(method));
  const invalid = pairs.filter((pair) => !valid.includes(pair));
  const notFound = {
    error: "not_found",
    error_description: "There is no authorization server at this address.",
  };

  const grants = {
    client_credentials: { grant_type: "client_credentials", ...credentials("web"), scope: "orders:read" },
    authorization_code: {
      grant_type: "authorization_code",
      ...credentials("web"),
      code: "x",
      code_verifier: codeVerifier,
    },
  };

  it.each(invalid)("answers 404 at every endpoint of $method, $api, which is no pair", async (pair) => {
    const host = testHost({ apis: limitedApis });
    const path = pairPath(pair);
    const answers = [
      await host.browser().get(`${path}/authorize`, authorizationParameters("web")),
      await request(host.app).head(`${path}/authorize`),
      await host.browser().get(`${path}/authorize/resume`, { interaction: "x" }),
      await host.browser().post(`${path}/authorize/consent`, { decision: "approve" }),
      await postToken(host, { pair, fields: grants.client_credentials }),
      await postToken(host, { pair, fields: grants.authorization_code }),
      await request(host.app).options(`${path}/token`).set("Origin", "https://spa.example"),
      await request(host.app).get(`${path}/token`),
    ];
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 404));
    for (const { headers, body } of answers.filter((_, index) => index !== 1)) {
      expect(headers["content-type"]).toBe("application/json");
      expect(body).toEqual(notFound);
    }
    expect(host.asked).toEqual([]);
  });

  it("says no more of an invalid pair than of names that do not exist", async () => {
    const host = testHost({ apis: limitedApis });
    const paths = ["/sso/api/orders", "/unknown/api/orders", "/sso/api/unknown", "/unknown/api/unknown"];
    const answers = [];
    for (const path of paths) {
      const { status, text, headers } = await request(host.app).post(`/login/auth${path}/token`);
      answers.push({ status, text, headers: { ...headers, date: "" } });
    }
    for (const answer of answers) expect(answer).toEqual(answers[0]);
  });

  it.each(valid)("serves $method, $api, which is a pair", async (pair) => {
    const host = testHost({ apis: limitedApis });
    const { access_token } = await obtainTokens(host, { client: "web", pair });
    expect((await callApi(host, `/${pair.api}`, access_token)).status).toBe(200);
  });

  it.each(apiIds)("publishes the valid pairs of %s and no others", async (api) => {
    const host = testHost({ apis: limitedApis });
    const response = await request(host.app).get(`/.well-known/oauth-protected-resource/${api}`);
    expect(response.status).toBe(200);
    expect(response.body).toMatchObject({
      resource: `https://api.example/${api}`,
      authorization_servers: limited[api].map((method) => `${baseUrl}/auth/${method}/api/${api}`),
    });
  });
});
