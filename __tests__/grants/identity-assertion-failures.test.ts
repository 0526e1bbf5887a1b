// The JWT bearer grant for identity assertions while storage or the provider fails (RFC 6749 §5.2, 7517 §5).
import { type AuthServerEvent, memoryStorage } from "../../lib";
import { apis } from "../hosts/apis";
import { stopClockForEachTest } from "../hosts/clock";
import type { TestHost } from "../hosts/host";
import {
  invalidAssertion,
  methodsWith,
  present,
  vouchedClients,
  vouchedHost,
} from "../requests/identity-assertions";
import { answerOf, refusal, serverError } from "../requests/json-answers";
import { type IdentityChanges, identityProvider, type IdentityProvider } from "../servers/identity-provider";
import { intercept } from "../storage/slow-storage";

const clock = stopClockForEachTest();

let provider: IdentityProvider;
beforeAll(async () => {
  provider = await identityProvider();
});
afterAll(() => provider.close());

type Refused = Extract<AuthServerEvent, { kind: "token-refused" }>;

/** Why the last token request was refused. */
function lastReason({ events }: TestHost): string | undefined {
  return events.findLast((event): event is Refused => event.kind === "token-refused")?.code;
}

async function presentGood(host: TestHost, changes: IdentityChanges = {}) {
  return present(host, { assertion: await provider.vouch(changes) });
}

const listOf = async ({ auth }: TestHost) => (await auth.authorizations.list("alice")).authorizations;

describe("storage that fails while an identity assertion is exchanged (RFC 6749 §5.2)", () => {
  const failure = new Error("the database says: password=hunter2");
  /** Storage call → what the second attempt with the same assertion gets. */
  const calls = {
    "clients.find": 200,
    "endMarks.find": 200,
    "clientAssertions.use": 200,
    "authorizations.create": 400,
    "authorizations.noteUse": 400,
    "accessTokens.create": 400,
  } as const;
  type Name = keyof typeof calls;
  const opaque = { ...apis, orders: { ...apis["orders"]!, accessTokenFormat: "opaque" } } as const;

  function failingHost() {
    const failing: { name: string | undefined; when: string; skip: number } = {
      name: undefined,
      when: "",
      skip: 0,
    };
    const made: string[] = [];
    const storage = intercept(memoryStorage({ clients: vouchedClients }), async (name, call) => {
      made.push(name);
      if (failing.name !== name || failing.skip-- > 0) return call();
      if (failing.when === "after") await call();
      throw failure;
    });
    return { host: vouchedHost(provider, { storage, apis: opaque, revocationLagSeconds: 0 }), failing, made };
  }

  it("is tried below in every call", async () => {
    const { host, made } = failingHost();
    expect((await presentGood(host)).status).toBe(200);
    expect([...new Set(made)].toSorted()).toEqual(Object.keys(calls).toSorted());
    // clients, then the marks before and after
    expect(made.filter((name) => name === "endMarks.find")).toHaveLength(3);
  });

  const rows = (Object.keys(calls) as Name[]).flatMap((name) =>
    ["before", "after"].flatMap((when) =>
      (name === "endMarks.find" ? [0, 1, 2] : [0]).map((skip) => [name, when, skip] as const),
    ),
  );
  it.each(rows)("leaves nothing where %s fails %s its work (call %s)", async (name, when, skip) => {
    const { host, failing } = failingHost();
    const assertion = await provider.vouch();
    Object.assign(failing, { name, when, skip });
    const isUse = name === "clientAssertions.use";
    const expected = isUse ? refusal(503, "temporarily_unavailable") : serverError;
    expect(answerOf(await present(host, { assertion }))).toEqual(expected);
    failing.name = undefined;
    expect(await listOf(host)).toEqual([]);
    const isSpent = calls[name] === 400 || (isUse && when === "after") || skip === 2;
    expect((await present(host, { assertion })).status).toBe(isSpent ? 400 : 200);
  });
});

describe("the keys of an identity provider (RFC 7517 §5)", () => {
  it("are remembered, asked for again for a new kid, and not more than every 30 seconds", async () => {
    const own = await identityProvider();
    const host = vouchedHost(own);
    const send = async (changes?: IdentityChanges) =>
      (await present(host, { assertion: await own.vouch(changes) })).status;
    expect([await send(), await send(), own.asked.length]).toEqual([200, 200, 1]);
    own.rotate("new");
    // the first fetch was a moment ago
    expect([await send(), own.asked.length]).toEqual([503, 1]);
    expect(lastReason(host)).toBe("client-keys-not-asked-again");
    clock.advance(30);
    expect([await send(), own.asked.length]).toEqual([200, 2]);
    expect([await send({ header: { kid: "made-up" } }), own.asked.length]).toEqual([503, 2]);
    await own.close();
    clock.advance(3_600);
    // what was known is good for a day while the provider is down
    expect(await send()).toBe(200);
  });

  it("are waited for where they cannot be fetched", async () => {
    const own = await identityProvider();
    await own.close();
    const host = vouchedHost(own);
    const answer = await present(host, { assertion: await own.vouch() });
    expect(answerOf(answer)).toEqual(refusal(503, "temporarily_unavailable", "Try again later."));
    expect(answer.headers["retry-after"]).toBe("30");
    expect(lastReason(host)).toBe("client-keys-unreachable");
  });

  it("are only those that the options listed when the server was made", async () => {
    const listed: Record<string, { jwksUri: string }> = { ...provider.listed };
    const authMethods = methodsWith({ listed });
    const host = vouchedHost(provider, { authMethods });
    for (const name of Object.keys(listed)) delete listed[name];
    listed["https://other.example"] = { jwksUri: "https://other.example/keys" };
    expect((await presentGood(host)).status).toBe(200);
    expect(answerOf(await presentGood(host, { claims: { iss: "https://other.example" } }))).toEqual(
      invalidAssertion,
    );
  });
});
