/** The latest access token and its ID token, split into their parts, with the meaning of each. RFC 9068 §2; OpenID Connect Core §2. A new claim gets its meaning here. */
import { copyButton } from "./copy.mjs";
import { element } from "./dom.mjs";

const meanings = {
  alg: "The algorithm of the signature.",
  typ: "It is an access token, so no other signed JWT can be used as one.",
  kid: "The key that signed it, one of the keys at /login/jwks.",
  iss: "The authorization server that issued it: one pair of a way to sign in and an API.",
  aud: "The API it is for. Every other API refuses it.",
  sub: "The person it was issued for, or the client itself if there is no person.",
  client_id: "The client it was issued to.",
  scope: "What it allows.",
  jti: "Its unique ID, by which it can be revoked.",
  iat: "When it was issued.",
  exp: "When it expires.",
  authorization_id: "The authorization it comes from. Revoking the authorization revokes all its tokens.",
  auth_time: "When the person signed in.",
  amr: "How the person signed in.",
  acr: "How far the sign-in can be trusted.",
  plan: "The host's own claim, from tokens.decide. The host decides it again for each token.",
  org: "The organization chosen at sign-in, which tokens.decide turns into a claim. It stays the same when the token is refreshed.",
  active: "It is valid now.",
  token_type: "Anyone who has the token can use it.",
};
/** Where a claim means something else in an ID token. */
const ofIdToken = {
  typ: "No API takes it for an access token.",
  aud: "The client that it is for. No other client may accept it.",
  sub: "The person who has signed in. This ID never changes; a name and an e-mail address may.",
  name: "From openid.claims of the host, because profile was granted.",
  email: "From openid.claims of the host, because email was granted.",
  email_verified: "Whether the host has checked the address.",
};
const times = ["iat", "exp", "auth_time"];

/** Header or claims of a JWT. */
function decodePart(part) {
  const bytes = atob(part.replaceAll("-", "+").replaceAll("_", "/"));
  return JSON.parse(new TextDecoder().decode(Uint8Array.from(bytes, (byte) => byte.codePointAt(0))));
}

/** Rows of name, value and meaning; on a narrow screen they are stacked. */
function claimList(title, fields, others = {}) {
  const rows = Object.entries(fields).map(([name, value]) => {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    const time = times.includes(name) ? [` ${new Date(value * 1000).toLocaleTimeString()}`] : [];
    const told = others[name] ?? meanings[name];
    const meaning = told ? [element("dd", [told], "meaning")] : [];
    return element("div", [
      element("dt", [element("code", [name])]),
      element("dd", [element("code", [text]), ...time]),
      ...meaning,
    ]);
  });
  return [element("h4", [title]), element("dl", rows, "claims")];
}

/** Header and claims of a JWT; `undefined` of another text. */
function jwtParts(token, others) {
  const parts = /^(eyJ[\w-]+)\.(eyJ[\w-]+)\.[\w-]+$/.exec(token);
  const list = (title, part) => claimList(title, decodePart(part), others);
  return parts && [...list("Header", parts[1]), ...list("Claims", parts[2])];
}

function partsOf(token, steps) {
  const parts = jwtParts(token);
  if (parts) return parts;
  const introspected = steps.findLast(({ sent, body }) => sent.token === token && body.active);
  if (introspected) return claimList("Introspection", introspected.body);
  const note =
    "It is opaque: there is nothing to decode. A confidential client can ask what it means with Introspect.";
  return [element("p", [note])];
}

function titled(title, token) {
  const heading = [element("h3", [title]), copyButton("Copy token", token)];
  return [element("div", heading, "titled"), element("p", [element("code", [token])], "raw")];
}

/** Empty if there is no token yet. */
export function tokenView(steps) {
  const { access_token: token, id_token: idToken } =
    steps.findLast(({ body }) => body.access_token)?.body ?? {};
  if (!token) return [];
  const ofIdentity = idToken ? [...titled("The ID token", idToken), ...jwtParts(idToken, ofIdToken)] : [];
  return [...titled("The access token", token), ...partsOf(token, steps), ...ofIdentity];
}
