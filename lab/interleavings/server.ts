/** A process of the server: the real endpoints and ends, with no HTTP around them. Each operation has a process of its own. */
import type { IncomingMessage } from "node:http";
import type { AuthorizationContext, AuthServerEvent, Client, Storage, TokenDecision } from "../../lib";
import { clientLookup } from "../../lib/clients/client-lookup";
import type { ClientRegistrationAdapter } from "../../lib/clients/port";
import { selfDescribedClients, type SelfDescribedPorts } from "../../lib/strangers/document-clients";
import {
  type AuthorizationOutcome,
  type AuthorizationPorts,
  comeBack,
  denyAuthorization,
  firstVisit,
} from "../../lib/endpoints/authorization";
import { answerClient, type ClientEndpointPorts } from "../../lib/endpoints/client-endpoint";
import { deviceRequests } from "../../lib/endpoints/device-authorization";
import { introspectionEndpoint } from "../../lib/endpoints/introspection";
import { userinfoEndpoint } from "../../lib/bearer/userinfo";
import { registrationEndpoint, type RegistrationPorts } from "../../lib/endpoints/registration";
import { revocationEndpoint } from "../../lib/endpoints/revocation";
import { tokenEndpoint } from "../../lib/endpoints/token";
import type { NarrowPorts } from "../../lib/end-user/narrow";
import type { ConsentDecision, EndUserPort } from "../../lib/end-user/port";
import { vouchedPerson } from "../../lib/end-user/vouched-person";
import type { PushedRequest } from "../../lib/protocol/authorization-request";
import { accessTokenType } from "../../lib/protocol/access-token";
import { exchangeGrant } from "../../lib/protocol/client";
import type { Issuer } from "../../lib/protocol/issuer";
import type { DeviceInteraction } from "../../lib/protocol/device";
import { parametersFromObject } from "../../lib/protocol/parameters";
import { idTokenSigner, jwtSigner } from "../../lib/signing/jwt-signer";
import { idTokenIssuer } from "../../lib/tokens/identity";
import { accessTokenVerifier } from "../../lib/tokens/verify-access-token";
import { codeChallenge } from "../../__tests__/browser/authorization-request";
import { noKeysFound } from "../../__tests__/records/found-documents";
import type { ShownPage } from "../../__tests__/hosts/rule-server";
import { boundClient } from "./bound-client";
import { listedProvider } from "./identity-provider";
import { client, clientSecret, drawOf, type Host, type IdentityLooks, verifySecret } from "./host";
import { aroundCalls } from "./touches";

/** How an operation went, as whoever asked for it knows it. */
export interface Outcome {
  readonly kind: "done" | "refused" | "failed";
  /** The OAuth error of a refusal. */
  readonly error?: string;
  readonly description?: string;
  readonly body?: Readonly<Record<string, unknown>>;
  readonly code?: string;
}

type Event = AuthServerEvent["kind"];

/** An event, as far as it is looked at. */
export interface Heard {
  readonly kind: Event;
  readonly authorizationId?: string;
}

interface ProcessOptions {
  /** Any text that tells the process from others; a number for one whose calls are held. */
  readonly name: number | "before" | "after" | `again ${number}`;
  readonly lagSeconds: number;
  /** What the host says about every token: that it may be issued, when left out. */
  readonly word?: TokenDecision | undefined;
}

/** A consent page that Alice is shown. */
export interface NamedPage extends ShownPage {
  readonly name: string;
}

/** Who asks for an approval, and in which context the person is there. Left out: the client of the family, and none. */
export interface Visit {
  readonly client?: Pick<Client, "clientId" | "redirectUris">;
  readonly context?: AuthorizationContext;
  /** What the client has pushed. */
  readonly pushed?: PushedRequest;
  /** The device that asks. */
  readonly device?: DeviceInteraction;
}

const asItIs = (looks: IdentityLooks): IdentityLooks => looks;

/** What the host knows of Alice. */
const claimsOfAlice = { email: "alice@example.org", email_verified: true };

type AllPorts = AuthorizationPorts & ClientEndpointPorts & NarrowPorts & RegistrationPorts;

