// @ts-check
/** A client program: what an OAuth client does, on a server or in a page. */
import { recordedFetch } from "./recorded-fetch.mjs";

/** @typedef {import("../types.js").Choices} Choices */
/** @typedef {import("../types.js").SentRequest} SentRequest */
/** @typedef {import("../types.js").Step} Step */
/** @typedef {ReturnType<typeof clientProgram>} ClientProgram */

const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code";
const pending = "authorization_pending";

/** @param {Uint8Array} bytes */
const base64url = (bytes) =>
  btoa(String.fromCodePoint(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
const random = () => base64url(crypto.getRandomValues(new Uint8Array(32)));

/** @rfc 7636 §4.2 @param {string} codeVerifier */
async function codeChallenge(codeVerifier) {
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(codeVerifier));
  return base64url(new Uint8Array(hash));
}

/** Without a token it sends a made-up one, to see the answer. @param {string | undefined} refreshToken */
const refreshForm = (refreshToken) => ({
  grant_type: "refresh_token",
  refresh_token: refreshToken ?? random(),
});

/** @param {import("../types.js").ProgramOptions} options */
export function clientProgram({ name, clientId, secret, basic, redirectUri, origin, record }) {
  /** @type {import("../types.js").Held} */
  let held = {};

  /** @param {Choices} choices */
  const issuerOf = ({ method, api }) =>
    `${origin}/login/auth/${encodeURIComponent(method)}/api/${encodeURIComponent(api)}`;

  const own = { by: name, record };
  const lost = { by: name, record: (/** @type {Step} */ step) => record({ ...step, isLost: true }) };

  /**
   * Sends a request with client authentication to an endpoint of the authorization server.
   *
   * @type {(url: string, form: Record<string, string>, recorded?: typeof own) => ReturnType<typeof recordedFetch>}
   */
  function ask(url, form, recorded = own) {
    const inBody = { ...form, client_id: clientId, ...(secret && { client_secret: secret }) };
    const inHeader = { authorization: `Basic ${btoa(`${clientId}:${secret}`)}`, form };
    return recordedFetch({ ...recorded, method: "POST", url, ...(basic ? inHeader : { form: inBody }) });
  }

  /**
   * Sends a token request and keeps the tokens of the response, or returns its error.
   *
   * @type {(issuer: string, form: Record<string, string>, recorded?: typeof own) => Promise<string | undefined>}
   */
  async function requestTokens(issuer, form, recorded = own) {
    const { status, body } = await ask(`${issuer}/token`, form, recorded);
    if (status !== 200) return body["error"];
    const { access_token: accessToken, refresh_token: refreshToken } = body;
    const usedRefreshToken = held.usedRefreshToken ?? form["refresh_token"];
    held = { ...held, issuer, accessToken, refreshToken, usedRefreshToken };
    return undefined;
  }

  /**
   * Sends the access token to an endpoint of the authorization server. If there is none, it sends a made-up one.
   *
   * @type {(endpoint: string, choices: Choices) => Promise<void>}
   */
  async function showToken(endpoint, choices) {
    await ask(`${held.issuer ?? issuerOf(choices)}/${endpoint}`, { token: held.accessToken ?? random() });
  }

  /**
   * Calls the API with the access token, if there is one. Its challenge may want another sign-in (RFC 9470 §3).
   *
   * @type {(method: "GET" | "POST", api: string, amount?: number) => Promise<void>}
   */
  async function callApi(method, api, amount) {
    const url = `${origin}/api/${encodeURIComponent(api)}`;
    const token = held.accessToken && { authorization: `Bearer ${held.accessToken}` };
    const order = method === "POST" && { json: { item: `Ordered by the ${name}`, amount } };
    const { headers } = await recordedFetch({ ...own, method, url, ...token, ...order });
    held.acrValues = /acr_values="([^"]+)"/.exec(headers["www-authenticate"] ?? "")?.[1];
  }

  /** @type {(choices: Choices, refreshToken: string | undefined) => Promise<unknown>} */
  const refresh = (choices, refreshToken) =>
    requestTokens(held.issuer ?? issuerOf(choices), refreshForm(refreshToken));

  /** @type {Record<string, (choices: Choices) => Promise<unknown>>} */
  const actions = {
    /** Returns the link that the person has to open. */
    async askAsDevice(choices) {
      const issuer = issuerOf(choices);
      const { body } = await ask(`${issuer}/device_authorization`, { scope: choices.scope ?? "" });
      held = { issuer, deviceCode: body["device_code"] };
      return { url: body["verification_uri_complete"] };
    },
    /** Returns whether the person still has to answer. Of many waits, only the first is a step. */
    async poll(choices) {
      const { issuer = issuerOf(choices), deviceCode = "none", isWaiting } = held;
      const again = {
        by: name,
        record: (/** @type {Step} */ step) => void (step.body["error"] === pending || record(step)),
      };
      const form = { grant_type: deviceGrant, device_code: deviceCode };
      const error = await requestTokens(issuer, form, isWaiting ? again : own);
      held.isWaiting = error === pending;
      return { isWaiting: held.isWaiting };
    },
    clientCredentials: (choices) =>
      requestTokens(issuerOf(choices), {
        grant_type: "client_credentials",
        ...(choices.scope && { scope: choices.scope }),
      }),
    refresh: (choices) => refresh(choices, held.refreshToken),
    /** The answer never arrives, so the client still has its old tokens. */
    async loseAnswer(choices) {
      await ask(`${held.issuer ?? issuerOf(choices)}/token`, refreshForm(held.refreshToken), lost);
    },
    reuseRefreshToken: (choices) => refresh(choices, held.usedRefreshToken),
    replayCode: (choices) =>
      requestTokens(held.issuer ?? issuerOf(choices), {
        grant_type: "authorization_code",
        code: "none",
        ...held.code,
      }),
    introspect: (choices) => showToken("introspect", choices),
    revoke: (choices) => showToken("revoke", choices),
    async userinfo(choices) {
      const url = `${held.issuer ?? issuerOf(choices)}/userinfo`;
      await recordedFetch({
        ...own,
        method: "GET",
        url,
        authorization: `Bearer ${held.accessToken ?? random()}`,
      });
    },
    call: ({ api }) => callApi("GET", api),
    change: ({ api }) => callApi("POST", api),
    orderMuch: ({ api }) => callApi("POST", api, 150),
  };

  return {
    /** @type {(action: string, choices: Choices) => Promise<unknown>} */
    async run(action, choices) {
      return Object.hasOwn(actions, action) ? actions[action]?.(choices) : undefined;
    },

    /** An authorization request, with the URL that the browser has to go to. @param {Choices} choices */
    async newRequest(choices) {
      const issuer = issuerOf(choices);
      const state = random();
      const codeVerifier = choices.pkce ? random() : undefined;
      const otherUri = choices.redirectUri && new URL(choices.redirectUri, origin).href;
      const sentRedirectUri = otherUri ?? redirectUri;
      const parameters = new URLSearchParams({
        client_id: clientId,
        response_type: "code",
        ...(choices.sendRedirectUri && sentRedirectUri && { redirect_uri: sentRedirectUri }),
        ...(choices.scope && { scope: choices.scope }),
        ...(choices.prompt && { prompt: choices.prompt }),
        ...(choices.stepUp && held.acrValues && { acr_values: held.acrValues }),
        state,
        ...(codeVerifier && {
          code_challenge: await codeChallenge(codeVerifier),
          code_challenge_method: "S256",
        }),
      });
      /** @type {SentRequest} */
      const request = { issuer, state, codeVerifier };
      return { url: `${issuer}/authorize?${parameters.toString()}`, request };
    },

    /**
     * Redeems the code of an answer. Returns false if it is not the answer to this request.
     *
     * @type {(answer: URLSearchParams, request: SentRequest) => Promise<boolean>}
     */
    async takeAnswer(answer, { issuer, state, codeVerifier }) {
      if (answer.get("state") !== state || answer.get("iss") !== issuer) return false;
      const code = answer.get("code");
      if (!code) return true;
      held = { issuer, code: { code, ...(codeVerifier && { code_verifier: codeVerifier }) } };
      await requestTokens(issuer, { grant_type: "authorization_code", ...held.code });
      return true;
    },
  };
}
