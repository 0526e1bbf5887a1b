/** Takes the steps of people and browsers with the model and with the server: visits, sign-ins, consent pages, registrations. */
import type { Fields } from "../../__tests__/browser/browser";
import { expectRefused, expectThat, type Of, type Run, sameScopes, scopesIn } from "./protocol-expect";
import type { Answer } from "../../__tests__/hosts/listening";
import { type Party, selfOf } from "./protocol-clients";
import { type Asked, chosen, namedScopes, type Page, provenKey, type SignIn } from "./protocol-model";
import { thumbprintOf } from "./protocol-proofs";
import {
  asksRegistrar,
  keepGuest,
  metadataOf,
  type Register,
  registering,
  registrarWords,
} from "./protocol-registrations";
import {
  answerPage,
  challenge,
  cookiesOf,
  issuerOf,
  openAuthorize,
  pathOf,
  post,
  readPage,
  redirectedTo,
  resume,
} from "./protocol-server";
import type { Authorize } from "./protocol-steps";
import {
  answered,
  approve,
  pushing,
  remember,
  sendsChallenge,
  sentRedirect,
  signedIn,
  type Visit,
  visited,
  visitedPushed,
  type Visited,
} from "./protocol-visits";
import { apiFacts, apiOf, lives, type Person, sentenceOf } from "./protocol-world";

const state = "a state & ü=%20";

function requestFields({ step, client }: Visit): Fields {
  const { pair, scope, prompt, flaw } = step;
  const scopes = namedScopes(scope, pair)?.join(" ");
  const badScopes = { "unknown scope": "nothing:read", "malformed scope": 'a "quoted" scope' };
  return {
    client_id: flaw === "unknown client" ? "nobody" : client.id,
    response_type:
      flaw === "no response type" ? undefined : flaw === "response type token" ? "token" : "code",
    redirect_uri: sentRedirect({ step, client }),
    scope: Object.hasOwn(badScopes, flaw) ? Reflect.get(badScopes, flaw) : scopes,
    state: flaw === "state twice" ? [state, state] : state,
    prompt: flaw === "prompt none and consent" ? "none consent" : prompt,
    max_age: step.maxAge?.toString(),
    resource: flaw === "foreign resource" ? "https://api.example/another" : undefined,
    dpop_jkt: step.names && thumbprintOf(step.names),
    ...(sendsChallenge(step) && {
      code_challenge: flaw === "short challenge" ? challenge.slice(1) : challenge,
      code_challenge_method:
        flaw === "no challenge method" ? undefined : flaw === "plain challenge" ? "plain" : "S256",
    }),
  };
}

function checkRedirect(
  expected: Extract<Visited, { kind: "redirect" }> | { kind: "code"; asked: Asked },
  { answer, client, step }: { answer: Answer; client: Party; step: Pick<Authorize, "pair" | "flaw"> },
): string {
  const uri = expected.kind === "code" ? expected.asked.redirectUri : expected.uri;
  const parameters = redirectedTo(answer, { uri, client });
  expectThat(parameters.get("iss") === issuerOf(step.pair), { said: "iss is that of the pair", answer });
  if (step.flaw !== "state twice")
    expectThat(parameters.get("state") === state, { said: "state comes back", answer });
  const [code, error] = [parameters.get("code"), parameters.get("error")];
  if (expected.kind === "code") {
    expectThat(code !== null && error === null, { said: "a code", answer });
    return code;
  }
  const said = expected.errors.join(" or ");
  expectThat(code === null && expected.errors.includes(error ?? ""), { said, answer });
  return "";
}

function checkErrorPage({ status }: { status: number }, answer: Answer): void {
  const said = `a page with ${status}, and no redirect`;
  expectThat(answer.status === status && answer.headers.location === undefined, { said, answer });
}

