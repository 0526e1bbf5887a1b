/** What a message carries: the words on the arrows. Each kind of thing has a colour, which is in sequence.css. */

/** Names of fields → kind and word. */
const words = {
  code: ["code", "code"],
  code_verifier: ["verifier", "verifier"],
  code_challenge: ["verifier", "challenge"],
  access_token: ["access", "access token"],
  refresh_token: ["refresh", "refresh token"],
  token: ["access", "access token"],
  client_secret: ["secret", "secret"],
  device_code: ["code", "device code"],
  user_code: ["", "user code"],
  error: ["error", ""],
  scope: ["", "scope"],
  state: ["", "state"],
  prompt: ["", "prompt"],
  acr_values: ["", "acr_values"],
  active: ["", "active"],
  orders: ["", "orders"],
  item: ["", "order"],
  amount: ["", "amount"],
  report: ["", "report"],
  plan: ["", "plan"],
  org: ["", "org"],
  organization: ["", "organization"],
};

/** A word alone would say too little. */
const withValue = new Set(["active", "prompt", "acr_values", "amount", "org", "organization"]);

function wordsOf(fields) {
  return Object.entries(words).flatMap(([name, [kind, word]]) => {
    if (fields[name] === undefined || fields[name] === "") return [];
    const value = fields[name];
    if (name === "error") return [{ kind, word: value }];
    if (withValue.has(name)) return [{ kind, word: `${name}=${value}` }];
    return [{ kind, word, value }];
  });
}

/** What is in an Authorization header. */
function credentials(header = "") {
  if (header.startsWith("Bearer ")) return [{ kind: "access", word: "access token", value: header.slice(7) }];
  return header.startsWith("Basic ") ? [{ kind: "secret", word: "secret" }] : [];
}

/** Only a redirect URI that is not a client's own is worth a word. */
function strangeRedirect({ redirect_uri: uri = "/callback" }) {
  const { pathname } = new URL(uri, location.href);
  return pathname.endsWith("/callback") ? [] : [{ kind: "error", word: `redirect_uri=${pathname}` }];
}

export function inRequest({ method, url, status, sent: { Authorization: header, ...fields } }) {
  // the playground does not record forms, because they contain passwords
  if (method === "POST" && url === "/signin/password") return [{ kind: "", word: "name and password" }];
  if (method === "POST" && url === "/signin/otp")
    return [{ kind: "", word: status === 200 ? "name" : "one-time code" }];
  if (method === "POST" && url.endsWith("/device")) return [{ kind: "", word: "user code" }];
  if (url.endsWith("/authorize/consent")) return [{ kind: "", word: "the decision" }];
  return [...strangeRedirect(fields), ...wordsOf(fields), ...credentials(header)];
}

/** The query of the URL that an answer redirects to, if that is a client's. */
export function inLocation({ headers }) {
  const { pathname, searchParams } = new URL(headers.location || "/", location.href);
  return pathname.endsWith("/callback") ? Object.fromEntries(searchParams) : {};
}

const pages = [
  ["/authorize/resume", "consent page"],
  ["/authorize", "consent page"],
  ["/signin/password", "sign-in page"],
  ["/signin/otp", "sign-in page"],
  ["/callback", "page"],
];

export function inAnswer(step) {
  const { status, url, headers, body, isLost } = step;
  const page = headers["content-type"]?.startsWith("text/html") && !headers.location;
  if (page && status >= 400) return [{ kind: "error", word: "error page" }];
  if (page) return [{ kind: "", word: pages.find(([end]) => url.endsWith(end))?.[1] ?? "page" }];
  const lost = isLost ? [{ kind: "error", word: "lost" }] : [];
  return [...wordsOf({ ...inLocation(step), ...body }), ...lost];
}

/** The tokens that were issued so far, in their order: for each kind a list. A retry brings the same refresh token again. */
export function issuedTokens(steps) {
  const tokens = steps.flatMap(({ body }) => [
    { kind: "access", value: body.access_token },
    { kind: "refresh", value: body.refresh_token },
  ]);
  return Map.groupBy(
    tokens.filter(
      ({ value }, index) => value && tokens.findIndex((token) => token.value === value) === index,
    ),
    ({ kind }) => kind,
  );
}

/** The second token of a kind is "access token 2", so that the old and the new one can be told apart. */
export function wordFor({ kind, word, value }, issued) {
  const index = issued.get(kind)?.findIndex((token) => token.value === value) ?? 0;
  return index > 0 ? `${word} ${index + 1}` : word;
}
