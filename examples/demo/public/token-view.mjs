/** The latest access token, split into its parts, with the meaning of each. RFC 9068 §2. A new claim gets its meaning here. */
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
const times = ["iat", "exp", "auth_time"];

/** Header or claims of a JWT. */
function decodePart(part) {
  const bytes = atob(part.replaceAll("-", "+").replaceAll("_", "/"));
  return JSON.parse(new TextDecoder().decode(Uint8Array.from(bytes, (byte) => byte.codePointAt(0))));
}

/** Rows of name, value and meaning; on a narrow screen they are stacked. */
function claimList(title, fields) {
  const rows = Object.entries(fields).map(([name, value]) => {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    const time = times.includes(name) ? [` ${new Date(value * 1000).toLocaleTimeString()}`] : [];
    const meaning = meanings[name] ? [element("dd", [meanings[name]], "meaning")] : [];
    return element("div", [
      element("dt", [element("code", [name])]),
      element("dd", [element("code", [text]), ...time]),
      ...meaning,
    ]);
  });
  return [element("h4", [title]), element("dl", rows, "claims")];
}

function partsOf(token, steps) {
  const parts = /^(eyJ[\w-]+)\.(eyJ[\w-]+)\.[\w-]+$/.exec(token);
  if (parts)
    return [...claimList("Header", decodePart(parts[1])), ...claimList("Claims", decodePart(parts[2]))];
  const introspected = steps.findLast(({ sent, body }) => sent.token === token && body.active);
  if (introspected) return claimList("Introspection", introspected.body);
  const note =
    "It is opaque: there is nothing to decode. A confidential client can ask what it means with Introspect.";
  return [element("p", [note])];
}

/** Empty if there is no token yet. */
export function tokenView(steps) {
  const token = steps.findLast(({ body }) => body.access_token)?.body.access_token;
  if (!token) return [];
  const raw = element("p", [element("code", [token])], "raw");
  const title = element(
    "div",
    [element("h3", ["The access token"]), copyButton("Copy token", token)],
    "titled",
  );
  return [title, raw, ...partsOf(token, steps)];
}
