// What `rateLimit` may answer and is told, by the function alone.
import type { IncomingMessage } from "node:http";
import { type ClientOutcome, memoryStorage } from "../../lib";
import { answerClient, type ClientEndpoint } from "../../lib/endpoints/client-endpoint";
import { answerWithinLimit, type RateLimitDecision } from "../../lib/endpoints/rate-limit";
import type { NewEvent } from "../../lib/events/port";
import { OAuthError } from "../../lib/protocol/oauth-error";
import { parametersFromObject } from "../../lib/protocol/parameters";
import { issuerRecord, publicRecord } from "../records/records";
import { ruleServer } from "../hosts/rule-server";

const issuer = issuerRecord();
const client = publicRecord("native");
const { ports } = ruleServer(memoryStorage({ clients: [client] }), { client, issuer, now: 1_000 });
const ok = { kind: "json", status: 200, body: {} } as const;

interface Asked {
  readonly decision: (outcomes: ClientOutcome[]) => unknown;
  readonly fields?: object;
  /** What the endpoint answers. */
  readonly answer?: ClientEndpoint["answer"];
}

async function ask({ decision, fields = { client_id: "phone" }, answer = async () => ok }: Asked) {
  const outcomes: ClientOutcome[] = [];
  const events: NewEvent[] = [];
  const endpoint: ClientEndpoint = { refused: "token-refused", grantParameters: [], answer };
  const request = { issuer, method: "POST", url: "/", headers: {}, parameters: parametersFromObject(fields) };
  const asked = {
    rateLimit: () => decision(outcomes) as RateLimitDecision,
    req: {} as IncomingMessage,
    ip: "203.0.113.7",
    name: "token",
  } as const;
  const emit = (event: NewEvent): void => void events.push(event);
  const limited = {
    endpoint,
    request,
    asked,
    answer: () => answerClient({ ...ports, emit }, { endpoint, request }),
  };
  const response = await answerWithinLimit({ emit }, limited);
  return { response, outcomes, events };
}

const listening = (outcomes: ClientOutcome[]): RateLimitDecision => ({
  kind: "allowed",
  answered: (outcome) => void outcomes.push(outcome),
});

function refuse(): never {
  throw new OAuthError("invalid_grant", { description: "No.", code: "used-before" });
}

describe("the outcome of an allowed request (RFC 6749 §5.1, §5.2)", () => {
  it.each<[string, Omit<Asked, "decision">, ClientOutcome]>([
    ["has no error after a success", {}, { status: 200, clientId: "phone" }],
    [
      "takes no claim of a token for an error (RFC 7662 §2.2)",
      { answer: async () => ({ ...ok, body: { active: true, error: "a claim" } }) },
      { status: 200, clientId: "phone" },
    ],
    [
      "has the error and the client of a refusal",
      { answer: async () => refuse() },
      { status: 400, oauthError: "invalid_grant", clientId: "phone" },
    ],
    ["names no client before it is proven", { fields: {} }, { status: 400, oauthError: "invalid_request" }],
  ])("%s", async (_, asked, outcome) => {
    const { outcomes } = await ask({ decision: listening, ...asked });
    expect(outcomes).toStrictEqual([outcome]);
  });
});

describe("the answer of rateLimit", () => {
  it.each<[string, unknown, number, Readonly<Record<string, string>> | undefined]>([
    ["allowed without a callback", { kind: "allowed" }, 200, undefined],
    ["limited for one second", { kind: "limited", retryAfterSeconds: 1 }, 429, { "Retry-After": "1" }],
    ["limited for a minute", { kind: "limited", retryAfterSeconds: 60 }, 429, { "Retry-After": "60" }],
  ])("may be: %s", async (_, given, status, headers) => {
    const { response, outcomes } = await ask({ decision: () => given });
    expect([response.status, outcomes]).toEqual([status, []]);
    expect(response.headers).toEqual(headers);
  });

  it.each<[string, unknown, string]>([
    ["nothing", undefined, "nothing, as without a return or an await; kind must be allowed or limited"],
    [
      "a callback that is undefined",
      { kind: "allowed", answered: undefined },
      "answered is undefined. Leave the key out, or write a value",
    ],
    [
      "no callback but a text",
      { kind: "allowed", answered: "yes" },
      "answered must be a function, or be left out",
    ],
    [
      "less than a second",
      { kind: "limited", retryAfterSeconds: 0 },
      "retryAfterSeconds must be whole seconds, at least 1",
    ],
  ])("must not be %s", async (_, given, problem) => {
    const { response, events } = await ask({ decision: () => given });
    expect(response.status).toBe(500);
    const message = `rateLimit returned an invalid answer: ${problem}.`;
    expect(events).toMatchObject([{ kind: "server-error", cause: { message } }]);
  });
});