/** How clients are looked up: those of the table, and those that have registered themselves. */
function lookupOf(
  { issuer, stock, now: clock }: Host,
  {
    storage,
    lagSeconds,
    adapter,
  }: { storage: Storage; lagSeconds: number; adapter: ClientRegistrationAdapter },
) {
  const selfDescribed = selfDescribedClients({
    storage,
    clock,
    registrars: new Map([[issuer.api.apiId, adapter]]),
    adapters: new Map(),
    // no client has one
    documents: {} as SelfDescribedPorts["documents"],
    emit: () => undefined,
    redirectSchemes: [],
    insecureLoopback: false,
  });
  return clientLookup(storage, {
    lagSeconds,
    clock,
    redirectSchemes: [],
    apis: [issuer.api, stock.api],
    selfDescribed,
  });
}

function portsOf(host: Host, { name, lagSeconds, word = { kind: "issue" } }: ProcessOptions) {
  const events: Heard[] = [];
  function held<T>(call: string, answer: () => T): Promise<T> {
    const given = async (): Promise<T> => answer();
    const asked = { name: call, args: [], call: given };
    return typeof name === "number" ? (host.scheduler.hold(name, asked) as Promise<T>) : given();
  }
  const storage =
    typeof name === "number"
      ? host.plant(
          aroundCalls(host.storage, (call, args, run) =>
            host.scheduler.hold(name, { name: call, args, call: run }),
          ),
        )
      : host.storage;
  const clock = host.now;
  const adapter: ClientRegistrationAdapter = {
    approve: () => held("host.approveRegistration", () => ({ kind: "approved" }) as const),
  };
  const { apiId, openid } = host.issuer.api;
  const clients = lookupOf(host, { storage, lagSeconds, adapter });
  const looks = (typeof name === "number" ? host.plantIdentity : asItIs)({ storage, clients });
  const idTokens = idTokenSigner(host.ring, clock);
  const [randomId, randomToken] = [drawOf(`${name}`, 22), drawOf(`${name}`, 43)];
  const emit = (event: Heard): void => void events.push(event);
  const { parkedRequests } = storage;
  if (!parkedRequests) throw new Error("this storage cannot keep what devices ask for");
  const ofDevices = { clients, storage: { parkedRequests }, emit, clock, randomId, randomToken };
  const devices = deviceRequests({ ...ofDevices, baseUrl: "https://host.example" });
  const adapters = new Map([[apiId, { claims: () => held("host.claims", () => claimsOfAlice) }]]);
  const accept = () =>
    held("host.accept", () =>
      host.isSignedIn()
        ? ({ kind: "authenticated", subject: "alice" } as const)
        : ({ kind: "denied" } as const),
    );
  const authMethods = { [host.issuer.authMethodId]: { identityAssertions: { issuers: {}, accept } } };
  const ports: AllPorts & { readonly devices: typeof devices } = {
    storage,
    clients,
    signer: jwtSigner(host.ring, clock),
    idTokens,
    issueIdToken: openid && idTokenIssuer({ ...looks, signer: idTokens, adapters }),
    successors: host.successorsOf(drawOf(`${name} salt`, 22)),
    emit,
    devices,
    clock,
    redirectSchemes: [],
    insecureLoopback: false,
    randomId,
    randomToken,
    verifySecret,
    fetchKeys: async () => noKeysFound,
    identityAssertions: {
      ...listedProvider,
      storage,
      clock,
      vouch: (question) => vouchedPerson({ storage, clients, clock, authMethods }, question),
    },
    tokens: { decide: () => held("host.decideToken", () => word) },
    adapter,
  };
  const endUserIn = (context: AuthorizationContext | undefined): EndUserPort => ({
    authenticate: () =>
      held("host.authenticate", () =>
        host.isSignedIn()
          ? ({ kind: "authenticated", subject: "alice", ...(context && { context }) } as const)
          : ({ kind: "interaction", url: "/sign-in" } as const),
      ),
    decideConsent: () => held("host.decideConsent", () => ({ kind: "ask" }) as const),
  });
  return { ports, looks, adapters, events, endUserIn, held };
}

function outcomeOf(outcome: AuthorizationOutcome): Outcome {
  if (outcome.kind !== "answered") return { kind: "refused", error: outcome.kind };
  const { response } = outcome;
  if (response.kind === "error-page") return { kind: response.status >= 500 ? "failed" : "refused" };
  if (response.kind === "device-end")
    return response.error === undefined ? { kind: "done" } : { kind: "refused", error: response.error };
  if (response.kind === "form-post") throw new Error("no client here asks for a form");
  const { searchParams } = new URL(response.location);
  const [code, error] = [searchParams.get("code"), searchParams.get("error") ?? undefined];
  if (code !== null) return { kind: "done", code };
  const isFailure = error === "server_error" || error === "temporarily_unavailable";
  return { kind: isFailure ? "failed" : "refused", ...(error !== undefined && { error }) };
}