/** The page says all that can be allowed on it, and nothing else; what is implied has no box of its own. */
function checkShown({ pair, requested, scopes }: Asked, answer: Answer): void {
  const shown = apiFacts[apiOf(pair)].scopes.filter((scope) => answer.text.includes(sentenceOf(scope)));
  expectThat(sameScopes(shown, scopes), { said: `the page shows ${scopes.join(" ")}`, answer });
  const boxes = answer.text.match(/<input[^>]* name="scope_\d+"/g) ?? [];
  expectThat(boxes.length === requested.length, { said: `${requested.length} boxes`, answer });
}

/** What only the server's side knows of a visit. */
interface Arrival extends Visit {
  readonly answer: Answer;
  /** When the visit began. */
  readonly shownAt: number;
}

function settleVisit({ server, model, openPages, waiting }: Run, expected: Visited, arrival: Arrival): void {
  const { step, client, pushed, answer, shownAt } = arrival;
  switch (expected.kind) {
    case "page":
      return checkErrorPage(expected, answer);
    case "sign-in": {
      const interaction = /^\/signin\?interaction=([\w-]+)/.exec(answer.headers.location ?? "")?.[1];
      expectThat(interaction !== undefined, { said: "the sign-in page", answer });
      const signIn: SignIn = { visit: step, pushed, client, self: selfOf(client), shownAt };
      model.signIns.push(signIn);
      waiting.set(signIn, { interaction, cookie: cookiesOf(answer) });
      return;
    }
    case "redirect":
      checkRedirect(expected, { answer, client, step });
      return;
    case "ask": {
      const open = readPage(answer);
      expectThat(open !== undefined, { said: "the consent page", answer });
      checkShown(expected.asked, answer);
      const { signedInAt } = server;
      const page: Page = { asked: expected.asked, shownAt, signedInAt, ended: false };
      model.pages.push(page);
      openPages.set(page, open);
      return;
    }
    case "code": {
      const { asked } = expected;
      approve(model, { asked, code: checkRedirect({ kind: "code", asked }, { answer, client, step }) });
    }
  }
}

function beInBrowser({ server }: Run, { person, signedInAt }: { person: Person; signedInAt: number }): void {
  Object.assign(server, { person, signedInAt });
}

/** A visit to the authorization endpoint. */
export async function takeAuthorize(run: Run, step: Authorize): Promise<void> {
  const { server, model } = run;
  const client = model.parties.get(step.client);
  if (!client) return;
  const expected = visited(model, { step, client });
  beInBrowser(run, { person: step.person, signedInAt: model.signedInAt });
  const fields = requestFields({ step, client });
  const answer = await openAuthorize(server, { pair: step.pair, fields });
  settleVisit(run, expected, { step, client, answer, shownAt: model.now });
}

/** A client pushes a request. */
export async function takePush({ server, model }: Run, { visit: step, ...sent }: Of<"push">): Promise<void> {
  const client = model.parties.get(step.client);
  if (!client) return;
  const { proof, by, key: choice } = sent;
  const { pair } = step;
  const calling = { client, pair, proof, by, proves: provenKey(pair, { choice, bound: undefined }) };
  const expected = pushing(model, { calling, step });
  const { client_id: _, ...form } = requestFields({ step, client });
  const answer = await post(server, { pair, endpoint: "par", credentials: calling, form });
  if (expected.kind === "refused") return expectRefused(expected, answer);
  const { request_uri: uri, expires_in: seconds } = answer.body;
  const isRight = answer.status === 201 && typeof uri === "string" && seconds === lives.pushed;
  expectThat(isRight, { said: "a request_uri", answer });
  const { names: _named, ...rest } = step;
  const visit = { ...rest, ...(expected.key && { names: expected.key }) };
  model.pushed.push({ uri, client, visit, expiresAt: model.now + lives.pushed, used: false });
}

