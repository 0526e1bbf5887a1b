/** All that a client and a person ask of a host in one life, over HTTP, with every answer and every secret in it. */
import { formFields } from "../browser/browser";
import { codeChallenge, codeVerifier } from "../browser/authorization-request";
import { basic } from "../hosts/clients";
import { newSecrets, markAnswer, type Secrets } from "../requests/marked-secrets";
import { clientCallback, clientSecret, issuerPath } from "../hosts/neighbour-host";

/** An answer, with the request that it belongs to. */
export interface LifeAnswer {
  readonly url: URL;
  readonly request: string;
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** What has happened. */
export interface Life {
  /** `POST {issuer}/token 200`, one line for each request. */
  readonly trace: readonly string[];
  readonly answers: readonly LifeAnswer[];
  readonly secrets: Secrets;
  /** The answers to requests with this beginning. */
  to(request: string): readonly LifeAnswer[];
}

/** A person's email address, which the client passes on as `login_hint`. */
export const loginHint = "alice.of.wonderland@people.example";

/** A browser with a cookie jar that remembers all answers. */
export interface Walker {
  readonly cookies: Map<string, string>;
  readonly answers: LifeAnswer[];
  send(url: string | URL, init?: RequestInit): Promise<LifeAnswer>;
  /** Sends it as the browser does, with its cookies. */
  browse(url: string | URL, init?: RequestInit): Promise<LifeAnswer>;
  /** Follows redirects, and stops at an answer that is none, or that leads to a URL with this beginning. */
  follow(answer: LifeAnswer, stopAt?: string): Promise<LifeAnswer>;
  /** Posts the form of a page. */
  submit(page: LifeAnswer, fields: Readonly<Record<string, string>>): Promise<LifeAnswer>;
}

/** A browser that nobody has used, at the host of this origin. */
export function newWalker(origin: string): Walker {
  const cookies = new Map<string, string>();
  const answers: LifeAnswer[] = [];

  function keepCookies(headers: Headers): void {
    for (const line of headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (/Max-Age=0|Expires=Thu, 01 Jan 1970/.test(line)) cookies.delete(name);
      else cookies.set(name, value);
    }
  }

  async function send(url: string | URL, init: RequestInit = {}): Promise<LifeAnswer> {
    const target = new URL(url, origin);
    const response = await fetch(target, { ...init, redirect: "manual" });
    const path = target.pathname.replace(issuerPath, "{issuer}");
    const answer = {
      url: target,
      request: `${init.method ?? "GET"} ${path}`,
      status: response.status,
      headers: response.headers,
      text: await response.text(),
    };
    answers.push(answer);
    return answer;
  }

  /** The address of the page that the browser is on, which a form without an action is sent to. */
  let address = new URL(origin);

  const walker: Walker = {
    cookies,
    answers,
    send,
    async browse(url, init = {}) {
      const target = new URL(url, address);
      const cookie = [...cookies].map((pair) => pair.join("=")).join("; ");
      // to pages of the same origin, a browser sends the whole address of the page that it was on
      const referer = address.origin === target.origin ? address.href : `${address.origin}/`;
      const own = init.method === "POST" ? { origin: address.origin } : {};
      const given = init.headers as Record<string, string>;
      address = target;
      const headers = { accept: "text/html", cookie, referer, ...own, ...given };
      const answer = await send(target, { ...init, headers });
      keepCookies(answer.headers);
      return answer;
    },
    async follow(answer, stopAt) {
      const location = answer.headers.get("location");
      if (location === null || (stopAt !== undefined && location.startsWith(stopAt))) return answer;
      return walker.follow(await walker.browse(new URL(location, address)), stopAt);
    },
    submit(page, fields) {
      const form = /<form[^>]*>/.exec(page.text)?.[0] ?? "";
      const action = /action="([^"]*)"/.exec(form)?.[1]?.replaceAll("&amp;", "&") ?? "";
      const body = new URLSearchParams({ ...formFields(page.text), ...fields });
      return walker.browse(new URL(action, address), { method: "POST", body });
    },
  };
  return walker;
}

/** The address that the client sends people to. */
export function authorizeUrl(origin: string, fields: Readonly<Record<string, string>> = {}): string {
  const good = {
    client_id: "web",
    response_type: "code",
    redirect_uri: `${origin}${clientCallback}`,
    scope: "orders:read",
    state: "the state of this browser",
    code_challenge: codeChallenge,
    code_challenge_method: "S256",
    login_hint: loginHint,
  };
  return `${origin}${issuerPath}/authorize?${new URLSearchParams({ ...good, ...fields }).toString()}`;
}

/** A request of the client, which sends its secret by HTTP Basic. */
export function asClient(
  walker: Walker,
  endpoint: string,
  fields: Record<string, string>,
): Promise<LifeAnswer> {
  const headers = { authorization: basic("web", clientSecret) };
  return walker.send(`${issuerPath}/${endpoint}`, {
    method: "POST",
    headers,
    body: new URLSearchParams(fields),
  });
}

interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
}

const tokensOf = ({ text }: LifeAnswer): Tokens => JSON.parse(text) as Tokens;

const callOrders = (walker: Walker, token: string): Promise<LifeAnswer> =>
  walker.send("/orders", { headers: { authorization: `Bearer ${token}` } });

