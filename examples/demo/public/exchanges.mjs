/** The kinds of requests in the playground: between whom, and why they are sent. A new endpoint gets an entry here. */

/** Places in the picture, from left to right. */
export const [browser, client, server, api] = [0, 1, 2, 3];

const isToken = (grantType) => (step) => step.url.endsWith("/token") && step.sent.grant_type === grantType;
const endsWith = (path) => (step) => step.url.endsWith(path);

/** The first that fits a step describes it. */
const exchanges = [
  {
    fits: endsWith("/authorize"),
    to: server,
    why: "The client sends the browser to the authorization server: who asks, for which scopes, and where to go back to. The random state ties the answer to this browser. The challenge is the hash of a verifier that the client keeps for itself (PKCE).",
  },
  {
    fits: endsWith("/person/other-organization"),
    to: server,
    why: "The host notes in its own session that the person has switched to another organization. From then on, authenticate returns that one as context. Tokens issued before keep theirs.",
  },
  {
    fits: endsWith("/person/sign-out-everywhere"),
    to: server,
    why: "The host ends its own sessions of the person first, because anyone still signed in could approve again. Then it calls auth.subjects.revoke, which revokes every login at every client.",
  },
  {
    fits: ({ url }) => url.startsWith("/person/"),
    to: server,
    why: "The host changes its own table of people. This is not part of OAuth, and nobody tells authmount: it asks the host at the next token (tokens.decide) and at the next sign-in (authenticate).",
  },
  {
    fits: ({ method, url }) => method === "GET" && url.startsWith("/signin/"),
    to: server,
    why: "Nobody is signed in, or not in the way that is needed, so the host shows its own sign-in page. The client never sees what is typed here.",
  },
  {
    fits: endsWith("/signin/cancel"),
    to: server,
    why: "The person does not want to sign in. The host says so to the authorization server, which tells the client.",
  },
  {
    fits: ({ url }) => url.startsWith("/signin/"),
    to: server,
    why: "The person proves who they are, to the host and not to the client. Then the host hands the pending authorization request back to the authorization server.",
  },
  {
    fits: endsWith("/authorize/resume"),
    to: server,
    why: "The authorization server now knows the person. If the client is not trusted and the person has not allowed this before, it shows the consent page.",
  },
  {
    fits: endsWith("/authorize/consent"),
    to: server,
    why: "The person decides. If they allow it, the authorization server makes a code that works once and for about a minute.",
  },
  {
    fits: endsWith("/device_authorization"),
    to: server,
    why: "The client has no browser, so it asks for two codes: it keeps the device code for itself, and shows the user code with a link.",
  },
  {
    fits: endsWith("/device"),
    to: server,
    why: "The person has opened the link, and sends the code that the client shows. It is always asked for, because the link may come from anyone.",
  },
  {
    fits: isToken("urn:ietf:params:oauth:grant-type:device_code"),
    to: server,
    why: "The client polls with its device code. Until the person has answered, it is told to wait: the picture shows the first time only.",
  },
  {
    fits: endsWith("/callback"),
    to: client,
    why: "The browser brings the answer to the client's redirect URI. The client compares state and iss, so it accepts only an answer that it asked for. A code in a URL can leak, so it is useless without the verifier.",
  },
  {
    fits: isToken("authorization_code"),
    to: server,
    why: "The client redeems the code, without the browser. It sends the verifier: its hash must be the challenge of the authorization request. A confidential client also proves its identity with its secret.",
  },
  {
    fits: ({ isLost }) => isLost,
    to: server,
    why: "The client refreshes, and the server replaces the refresh token. But the response is lost on the way, so the client still has the old one.",
  },
  {
    fits: ({ events }) => events.some(({ kind }) => kind === "refresh-retried"),
    to: server,
    why: "The client got no response to its refresh, so it sends the same refresh token again. With refreshRetrySeconds, the server repeats its response: the same new refresh token, if it is still unused, and a fresh access token.",
  },
  {
    fits: isToken("refresh_token"),
    to: server,
    why: "The client exchanges its refresh token for a new access token. The refresh token is replaced as well, so a stolen copy is noticed as soon as both copies are used.",
  },
  {
    fits: isToken("client_credentials"),
    to: server,
    why: "The client asks for a token for itself. No person is involved, so there is no browser and no refresh token.",
  },
  {
    fits: endsWith("/introspect"),
    to: server,
    why: "The client asks what a token means. Nobody can read an opaque token, so this is the way to find out.",
  },
  {
    fits: endsWith("/revoke"),
    to: server,
    why: "The client revokes a token. The response is 200 even for an unknown token, so it reveals nothing.",
  },
  {
    fits: endsWith("/userinfo"),
    to: server,
    why: "The client asks who has signed in. The answer has what the scopes of the access token open: profile the name, email the address.",
  },
  {
    fits: ({ url }) => url.startsWith("/api/"),
    to: api,
    why: "The client calls the API with its access token. The API checks the issuer, that the token is meant for this API, its expiry and its scopes.",
  },
];

/** Between whom the exchange is, and why it takes place. */
export function exchangeOf(step) {
  const { to, why } = exchanges.find(({ fits }) => fits(step)) ?? { to: server, why: "" };
  return { from: step.by === "Browser" ? browser : client, to, why };
}
