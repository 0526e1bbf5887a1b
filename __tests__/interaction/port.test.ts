// How the host's adapters are called, and what a developer is told when one of them fails.
import type { Request } from "express";
import { endUserPort, type HostAdapters } from "../../lib/interaction/port";
import type { AuthorizationRequest } from "../../lib/protocol/authorization-request";
import { issuerRecord, publicRecord } from "../records/records";

const request = {
  issuer: issuerRecord(),
  client: publicRecord("native"),
  target: { source: "https://public.example" },
  requestedScopes: [],
  grantableScopes: [],
  prompt: [],
  acrValues: [],
} as unknown as AuthorizationRequest;
const endUser = { subject: "alice", displayName: "Alice", facts: {}, context: undefined };

function requestWith(members: object): Request {
  return { headers: {}, url: "/", ...members } as Request;
}

function hostOf(authMethods: HostAdapters["authMethods"], seen: unknown[] = []): HostAdapters {
  return {
    authMethods,
    consent: {
      decide(question) {
        seen.push(question);
        return { kind: "denied" };
      },
    },
  };
}

/** What the endpoint learns of an `authenticate` that throws this. */
async function failureOf(thrown: unknown, members: object = {}): Promise<unknown> {
  const password = { authenticate: () => Promise.reject(thrown) };
  const port = endUserPort(hostOf({ password }), requestWith(members));
  return port.authenticate({ request, reauthenticate: false }).catch((error: unknown) => error);
}

const undefinedRead = new TypeError("Cannot read properties of undefined (reading 'user')");
const cookies = "req.cookies (cookie-parser)";
const session = "req.session (express-session)";

describe("an authenticate that throws", () => {
  it.each([
    [{}, `${cookies} and no ${session}`],
    [{ cookies: {} }, session],
    [{ session: {} }, cookies],
  ])("is told which middleware is missing: %j", async (members, missing) => {
    const error = await failureOf(undefinedRead, members);
    expect(error).toBeInstanceOf(TypeError);
    expect((error as Error).cause).toBe(undefinedRead);
    expect((error as Error).message).toBe(
      `authenticate threw a TypeError, and this request has no ${missing}. If authenticate needs it, mount that middleware before auth.router.`,
    );
  });

  it.each<[string, unknown, object]>([
    ["no middleware is missing", undefinedRead, { cookies: {}, session: {} }],
    ["it is about something else", new TypeError("fetch failed"), {}],
    ["it is no TypeError", new Error("undefined"), {}],
  ])("is answered with its own error where %s", async (_, thrown, members) => {
    expect(await failureOf(thrown, members)).toBe(thrown);
  });

  it("is named where it does not exist", async () => {
    const port = endUserPort(hostOf({}), requestWith({}));
    await expect(port.authenticate({ request, reauthenticate: false })).rejects.toMatchObject({
      code: "auth-method-gone",
    });
  });
});

describe("what the host's adapters answer", () => {
  it("is an own copy: the host may go on changing its object", async () => {
    const amr = ["pwd"];
    const scopes = ["orders:read"];
    const authenticate = () => ({ kind: "authenticated", subject: "alice", amr }) as const;
    const decide = () => ({ kind: "granted", scopes }) as const;
    const port = endUserPort(
      { authMethods: { password: { authenticate } }, consent: { decide } },
      requestWith({}),
    );
    const [person, consent] = [
      await port.authenticate({ request, reauthenticate: false }),
      await port.decideConsent({ request, endUser }),
    ];
    amr.push("otp");
    scopes.push("orders:write");
    expect(person).toMatchObject({ amr: ["pwd"] });
    expect(consent).toMatchObject({ scopes: ["orders:read"] });
  });
});

describe("the question to consent.decide", () => {
  it.each([
    [{ key: "work" }, { context: { key: "work" } }],
    [undefined, {}],
  ])("names the context of the person only if there is one: %j", async (context, told) => {
    const seen: object[] = [];
    const req = requestWith({});
    await endUserPort(hostOf({}, seen), req).decideConsent({ request, endUser: { ...endUser, context } });
    const [question = {}] = seen;
    expect(question).toMatchObject({ req, subject: "alice", authMethodId: "password", ...told });
    expect("context" in question).toBe(context !== undefined);
  });
});