/** Somebody comes with a request that a client has pushed. */
export async function takePushed(run: Run, { of, person, as }: Of<"visit pushed">): Promise<void> {
  const { server, model } = run;
  const pushed = chosen(model.pushed, of);
  const client = pushed && (as === "own" ? pushed.client : model.parties.get(as));
  if (!pushed || !client) return;
  const expected = visitedPushed(model, { pushed, person, client });
  beInBrowser(run, { person, signedInAt: model.signedInAt });
  const { pair } = pushed.visit;
  const fields = { client_id: client.id, request_uri: pushed.uri };
  const answer = await openAuthorize(server, { pair, fields });
  server.note(`a pushed request leads to ${expected.kind}`);
  const step = { ...pushed.visit, person };
  settleVisit(run, expected, { step, client, pushed, answer, shownAt: model.now });
}

/** Somebody signs in on the host's page, and comes back. */
export async function takeSignIn(run: Run, { of, person }: Of<"sign in">): Promise<void> {
  const { server, model, waiting } = run;
  const signIn = chosen(model.signIns, of);
  const browser = signIn && waiting.get(signIn);
  if (!signIn || !browser) return;
  const expected = signedIn(model, { signIn, person });
  beInBrowser(run, { person, signedInAt: model.now });
  model.signIns.splice(model.signIns.indexOf(signIn), 1);
  const { visit: step, client, pushed, shownAt } = signIn;
  const answer = await resume(server, { pair: step.pair, ...browser });
  settleVisit(run, expected, { step: { ...step, person }, client, pushed, answer, shownAt });
}

/** Somebody answers a consent page. */
export async function takeAnswer(run: Run, { of, decision }: Of<"answer">): Promise<void> {
  const { server, model, openPages } = run;
  const page = chosen(model.pages, of);
  const open = page && openPages.get(page);
  if (!page || !open) return;
  const expected = answered(model, { page, decision });
  const { asked, signedInAt } = page;
  beInBrowser(run, { person: asked.person, signedInAt });
  model.pages.splice(model.pages.indexOf(page), 1);
  const answer = await answerPage(server, { ...open, decision });
  if (expected.kind === "page") return checkErrorPage(expected, answer);
  if (expected.kind !== "redirect" && expected.kind !== "code") return;
  const step = { pair: asked.pair, flaw: "" as const };
  const code = checkRedirect(expected as Parameters<typeof checkRedirect>[0], {
    answer,
    client: asked.client,
    step,
  });
  if (expected.kind !== "code") return;
  remember(model, { asked, allowed: expected.asked.scopes });
  approve(model, { asked: expected.asked, code });
}

/** A client registers itself. */
export async function takeRegister({ server, model }: Run, step: Register): Promise<void> {
  const expected = registering(step);
  server.guestsAsked = 0;
  server.approveClient = () => registrarWords(step);
  const answer = await server.sendJson(pathOf(step.pair, "register"), metadataOf(step));
  expectThat(server.guestsAsked === (asksRegistrar(step) ? 1 : 0), {
    said: "the host is asked last",
    answer,
  });
  if (expected.kind === "refused") return expectRefused(expected, answer);
  const { scopes } = expected;
  const { client_id: id, client_secret: secret } = answer.body as {
    client_id: string;
    client_secret?: string;
  };
  expectThat(answer.status === 201 && typeof id === "string", { said: "a new client", answer });
  expectThat(sameScopes(scopesIn(answer), scopes), { said: `scope ${scopes.join(" ")}`, answer });
  keepGuest(model, { step, scopes, id, secret });
  const { secret: has, proof } = model.parties.get(step.who) ?? {};
  expectThat((has !== undefined) === (proof === "secret"), { said: "a secret where it needs one", answer });
}

/** The client with a document says something else of itself; the server learns of it when it reads the document again. */
export function changeDocument({ server, model }: Run): void {
  const self = model.parties.get("document")?.self;
  if (self?.by !== "document") return;
  self.served += 1;
  server.publish(self.served);
}
