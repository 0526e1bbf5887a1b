// What the host and the client hear when a registration is refused or fails, by the endpoint alone.
import type { IncomingMessage } from "node:http";
import { memoryStorage, type RegistrationDecision, type Storage } from "../../lib";
import { registrationEndpoint } from "../../lib/endpoints/registration";
import type { NewEvent } from "../../lib/events/port";
import { registrationReasons } from "../../lib/strangers/registration-metadata";
import { shortenTimeLimit } from "../storage/time-limit";
import { issuerRecord } from "../records/records";
import { webMetadata } from "../requests/registration";

afterEach(() => jest.restoreAllMocks());

const now = 1_800_000_000;
const issuer = issuerRecord();

interface Asked {
  readonly approve?: () => unknown;
  readonly metadata?: object;
  /** In place of storing. */
  readonly create?: Storage["clientRegistrations"]["create"];
}

async function answerTo({
  approve = () => ({ kind: "approved" }),
  metadata = webMetadata,
  create,
}: Asked = {}) {
  const events: NewEvent[] = [];
  const { clientRegistrations } = memoryStorage({ clients: [] });
  const storage = { clientRegistrations: create ? { ...clientRegistrations, create } : clientRegistrations };
  const ports = {
    storage,
    adapter: { approve: () => approve() as RegistrationDecision },
    redirectSchemes: [],
    insecureLoopback: false,
    emit: (event: NewEvent) => void events.push(event),
    clock: () => now,
    randomId: () => "R".repeat(22),
  };
  const message = { kind: "json", value: metadata } as const;
  const answer = await registrationEndpoint(ports, { issuer, req: {} as IncomingMessage, message });
  return { ...answer, events };
}

/** The text of the one failure, which is a mistake of the host. */
async function mistakeOf(answer: unknown): Promise<string> {
  const { status, events } = await answerTo({ approve: () => answer });
  expect([status, events]).toMatchObject([500, [{ kind: "server-error", cause: expect.any(TypeError) }]]);
  return (events[0] as { cause: TypeError }).cause.message;
}

describe("a decision of the host that cannot be used", () => {
  const invalid = "clientRegistration.approve returned an invalid answer";
  const kinds = `${invalid}: kind must be approved or refused.`;
  it.each<[string, unknown, string]>([
    [
      "nothing",
      undefined,
      `${invalid}: nothing, as without a return or an await; kind must be approved or refused.`,
    ],
    ["another kind", { kind: "accepted" }, kinds],
    [
      "scopes that are undefined",
      { kind: "approved", scopes: undefined },
      `${invalid}: scopes is undefined. Leave the key out, or write a value.`,
    ],
    [
      "a description that is undefined",
      { kind: "refused", description: undefined },
      `${invalid}: description is undefined. Leave the key out, or write a value.`,
    ],
    [
      "a description with a quotation mark",
      { kind: "refused", description: 'No "x".' },
      `${invalid}: description must be ASCII without " and \\.`,
    ],
  ])("says what to return in place of it: %s", async (_, answer, text) => {
    expect(await mistakeOf(answer)).toBe(text);
  });

  it("names the callback that takes too long, and the client may come back", async () => {
    shortenTimeLimit();
    const { status, headers, events } = await answerTo({ approve: () => new Promise(() => undefined) });
    expect([status, headers]).toEqual([503, { "Retry-After": "1" }]);
    const message = expect.stringContaining("clientRegistration.approve") as string;
    expect(events).toMatchObject([{ kind: "server-error", cause: { code: "host-call-late", message } }]);
  });
});

describe("a refusal by the host (RFC 7591 §3.2.2)", () => {
  it.each([
    ["in words of the server where it has none", {}, "The server does not register this client."],
    ["in its words", { description: "Ask us first." }, "Ask us first."],
  ])("is told to the client %s", async (_, words, text) => {
    const { status, body, events } = await answerTo({ approve: () => ({ kind: "refused", ...words }) });
    expect([status, body]).toEqual([403, { error: "access_denied", error_description: text }]);
    const code = "registration-refused-by-host";
    const told = { kind: "registration-refused", issuer: issuer.identifier, error: "access_denied", code };
    expect(events).toMatchObject([told]);
  });
});

describe("a registration for which there is no room (RFC 7591 §5)", () => {
  it("is refused for an hour, and the host hears of the limit", async () => {
    const { status, headers, body, events } = await answerTo({ create: () => Promise.resolve("full") });
    expect([status, headers]).toEqual([503, { "Retry-After": "3600" }]);
    const text = "The server cannot register more clients now.";
    expect(body).toEqual({ error: "temporarily_unavailable", error_description: text });
    const code = "too-many-registrations";
    expect(events).toMatchObject([
      { kind: "registration-refused", code, reason: expect.stringContaining("9000") },
    ]);
  });
});

/** Ten redirect URIs that are long; the last one ends as given. */
function longUris(last: string): readonly string[] {
  const others = Array.from({ length: 9 }, (_, index) => `https://app.example/${index}`.padEnd(1_750, "x"));
  return [...others, `https://app.example/${last}`];
}

/** The answer to a registration of that size, and the bytes that are stored of it. */
async function sizeWith(last: string) {
  let bytes = 0;
  const create: Storage["clientRegistrations"]["create"] = async ({ client }) => {
    bytes = Buffer.byteLength(JSON.stringify(client));
    return "created";
  };
  const { status, body } = await answerTo({ metadata: { redirect_uris: longUris(last) }, create });
  return { status, body, bytes };
}

describe("what is checked before the host is asked (RFC 7591 §3.2.2)", () => {
  const byKey = { ...webMetadata, token_endpoint_auth_method: "private_key_jwt" };

  it.each<[string, object, string]>([
    ["a key of no use", { ...byKey, jwks: { keys: [{ kty: "EC" }] } }, "metadata-unusable"],
    ["too much", { redirect_uris: longUris("x".repeat(1_750)) }, "metadata-too-large"],
    ["no scope of the API", { ...webMetadata, scope: "openid" }, "no-scope-of-api"],
  ])("an invitation is not spent for %s", async (_, metadata, code) => {
    const approve = jest.fn(() => ({ kind: "approved" }));
    const { status, events } = await answerTo({ approve, metadata });
    expect([status, events]).toMatchObject([400, [{ kind: "registration-refused", code }]]);
    expect(approve).not.toHaveBeenCalled();
  });

  it("what the host then allows makes nothing too large, in whatever order and however often it is named", async () => {
    const free = 16_384 - (await sizeWith("")).bytes;
    const scopes = Object.keys(issuer.api.scopes);
    const approve = () => ({ kind: "approved", scopes: [...scopes, ...scopes].toReversed() });
    const { status, body } = await answerTo({
      approve,
      metadata: { redirect_uris: longUris("x".repeat(free)) },
    });
    expect([status, body]).toMatchObject([201, { scope: scopes.toReversed().join(" ") }]);
  });
});

describe("the size of a registration (RFC 7591 §5)", () => {
  it("is 16 KB at most, counted as it is stored", async () => {
    const free = 16_384 - (await sizeWith("")).bytes;
    expect(await sizeWith("x".repeat(free))).toMatchObject({ status: 201, bytes: 16_384 });
    expect(await sizeWith("x".repeat(free + 1))).toEqual({
      status: 400,
      body: {
        error: "invalid_client_metadata",
        error_description: registrationReasons["metadata-too-large"],
      },
      bytes: 0,
    });
  });
});
