/** The authorization endpoint with its pages, called without HTTP: a browser with cookies, a host with answers, and one client. */
import type { Request } from "express";
import { type Authentication, type ConsentAnswer, memoryStorage } from "../../lib";
import type { NewEvent } from "../../lib/events/port";
import { authorizationFlow } from "../../lib/interaction/authorization-flow";
import { pendingRequests } from "../../lib/interaction/pending-request";
import type { AuthenticationRequest } from "../../lib/interaction/port";
import { parametersFromObject } from "../../lib/protocol/parameters";
import type { ProtocolResponse } from "../../lib/protocol/protocol-response";
import { authorizationParametersOf } from "../browser/authorization-request";
import { issuerRecord, publicRecord } from "../records/records";

/** The time of this server. */
export const flowNow = 1_800_000_000;
const origin = "https://host.example";
const issuers = [issuerRecord(), issuerRecord({}, "passkey")] as const;
const client = publicRecord("native", { redirectUris: ["http://127.0.0.1/callback"] });

/** What the host says of the person, until a test changes it. */
export interface FlowHost {
  authentication: Authentication;
  consent: ConsentAnswer;
  /** What looking up the client throws; `"gone"` when there is no such client any more. */
  client: Error | "gone" | undefined;
}

/** Keeps the cookies of a browser: name → value. */
function cookieJar() {
  const jar = new Map<string, string>();
  return {
    header: (): string => [...jar].map(([name, value]) => `${name}=${value}`).join("; "),
    keep(response: ProtocolResponse): void {
      const cookies = "cookies" in response ? (response.cookies ?? []) : [];
      for (const cookie of cookies) {
        const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
        if (value === "") jar.delete(name);
        else jar.set(name, value);
      }
    },
  };
}

function clientsOf(host: FlowHost) {
  const known = { client, endMark: undefined, apiEnds: new Map<string, undefined>(), asOf: flowNow };
  return {
    async findRegistered() {
      if (host.client instanceof Error) throw host.client;
      return host.client === "gone" ? undefined : known;
    },
    findNewer: async () => undefined,
    findCurrent: async () => client,
    isTaken: async () => false,
  };
}

function portsOf(host: FlowHost, events: NewEvent[]) {
  let ids = 0;
  return {
    storage: memoryStorage({ clients: [] }),
    clients: clientsOf(host),
    redirectSchemes: [],
    idTokens: { verify: () => undefined, isOfNoKey: () => false },
    emit: (event: NewEvent) => void events.push(event),
    clock: () => flowNow,
    randomId: () => String((ids += 1)).padStart(22, "0"),
    randomToken: () => String((ids += 1)).padStart(43, "0"),
  };
}

/** A server and a browser. Alice is signed in, and the built-in page asks her, unless the test says otherwise. */
export function directFlow(answers: Partial<FlowHost> = {}) {
  const host: FlowHost = {
    authentication: { kind: "authenticated", subject: "alice" },
    consent: { kind: "ask" },
    client: undefined,
    ...answers,
  };
  const events: NewEvent[] = [];
  const seen: AuthenticationRequest[] = [];
  const jar = cookieJar();
  const forms: { readonly interactionId: string; readonly formToken: string }[] = [];
  const authenticate = (question: AuthenticationRequest): Authentication => {
    seen.push(question);
    return host.authentication;
  };
  const flow = authorizationFlow({
    ports: portsOf(host, events),
    pushedRequests: undefined,
    pendingRequests: pendingRequests({ secure: true, secrets: ["secret"], clock: () => flowNow }),
    origin,
    advise: undefined,
    secrets: ["secret"],
    pages: {
      consent(_, form) {
        forms.push(form);
        return "<html>";
      },
      error: () => "<html>",
      signedOut: () => "",
      device: () => "",
      deviceEnd: () => "",
      formPost: () => "<html>",
    },
    authMethods: { password: { authenticate }, passkey: { authenticate } },
    consent: { decide: () => host.consent },
    findIssuer: (authMethodId) => issuers.find((issuer) => issuer.authMethodId === authMethodId),
  });
  const req = (method: "GET" | "POST" = "GET"): Request =>
    ({ method, url: "/", headers: { cookie: jar.header(), host: "host.example" }, socket: {} }) as Request;
  const kept = async (answer: Promise<ProtocolResponse>): Promise<ProtocolResponse> => {
    const response = await answer;
    jar.keep(response);
    return response;
  };
  const [issuer, otherIssuer] = issuers;
  return {
    flow,
    host,
    events,
    /** The questions to `authenticate`. */
    seen,
    req,
    /** Waits for an answer, and keeps its cookies. */
    kept,
    issuer,
    otherIssuer,
    start: () =>
      kept(
        flow.start(req(), {
          issuer,
          parameters: parametersFromObject(authorizationParametersOf(client)),
        }),
      ),
    /** Answers the consent page that was shown last. */
    submit(decision: string, fields: Readonly<Record<string, string>> = {}) {
      const form = forms.at(-1);
      const sent = { interaction: form?.interactionId, form_token: form?.formToken, scope_0: "on" };
      const whole = parametersFromObject({ ...sent, decision, ...fields });
      return kept(flow.submitConsent(req("POST"), { issuer, form: whole }));
    },
    resume: (interactionId: string | undefined, at = issuer) =>
      kept(flow.resume(req(), { issuer: at, interactionId })),
  };
}
