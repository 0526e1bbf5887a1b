/** The server's rules over a storage, without HTTP: for tests that try very many orders of events. */
import type { AuthServerEvent, Authentication, Client, EpochSeconds, Storage } from "../../lib";
import { clientLookup } from "../../lib/clients/client-lookup";
import {
  type AuthorizationOutcome,
  type AuthorizationPorts,
  comeBack,
  firstVisit,
} from "../../lib/endpoints/authorization";
import type { ClientEndpointPorts } from "../../lib/endpoints/client-endpoint";
import { tokenEndpoint } from "../../lib/endpoints/token";
import type { EndPorts } from "../../lib/end-user/ends";
import type { ConsentDecision, EndUserPort } from "../../lib/end-user/port";
import type { AuthorizationContext } from "../../lib/protocol/authorization-context";
import type { Issuer } from "../../lib/protocol/issuer";
import { parametersFromObject } from "../../lib/protocol/parameters";
import { randomValues } from "../../lib/system";
import { refreshSuccessors } from "../../lib/tokens/refresh-successor";
import { accessTokenVerifier } from "../../lib/tokens/verify-access-token";
import { noKeysFound } from "../records/found-documents";

/** A consent page that is shown. */
export type ShownPage = Extract<AuthorizationOutcome, { kind: "ask" }>;

/** What a visit to the authorization endpoint ends with. */
export interface Answer {
  readonly code: string | undefined;
  readonly error: string | undefined;
}

/** What the token endpoint gives. */
export interface Tokens {
  readonly access_token: string;
  readonly refresh_token?: string;
}

/** What the rules work with. */
export interface RuleServerOptions {
  readonly client: Client;
  readonly issuer: Issuer;
  readonly now: EpochSeconds;
  /** Who is at the browser; Alice when left out. */
  readonly authenticate?: () => Promise<Authentication>;
}

function answerOf(outcome: AuthorizationOutcome): Answer {
  if (outcome.kind !== "answered" || outcome.response.kind !== "redirect")
    return { code: undefined, error: outcome.kind };
  const { searchParams } = new URL(outcome.response.location);
  return {
    code: searchParams.get("code") ?? undefined,
    error: searchParams.get("error") ?? undefined,
  };
}

const random = randomValues();
/** Made once: tests make very many servers, and to derive keys takes long. */
const successors = refreshSuccessors(["a secret of the test"], random.randomId);

function portsOf(storage: Storage, { issuer, now }: RuleServerOptions) {
  const events: AuthServerEvent["kind"][] = [];
  const ports: AuthorizationPorts & ClientEndpointPorts & EndPorts = {
    storage,
    clients: clientLookup(storage, {
      lagSeconds: 0,
      clock: () => now,
      redirectSchemes: [],
      apis: [issuer.api],
    }),
    signer: { sign: () => "a.b.c", verify: () => undefined, trusts: () => false },
    successors,
    idTokens: { verify: () => undefined, isOfNoKey: () => false },
    emit: ({ kind }) => void events.push(kind),
    clock: () => now,
    redirectSchemes: [],
    ...random,
    verifySecret: async () => true,
    fetchKeys: async () => noKeysFound,
    tokens: undefined,
  };
  return { ports, events };
}

/** A server whose client acts for Alice. Its access tokens are told apart only where the API has opaque ones. */
export function ruleServer(storage: Storage, options: RuleServerOptions) {
  const { client, issuer, now } = options;
  const { ports, events } = portsOf(storage, options);
  const { authenticate = async () => ({ kind: "authenticated", subject: "alice" }) as const } = options;
  const port: EndUserPort = { authenticate, decideConsent: async () => ({ kind: "ask" }) };
  const verify = accessTokenVerifier(ports, { api: issuer.api, revocationLagSeconds: 0 });

  function authorize(
    scope: string,
    { prompt, page, decision }: { prompt?: string; page?: ShownPage; decision?: ConsentDecision } = {},
  ): Promise<AuthorizationOutcome> {
    const parameters = parametersFromObject({
      client_id: client.clientId,
      response_type: "code",
      redirect_uri: client.redirectUris[0] ?? "",
      scope,
      ...(prompt !== undefined && { prompt }),
    });
    if (!page) return firstVisit(ports, { issuer, parameters, port });
    const back = {
      began: now,
      shown: page.request,
      shownClient: undefined,
      hintedSubject: undefined,
      page: { name: "page", shownTo: "alice" },
      decision,
      mustAsk: decision !== undefined,
      choosesAccount: false,
    };
    return comeBack(ports, { issuer, parameters, port, back });
  }

  async function token(fields: Record<string, string>): Promise<Tokens | undefined> {
    try {
      const registered = await ports.clients.findRegistered(client.clientId, {
        issuer,
        mayFetch: () => false,
      });
      if (!registered) return undefined;
      const parameters = parametersFromObject(fields);
      const http = { method: "POST", url: "/", headers: {} };
      const answer = await tokenEndpoint.answer(ports, { issuer, ...registered, parameters, now, ...http });
      return answer.body as unknown as Tokens;
    } catch {
      return undefined;
    }
  }

  return {
    ports,
    events,
    /** The code of a silent visit, or the error. */
    silent: async (scope = "orders:read"): Promise<Answer> =>
      answerOf(await authorize(scope, { prompt: "none" })),
    show: async (scope: string): Promise<ShownPage | undefined> => {
      const outcome = await authorize(scope);
      return outcome.kind === "ask" ? outcome : undefined;
    },
    async allow(page: ShownPage, context?: AuthorizationContext): Promise<Answer> {
      const { requestedScopes } = page.request;
      const decision: ConsentDecision = {
        isBy: () => true,
        endMarks: page.asked.basis.endMarks,
        answer: (requested) => requested,
        ...(context && { context }),
      };
      return answerOf(await authorize(requestedScopes.join(" "), { page, decision }));
    },
    /** The tokens that a code buys, `undefined` when it is refused. */
    redeem: (code: string) => token({ grant_type: "authorization_code", code }),
    refresh: (refreshToken: string) => token({ grant_type: "refresh_token", refresh_token: refreshToken }),
    clientCredentials: () => token({ grant_type: "client_credentials" }),
    /** True when API routes accept the access token, once the lag has passed. */
    accepts: async (accessToken: string): Promise<boolean> => (await verify(accessToken)).kind === "valid",
  };
}

/** The same, and what ends Alice's session at the host. */
export function ruleServerOfAlice(storage: Storage, options: Omit<RuleServerOptions, "authenticate">) {
  let isSignedIn = true;
  const server = ruleServer(storage, {
    ...options,
    authenticate: async () =>
      isSignedIn ? { kind: "authenticated", subject: "alice" } : { kind: "interaction", url: "/sign-in" },
  });
  return { server, signOut: () => void (isSignedIn = false) };
}

/** A server of `ruleServer`. */
export type RuleServer = ReturnType<typeof ruleServer>;
