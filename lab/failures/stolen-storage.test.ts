// The attacker has a copy of the whole storage. They did not get any value there that opens anything.
import request from "supertest";
import { memoryStorage } from "../../lib";
import { type Pair, pairPath } from "../../__tests__/hosts/apis";
import { codeVerifier } from "../../__tests__/browser/authorization-request";
import { encode } from "../../__tests__/browser/browser";
import {
  apiPath,
  type Call,
  forCredentials,
  human,
  humanSecret,
  pairs,
  recordCalls,
  tokenPath,
} from "../../__tests__/hosts/canary-host";
import { redeem, refresh } from "../../__tests__/requests/client-requests";
import { type ClientName, clients, credentials } from "../../__tests__/hosts/clients";
import { stopClock } from "../../__tests__/hosts/clock";
import { testHost, type TestHost } from "../../__tests__/hosts/host";
import { callApi, obtainCode, obtainTokens, type Tokens } from "../../__tests__/browser/journey";
import { listen, type ListeningApp, type Question } from "../../__tests__/hosts/listening";

afterEach(() => jest.restoreAllMocks());

/** Every string in the value, however deep, keys as well. */
function collectStrings(value: unknown, into: Set<string>): Set<string> {
  if (typeof value === "string") into.add(value);
  if (typeof value !== "object" || value === null) return into;
  for (const [key, each] of Object.entries(value)) {
    into.add(key);
    collectStrings(each, into);
  }
  return into;
}

function loot(calls: readonly Call[]): readonly string[] {
  const strings = [...collectStrings(calls, new Set())];
  const ids = strings.filter((text) => /^[\w-]{22}$/.test(text));
  const digests = strings.filter((text) => /^[\w-]{43}$/.test(text));
  const joined = ids.flatMap((id) => digests.map((digest) => `${id}.${digest}`));
  const halves = strings.filter((text) => text.includes(":")).flatMap((text) => text.split(":"));
  return [...new Set([...strings, ...joined, ...halves])].filter((text) => text !== "");
}

/** Every way to present a stolen text. */
function presentations(text: string): readonly Question[] {
  const asToken = pairs.flatMap((pair) => {
    const path = `${pairPath(pair)}/token`;
    const forms = (["web", "native"] as const).flatMap((client) => [
      { grant_type: "authorization_code", code: text, code_verifier: codeVerifier, ...credentials(client) },
      { grant_type: "refresh_token", refresh_token: text, ...credentials(client) },
    ]);
    const call = { path: apiPath(pair), headers: { Authorization: `Bearer ${text}` } };
    const asked = ["introspect", "revoke"].map((endpoint) => ({
      path: `${pairPath(pair)}/${endpoint}`,
      form: { token: text, ...credentials("web") },
    }));
    return [call, ...asked, ...forms.map((form) => ({ path, form }))];
  });
  // the joined ones look like codes; as a secret they are no likelier than any other text
  const secretOf = text.includes(".") ? [] : ["web", "machine"];
  const chosen = /^scrypt:|^[\w-]{22,}$/.test(text) ? ["human"] : [];
  const asSecret = [...secretOf, ...chosen].map((id) => ({
    path: tokenPath,
    form: forCredentials(id, text),
  }));
  return [...asToken, ...asSecret];
}

describe("a stolen copy of the storage (RFC 6749 §10.3, §10.4, §10.5; 9700 §4.14)", () => {
  interface Living {
    readonly client: ClientName;
    readonly pair: Pair;
    readonly code: string;
    readonly tokens: Tokens;
  }

  /** For each kind of client and token format: a code and tokens that are still good. */
  async function livingValues(host: TestHost): Promise<readonly Living[]> {
    const living: Living[] = [];
    for (const client of ["web", "native", "spa"] as const) {
      for (const pair of pairs) {
        const first = await obtainTokens(host, { client, pair });
        const refreshToken = first.refresh_token;
        const refreshed = refreshToken && (await refresh(host, { client, pair, refreshToken }));
        const tokens = refreshed ? (refreshed.body as Tokens) : first;
        living.push({ client, pair, tokens, code: await obtainCode(host, { client, pair }) });
      }
    }
    return living;
  }

  let app: ListeningApp;

  afterEach(() => app.close());

  it("redeems nothing: every string of it is refused as a code, a token and a secret", async () => {
    stopClock();
    const memory = memoryStorage({ clients: [...Object.values(clients), human] });
    const calls: Call[] = [];
    const host = testHost({ storage: recordCalls(memory, { calls }), revocationLagSeconds: 0 });
    const living = await livingValues(host);
    await request(host.app)
      .post(tokenPath)
      .type("form")
      .send(encode(forCredentials("human", humanSecret)));
    const strings = loot(calls);
    expect(strings.length).toBeGreaterThan(500);
    const attacked = testHost({ storage: memory, revocationLagSeconds: 0 });
    app = await listen(attacked.app);
    const won: object[] = [];
    for (const stolen of strings) {
      await Promise.all(
        presentations(stolen).map(async (question) => {
          const { status, body, text } = await app.send(question);
          const refusal = question.form ? /^invalid_(grant|client)$/ : /^invalid_(token|request)$/;
          const refused = (status === 400 || status === 401) && refusal.test(String(body["error"]));
          const saidNothing = status === 200 && (text === "{}" || text === '{"active":false}');
          if (!refused && !saidNothing) won.push({ question, status, body });
        }),
      );
    }
    expect(won).toEqual([]);
    expect(attacked.events.some(({ kind }) => kind === "replay-detected")).toBe(false);
    for (const { client, pair, code, tokens } of living) {
      expect((await callApi(attacked, apiPath(pair), tokens.access_token)).status).toBe(200);
      expect((await redeem(attacked, { client, pair, code })).status).toBe(200);
      if (tokens.refresh_token === undefined) continue;
      const refreshed = await refresh(attacked, { client, pair, refreshToken: tokens.refresh_token });
      expect(refreshed.status).toBe(200);
    }
  });
});