const endpoints = {
  token: tokenEndpoint,
  revoke: revocationEndpoint,
  introspect: introspectionEndpoint,
} as const;

/** A visit to the authorization endpoint: the first one, or the way back from a page. */
interface Authorizing extends Visit {
  readonly scope: string;
  readonly prompt?: "none" | "consent";
  readonly page?: NamedPage;
  readonly decision?: ConsentDecision;
}

function browserOf(host: Host, { ports, endUserIn }: ReturnType<typeof portsOf>) {
  const { issuer } = host;
  const nameOfPage = drawOf("page", 22);

  function authorize({ scope, client: by = client, ...more }: Authorizing): Promise<AuthorizationOutcome> {
    const { prompt, page, decision, context, pushed = page?.request.pushed } = more;
    const { device = page?.request.target.device } = more;
    const parameters = parametersFromObject({
      client_id: by.clientId,
      response_type: "code",
      redirect_uri: by.redirectUris[0] ?? "",
      scope,
      ...(prompt !== undefined && { prompt }),
      ...(by.clientId === boundClient.clientId && {
        code_challenge: codeChallenge,
        code_challenge_method: "S256",
      }),
    });
    const visit = { issuer, parameters, pushed, device, port: endUserIn(context) };
    // whom a device sends comes from its page, and not from the client
    if (!page && !device) return firstVisit(ports, visit);
    const back = {
      began: host.now(),
      shown: page?.request ?? { requestedScopes: scope.split(" "), grantableScopes: scope.split(" ") },
      shownClient: page?.request.client.selfDescription?.digest,
      page: page ? { name: page.name, shownTo: "alice" } : { name: nameOfPage(), shownTo: undefined },
      decision,
      mustAsk: decision !== undefined,
      choosesAccount: false,
    };
    return comeBack(ports, { ...visit, back });
  }

  return {
    /** A consent page, whatever the person has allowed before. */
    async show(scope: string, visit: Visit = {}): Promise<NamedPage> {
      const outcome = await authorize({ scope, prompt: "consent", ...visit });
      if (outcome.kind !== "ask") throw new Error("no page was shown");
      return { ...outcome, name: nameOfPage() };
    },
    silent: async (visit: Visit = {}, scope = "orders:read"): Promise<Outcome> =>
      outcomeOf(await authorize({ scope, prompt: "none", ...visit })),
    async answer(page: NamedPage, answer: "yes" | "read only" | "no"): Promise<Outcome> {
      const { requestedScopes, client: by } = page.request;
      const { basis, endUser } = page.asked;
      const decision: ConsentDecision = {
        isBy: () => true,
        endMarks: basis.endMarks,
        answer: (requested) => {
          if (answer === "no") return "denied";
          return answer === "yes" ? requested : requested.filter((scope) => scope === "orders:read");
        },
      };
      const { context } = endUser;
      const scope = requestedScopes.join(" ");
      return outcomeOf(await authorize({ scope, client: by, page, decision, ...(context && { context }) }));
    },
    /** The no of a page of the host: `auth.deny`. */
    async deny({ name, request: { target } }: NamedPage): Promise<Outcome> {
      const parameters = parametersFromObject({
        client_id: client.clientId,
        response_type: "code",
        redirect_uri: client.redirectUris[0] ?? "",
        scope: "orders:write",
      });
      const page = { name, shownTo: "alice" };
      const { device } = target;
      const response = await denyAuthorization(ports, { issuer, parameters, device, page });
      return outcomeOf({ kind: "answered", response, isDecided: true });
    },
  };
}

/** The same storage, with room for so many registrations. */
function withRoomFor(
  room: number,
  { clientRegistrations }: RegistrationPorts["storage"],
): RegistrationPorts["storage"] {
  const create: typeof clientRegistrations.create = (registration, { now }) =>
    clientRegistrations.create(registration, { limit: room, now });
  return { clientRegistrations: { ...clientRegistrations, create } };
}

