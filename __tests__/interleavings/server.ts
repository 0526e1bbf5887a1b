/** A process of the server: the real endpoints and ends, with no HTTP around them. Each operation has a process of its own. */
import type { IncomingMessage } from "node:http";
import type { AuthServerEvent } from "../../lib";
import { clientLookup } from "../../lib/clients/client-lookup";
import {
  authorizationEndpoint,
  type AuthorizationOutcome,
  type AuthorizationPorts,
  denyAuthorization,
} from "../../lib/endpoints/authorization";
import { answerClient, type ClientEndpointPorts } from "../../lib/endpoints/client-endpoint";
import { introspectionEndpoint } from "../../lib/endpoints/introspection";
import { registrationEndpoint, type RegistrationPorts } from "../../lib/endpoints/registration";
import { revocationEndpoint } from "../../lib/endpoints/revocation";
import { tokenEndpoint } from "../../lib/endpoints/token";
import type { EndPorts } from "../../lib/end-user/ends";
import type { ConsentDecision, EndUserPort } from "../../lib/end-user/port";
import { parametersFromObject } from "../../lib/protocol/parameters";
import { jwtSigner } from "../../lib/signing/jwt-signer";
import { accessTokenVerifier } from "../../lib/tokens/verify-access-token";
import type { ShownPage } from "../fixture/rule-server";
import { client, clientSecret, drawOf, type Host, verifySecret } from "./host";
import { aroundCalls } from "./touches";

/** How an operation went, as whoever asked for it knows it. */
export interface Outcome {
  readonly kind: "done" | "refused" | "failed";
  /** The OAuth error of a refusal. */
  readonly error?: string;
  readonly body?: Readonly<Record<string, unknown>>;
  readonly code?: string;
}

type Event = AuthServerEvent["kind"];

/** An event, as far as it is looked at. */
export interface Heard {
  readonly kind: Event;
  readonly authorizationId?: string;
}

/** Any text that tells the process from others; a number for one whose calls are held. */
interface ProcessOptions {
  readonly name: number | "before" | "after";
  readonly lagSeconds: number;
}

type AllPorts = AuthorizationPorts & ClientEndpointPorts & EndPorts & RegistrationPorts;

function portsOf(host: Host, { name, lagSeconds }: ProcessOptions) {
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
  const ports: AllPorts = {
    storage,
    clients: clientLookup(storage, { lagSeconds, clock, redirectSchemes: [] }),
    signer: jwtSigner(host.ring, clock),
    successors: host.successorsOf(drawOf(`${name} salt`, 22)),
    emit: (event) => void events.push(event),
    clock,
    redirectSchemes: [],
    randomId: drawOf(`${name}`, 22),
    randomToken: drawOf(`${name}`, 43),
    verifySecret,
    fetchKeys: async () => undefined,
    tokens: { decide: () => held("host.decideToken", () => ({ kind: "issue" }) as const) },
    adapter: { approve: () => held("host.approveRegistration", () => ({ kind: "approved" }) as const) },
  };
  const endUser: EndUserPort = {
    authenticate: () =>
      held("host.authenticate", () =>
        host.isSignedIn()
          ? ({ kind: "authenticated", subject: "alice" } as const)
          : ({ kind: "interaction", url: "/sign-in" } as const),
      ),
    decideConsent: () => held("host.decideConsent", () => ({ kind: "ask" }) as const),
  };
  return { ports, events, endUser, held };
}

function outcomeOf(outcome: AuthorizationOutcome): Outcome {
  if (outcome.kind !== "answered") return { kind: "refused", error: outcome.kind };
  const { response } = outcome;
  if (response.kind !== "redirect") return { kind: response.status >= 500 ? "failed" : "refused" };
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

function requestsOf(host: Host, { ports, endUser }: ReturnType<typeof portsOf>) {
  const { issuer } = host;

  function authorize(
    scope: string,
    { page, ...more }: { prompt?: string; page?: ShownPage; decision?: ConsentDecision } = {},
  ): Promise<AuthorizationOutcome> {
    const parameters = parametersFromObject({
      client_id: client.clientId,
      response_type: "code",
      redirect_uri: client.redirectUris[0] ?? "",
      scope,
      ...(more.prompt !== undefined && { prompt: more.prompt }),
    });
    return authorizationEndpoint(ports, {
      issuer,
      parameters,
      endUser,
      interactionBegan: page && host.now(),
      shown: page?.request,
      shownClient: undefined,
      decision: more.decision,
      choosesAccount: false,
    });
  }

  return {
    async post(endpoint: keyof typeof endpoints, fields: Record<string, string>): Promise<Outcome> {
      const parameters = parametersFromObject({
        client_id: client.clientId,
        client_secret: clientSecret,
        ...fields,
      });
      const request = { issuer, parameters, method: "POST", url: "/", headers: {} };
      const { response: answer } = await answerClient(ports, { endpoint: endpoints[endpoint], request });
      const body = answer.body as Readonly<Record<string, unknown>>;
      if (answer.status === 200) return { kind: "done", body };
      return { kind: answer.status >= 500 ? "failed" : "refused", error: String(body["error"]) };
    },
    async show(scope: string): Promise<ShownPage> {
      const outcome = await authorize(scope);
      if (outcome.kind !== "ask") throw new Error("no page was shown");
      return outcome;
    },
    silent: async (): Promise<Outcome> => outcomeOf(await authorize("orders:read", { prompt: "none" })),
    async answer(page: ShownPage, answer: "yes" | "no"): Promise<Outcome> {
      const { requestedScopes } = page.request;
      const decision: ConsentDecision = {
        isBy: () => true,
        endMarks: page.asked.standing.endMarks,
        answer: (requested) => (answer === "yes" ? requested : "denied"),
      };
      return outcomeOf(await authorize(requestedScopes.join(" "), { page, decision }));
    },
    /** The no of a page of the host: `auth.deny`. */
    async deny(): Promise<Outcome> {
      const parameters = parametersFromObject({
        client_id: client.clientId,
        response_type: "code",
        redirect_uri: client.redirectUris[0] ?? "",
        scope: "orders:write",
      });
      const response = await denyAuthorization(ports, { issuer, parameters });
      return outcomeOf({ kind: "answered", response, isDecided: true });
    },
    async register(): Promise<Outcome> {
      const value = { redirect_uris: ["https://new.example/callback"], client_name: "New" };
      const message = { kind: "json", value } as const;
      const req = {} as IncomingMessage;
      const { status, body } = await registrationEndpoint(ports, { issuer, req, message });
      if (status === 201) return { kind: "done", body: body as Readonly<Record<string, unknown>> };
      return { kind: status >= 500 ? "failed" : "refused" };
    },
  };
}

/** A process of the server over what processes share. */
export function newProcess(host: Host, options: ProcessOptions) {
  const bound = portsOf(host, options);
  const { ports, events, held } = bound;
  const { lagSeconds: revocationLagSeconds } = options;
  const verify = accessTokenVerifier(ports, { api: host.issuer.api, revocationLagSeconds });
  return {
    ports,
    events,
    /** A step of the host's own. It touches whatever `touchesOf` says of its name. */
    held,
    ...requestsOf(host, bound),
    /** Whether an API behind this process accepts the token. It remembers those that it has accepted for the lag. */
    accepts: async (accessToken: string): Promise<boolean> => (await verify(accessToken)).kind === "valid",
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
