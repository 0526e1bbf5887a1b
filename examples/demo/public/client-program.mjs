// @ts-check
/** A client program: what an OAuth client does, whether it runs on a server or in a page. */

/** @typedef {import("../types.js").Choices} Choices */
/** @typedef {import("../types.js").SentRequest} SentRequest */
/** @typedef {ReturnType<typeof clientProgram>} ClientProgram */

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

/** @param {import("../types.js").ProgramOptions} options */
export function clientProgram({ name, clientId, secret, basic, redirectUri, origin, record }) {
  /** @type {import("../types.js").Held} */
  let held = {};

  /** @param {Choices} choices */
  const issuerOf = ({ method, api }) =>
    `${origin}/login/auth/${encodeURIComponent(method)}/api/${encodeURIComponent(api)}`;

  /** @param {import("../types.js").ProgramRequest} request */
  async function send({ method, url, authorization, form, json }) {
    const at = performance.timeOrigin + performance.now();
    const headers = {
      ...(authorization && { authorization }),
      ...(json && { "content-type": "application/json" }),
    };
    const content = form ? new URLSearchParams(form) : json && JSON.stringify(json);
    const response = await fetch(url, { method, headers, ...(content && { body: content }) });
    const { status } = response;
    const body = /** @type {Record<string, any>} */ (await response.json());
    const challenge = response.headers.get("www-authenticate");
    const sent = { ...(authorization && { Authorization: authorization }), ...form, ...json };
    const answer = { ...(challenge && { "WWW-Authenticate": challenge }), ...body };
    record({ at, by: name, method, url: new URL(url).pathname, sent, status, answer });
    return { status, body };
  }

  /**
   * Asks the token endpoint, with proof of who asks, and keeps what it gives.
   *
   * @type {(issuer: string, form: Record<string, string>) => Promise<void>}
   */
  async function requestTokens(issuer, form) {
    const inBody = { ...form, client_id: clientId, ...(secret && { client_secret: secret }) };
    const inHeader = { authorization: `Basic ${btoa(`${clientId}:${secret}`)}`, form };
    const proof = basic ? inHeader : { form: inBody };
    const { status, body } = await send({ method: "POST", url: `${issuer}/token`, ...proof });
    if (status !== 200) return;
    const { access_token: accessToken, refresh_token: refreshToken } = body;
    held = { ...held, issuer, accessToken, refreshToken, usedRefreshToken: form["refresh_token"] };
  }

  /**
   * Shows the API its access token, if it has one.
   *
   * @type {(method: "GET" | "POST", api: string) => Promise<void>}
   */
  async function callApi(method, api) {
    const url = `${origin}/api/${encodeURIComponent(api)}`;
    const token = held.accessToken && { authorization: `Bearer ${held.accessToken}` };
    const order = method === "POST" && { json: { item: `Ordered by the ${name}` } };
    await send({ method, url, ...token, ...order });
  }

  /** @type {(choices: Choices, refreshToken: string | undefined) => Promise<void>} */
  const refresh = (choices, refreshToken) =>
    requestTokens(held.issuer ?? issuerOf(choices), {
      grant_type: "refresh_token",
      // without one it makes one up, to see what is said to that
      refresh_token: refreshToken ?? random(),
    });

  /** @type {Record<string, (choices: Choices) => Promise<void>>} */
  const actions = {
    clientCredentials: (choices) =>
      requestTokens(issuerOf(choices), {
        grant_type: "client_credentials",
        ...(choices.scope && { scope: choices.scope }),
      }),
    refresh: (choices) => refresh(choices, held.refreshToken),
    reuseRefreshToken: (choices) => refresh(choices, held.usedRefreshToken),
    replayCode: (choices) =>
      requestTokens(held.issuer ?? issuerOf(choices), {
        grant_type: "authorization_code",
        code: "none",
        ...held.code,
      }),
    call: ({ api }) => callApi("GET", api),
    change: ({ api }) => callApi("POST", api),
  };

  return {
    /** @type {(action: string, choices: Choices) => Promise<void>} */
    async run(action, choices) {
      if (Object.hasOwn(actions, action)) await actions[action]?.(choices);
    },

    /** An authorization request: where the browser has to go. @param {Choices} choices */
    async newRequest(choices) {
      const issuer = issuerOf(choices);
      const state = random();
      const codeVerifier = choices.pkce ? random() : undefined;
      const parameters = new URLSearchParams({
        client_id: clientId,
        response_type: "code",
        ...(choices.sendRedirectUri && redirectUri && { redirect_uri: redirectUri }),
        ...(choices.scope && { scope: choices.scope }),
        ...(choices.prompt && { prompt: choices.prompt }),
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
     * Redeems the code of an answer; false when it is not the answer to this request.
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