function clientRequestsOf({ issuer: own, stock }: Host, { ports, events }: ReturnType<typeof portsOf>) {
  async function post(
    endpoint: keyof typeof endpoints | "device",
    fields: Record<string, string>,
    { issuer = own, headers = {} }: { issuer?: Issuer; headers?: Readonly<Record<string, string>> },
  ): Promise<Outcome> {
    const isOther = "client_id" in fields || "client_assertion" in fields;
    const parameters = parametersFromObject({
      ...(!isOther && { client_id: client.clientId, client_secret: clientSecret }),
      ...fields,
    });
    const request = { issuer, parameters, url: "/", headers };
    const asked = endpoint === "device" ? ports.devices.endpoint : endpoints[endpoint];
    const { response: answer } = await answerClient(ports, { endpoint: asked, request });
    const body = answer.body as Readonly<Record<string, unknown>>;
    if (answer.status === 200) return { kind: "done", body };
    return {
      kind: answer.status >= 500 ? "failed" : "refused",
      error: String(body["error"]),
      description: String(body["error_description"]),
    };
  }
  return {
    /** The resource server exchanges a token that it was called with. */
    exchange(this: void, token: string): Promise<Outcome> {
      const fields = { subject_token: token, subject_token_type: accessTokenType };
      const proof = { client_id: "orders-api", client_secret: clientSecret };
      return post("token", { grant_type: exchangeGrant, ...proof, ...fields }, { issuer: stock });
    },
    /** A request of the client of the family, unless the fields name another one or present an assertion. */
    post: (
      endpoint: keyof typeof endpoints | "device",
      fields: Record<string, string>,
      headers: Readonly<Record<string, string>> = {},
    ): Promise<Outcome> => post(endpoint, fields, { headers }),
    /** Registers a client of a stranger. There is room for so many at most. */
    async register({ room = 10_000 }: { readonly room?: number } = {}): Promise<Outcome> {
      const value = {
        redirect_uris: ["https://new.example/callback"],
        client_name: "New",
        token_endpoint_auth_method: "client_secret_post",
        grant_types: ["authorization_code", "refresh_token"],
      };
      const message = { kind: "json", value } as const;
      const req = {} as IncomingMessage;
      const bounded = { ...ports, storage: withRoomFor(room, ports.storage) };
      const { status, body } = await registrationEndpoint(bounded, { issuer: own, req, message });
      if (status === 201) return { kind: "done", body: body as Readonly<Record<string, unknown>> };
      // a table that is full is no failure, though the client hears 503
      const isRefusal = events.at(-1)?.kind === "registration-refused";
      return { kind: status >= 500 && !isRefusal ? "failed" : "refused" };
    },
  };
}

/** A process of the server over what processes share. */
export function newProcess(host: Host, options: ProcessOptions) {
  const bound = portsOf(host, options);
  const { ports, events, held } = bound;
  const { lagSeconds: revocationLagSeconds } = options;
  const verify = accessTokenVerifier(ports, { api: host.issuer.api, revocationLagSeconds });
  const verifyOfStock = accessTokenVerifier(ports, { api: host.stock.api, revocationLagSeconds });
  return {
    ports,
    events,
    /** A step of the host's own. It touches whatever `touchesOf` says of its name. */
    held,
    ...browserOf(host, bound),
    ...clientRequestsOf(host, bound),
    /** What a relying party hears of the person by this access token. */
    async userinfo(accessToken: string): Promise<Outcome> {
      const { looks, adapters } = bound;
      const guards = new Map([[host.issuer.api.apiId, { verify }]]);
      const headers = { authorization: `Bearer ${accessToken}` };
      const req = { method: "GET", url: "/", headers, rawHeaders: [] } as unknown as IncomingMessage;
      const asked = { req, issuer: host.issuer, path: "" };
      const answer = await userinfoEndpoint({ ...ports, ...looks, adapters, guards }, asked);
      const body = answer.body as Readonly<Record<string, unknown>>;
      return answer.status === 200 ? { kind: "done", body } : { kind: "refused", error: "bearer" };
    },
    /**
     * The scopes of a token that an API behind this process accepts, `undefined` of another one. The API remembers those that it has
     * accepted for the lag.
     */
    async scopeOf(accessToken: string, api: "orders" | "stock" = "orders"): Promise<string | undefined> {
      const verdict = await (api === "stock" ? verifyOfStock : verify)(accessToken);
      return verdict.kind === "valid" ? verdict.accessToken.scopes.join(" ") : undefined;
    },
    /** Looks up the client and accepts these tokens, so that both are remembered for the lag. */
    remember: async (accessTokens: readonly string[]): Promise<void> => {
      const place = { issuer: host.issuer, mayFetch: () => false };
      await ports.clients.findRegistered(client.clientId, place);
      for (const accessToken of accessTokens) await verify(accessToken);
    },
  };
}

/** A process of `newProcess`. */
export type Process = ReturnType<typeof newProcess>;