/** How a person signs in on the page that comes first. */
export type SignIn = (walker: Walker, page: LifeAnswer) => Promise<LifeAnswer>;

const typeName: SignIn = (walker, page) => walker.submit(page, { name: "alice", password: "wonderland" });

/** Sign-in, consent, code; the last answer is that of the client's callback. */
async function approve(walker: Walker, { origin, signIn }: { origin: string; signIn: SignIn }) {
  const signInPage = await walker.follow(await walker.browse(authorizeUrl(origin)));
  const consentPage = await walker.follow(await signIn(walker, signInPage));
  const forged = { form_token: "made up", decision: "approve" };
  await walker.submit(consentPage, forged);
  await walker.browse(authorizeUrl(origin));
  const page = walker.answers.at(-1) ?? consentPage;
  const answered = await walker.submit(page, { decision: "approve" });
  await walker.follow(answered);
  return new URL(answered.headers.get("location") ?? origin).searchParams.get("code") ?? "";
}

async function useTokens(walker: Walker, code: string): Promise<void> {
  const redemption = { grant_type: "authorization_code", code, code_verifier: codeVerifier };
  await asClient(walker, "token", { ...redemption, code: `${code}x` });
  const first = tokensOf(await asClient(walker, "token", redemption));
  await callOrders(walker, first.access_token);
  const { refresh_token } = first;
  const second = tokensOf(await asClient(walker, "token", { grant_type: "refresh_token", refresh_token }));
  await callOrders(walker, second.access_token);
  await asClient(walker, "introspect", { token: second.access_token });
  await asClient(walker, "revoke", { token: second.refresh_token });
  await callOrders(walker, second.access_token);
}

async function beRefused(walker: Walker, origin: string): Promise<void> {
  await walker.send("/orders");
  await callOrders(walker, "no token");
  const wrong = { authorization: basic("web", "a wrong secret, quite long") };
  const body = new URLSearchParams({ grant_type: "client_credentials" });
  await walker.send(`${issuerPath}/token`, { method: "POST", headers: wrong, body });
  await asClient(walker, "token", { grant_type: "password" });
  await walker.browse(authorizeUrl(origin, { client_id: "nobody" }));
  await walker.browse(authorizeUrl(origin, { response_type: "token" }));
  const page = await walker.browse(authorizeUrl(origin, { prompt: "consent" }));
  await walker.follow(await walker.submit(page, { decision: "deny" }));
}

const documents = [
  `${issuerPath}/.well-known/oauth-authorization-server`,
  `/.well-known/oauth-authorization-server${issuerPath}`,
  "/.well-known/oauth-protected-resource/orders",
  "/login/jwks",
];

/** What happens in a host without neighbours, and has to happen with them. */
export const wholeLife: readonly string[] = [
  "GET {issuer}/authorize 302",
  "GET /sign-in 200",
  "POST /sign-in 303",
  "GET {issuer}/authorize/resume 200",
  "POST {issuer}/authorize/consent 200",
  "GET {issuer}/authorize 200",
  "POST {issuer}/authorize/consent 303",
  "GET /client/callback 200",
  "POST {issuer}/token 400",
  "POST {issuer}/token 200",
  "GET /orders 200",
  "POST {issuer}/token 200",
  "GET /orders 200",
  "POST {issuer}/introspect 200",
  "POST {issuer}/revoke 200",
  "GET /orders 401",
  "GET /orders 401",
  "GET /orders 400",
  "POST {issuer}/token 401",
  "POST {issuer}/token 400",
  "GET {issuer}/authorize 400",
  "GET {issuer}/authorize 302",
  "GET {issuer}/authorize 200",
  "POST {issuer}/authorize/consent 303",
  "GET /client/callback 200",
  "GET {issuer}/.well-known/oauth-authorization-server 200",
  "GET /.well-known/oauth-authorization-server{issuer} 200",
  "GET /.well-known/oauth-protected-resource/orders 200",
  "GET /login/jwks 200",
];

function secretsOf(answers: readonly LifeAnswer[]): Secrets {
  const secrets = newSecrets();
  secrets.mark("client secret", clientSecret);
  secrets.mark("client secret", basic("web", clientSecret).slice("Basic ".length));
  secrets.mark("code verifier", codeVerifier);
  secrets.mark("login hint", loginHint);
  for (const { status, headers, text } of answers) {
    const written = { location: headers.get("location"), "set-cookie": headers.getSetCookie() };
    markAnswer(secrets, { status, headers: written, body: text });
  }
  return secrets;
}

/** A whole life at the host of this origin. */
export async function live(
  { origin }: { readonly origin: string },
  signIn: SignIn = typeName,
): Promise<Life> {
  const walker = newWalker(origin);
  const code = await approve(walker, { origin, signIn });
  await useTokens(walker, code);
  await beRefused(walker, origin);
  for (const document of documents) await walker.send(document);
  const { answers } = walker;
  return {
    answers,
    trace: answers.map(({ request, status }) => `${request} ${status}`),
    secrets: secretsOf(answers),
    to: (request) => answers.filter((answer) => answer.request.startsWith(request)),
  };
}

/** The lines of a trace that the authorization server and the API have written. */
export function ofServer(trace: readonly string[]): readonly string[] {
  return trace.filter((line) => !/ \/(?:sign-in|client)/.test(line));
}
