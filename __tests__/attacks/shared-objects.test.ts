// Host code changes what it was given, or goes on changing what it gave: an act-as middleware, a sorting logger, a table that
// keeps its records in memory. Nobody may get more by it than was checked.
import { type Authentication, type Client, memoryStorage } from "../../lib";
import { authorize, redirectParameters } from "../browser/authorize";
import { redeem } from "../requests/client-requests";
import { clients } from "../hosts/clients";
import { stopClock, stopClockForEachTest } from "../hosts/clock";
import { bothScopes, grantedScopes, onOwnPage, outcomeOf } from "../browser/consent";
import { aliceIn, tea } from "../hosts/contexts";
import { signedIn, testHost } from "../hosts/host";
import { interactionOf } from "../browser/interaction";
import { callApi, obtainCode, obtainTokens } from "../browser/journey";
import { confidentialRecord } from "../records/records";
import { intercept } from "../storage/slow-storage";

stopClockForEachTest();

/** Takes `readonly` away, as JavaScript does. */
type Changeable = Record<string, unknown> & { scopes: string[]; amr?: string[] };

describe("req.auth belongs to its request (RFC 6750 §5)", () => {
  it.each(["orders", "reports"] as const)(
    "what a handler writes there is gone at the next: %s",
    async (api) => {
      const host = testHost({ revocationLagSeconds: 300 });
      host.session = { ...signedIn, amr: ["pwd"] };
      const scope = `${api}:read`;
      host.app.get("/act-as", host.auth.requireBearer({ api, scope }), (req, res) => {
        const auth = req.auth as unknown as Changeable;
        auth["subject"] = "mallory";
        auth.scopes.push("orders:write");
        auth.amr?.push("otp");
        res.json({});
      });
      const { access_token } = await obtainTokens(host, { client: "web", pair: { api } });
      const before = (await callApi(host, `/${api}`, access_token)).body as object;
      expect(before).toMatchObject({ subject: "alice", scopes: [scope], amr: ["pwd"] });
      await callApi(host, "/act-as", access_token);
      expect((await callApi(host, `/${api}`, access_token)).body).toEqual(before);
    },
  );

  it("a scope that a handler adds opens no other route", async () => {
    const host = testHost({ revocationLagSeconds: 300 });
    host.app.get("/add", host.auth.requireBearer({ api: "orders" }), (req, res) => {
      (req.auth as unknown as Changeable).scopes.push("orders:write");
      res.json({});
    });
    const { access_token } = await obtainTokens(host, { client: "web" });
    await callApi(host, "/add", access_token);
    expect((await callApi(host, "/orders/changes", access_token)).status).toBe(403);
  });
});

describe("events are the handler's to keep (RFC 6749 §3.3)", () => {
  it("a logger that empties and fills lists changes nothing that is granted", async () => {
    const host = testHost({
      onEvent(event) {
        if ("scopes" in event) (event.scopes as string[]).splice(0, 9, "orders:write");
      },
    });
    const { access_token, scope } = await obtainTokens(host, { client: "web" });
    expect(scope).toBe("orders:read");
    expect((await callApi(host, "/orders", access_token)).body).toMatchObject({ scopes: ["orders:read"] });
  });
});

describe("what the host's adapters are asked with is a copy (OpenID Connect Core §3.1.2.1)", () => {
  it("authenticate takes prompt=login away for nobody", async () => {
    const old = { ...signedIn, authTime: signedIn.authTime - 1_000 };
    const host = testHost({
      authMethods: Object.fromEntries(
        ["password", "otp", "sso"].map((id) => [
          id,
          {
            authenticate(asked): Authentication {
              (asked.prompt as string[]).length = 0;
              (asked.scopes as Record<string, string>)["orders:write"] = "more";
              return old;
            },
          },
        ]),
      ),
    });
    const answer = await authorize(host.browser(), { client: "web", fields: { prompt: "login" } });
    expect(redirectParameters(answer)).toMatchObject({ error: "login_required" });
  });

  it("consent.decide takes prompt=consent away for nobody", async () => {
    const host = testHost({
      consent: {
        decide(asked) {
          (asked.prompt as string[]).length = 0;
          return { kind: "ask" };
        },
      },
    });
    const browser = host.browser();
    await obtainCode(host, { client: "web", browser });
    const again = await authorize(browser, { client: "web", fields: { prompt: "consent" } });
    expect(again.status).toBe(200);
  });

  it("the context in the question to consent.decide", async () => {
    const told: unknown[] = [];
    const host = testHost({
      consent: {
        decide({ context = tea }) {
          // neither succeeds, and in code that is strict an assignment throws
          Reflect.set(context, "key", "org-bikes");
          Reflect.deleteProperty(context, "data");
          return { kind: "granted", scopes: ["orders:read"] };
        },
      },
      tokens: {
        decide({ authorization }) {
          told.push(authorization?.context);
          return { kind: "issue" };
        },
      },
    });
    host.session = aliceIn(tea);
    await obtainTokens(host, { client: "web" });
    expect(told).toEqual([tea]);
  });
});

describe("what the host's adapters answer is copied when it is checked (RFC 6749 §3.3, 8176)", () => {
  it("auth.approve: the list as it was when it was called", async () => {
    const scopes = ["orders:read"];
    const host = testHost({ consent: { decide: () => onOwnPage } });
    host.app.post("/choose", async (req, res) => {
      const approved = host.auth.approve(req, res, { scopes });
      scopes.push("orders:write");
      await approved;
    });
    const browser = host.browser();
    const page = await authorize(browser, { client: "web", fields: bothScopes });
    expect(outcomeOf(await browser.post(`/choose?interaction=${interactionOf(page)}`))).toBe("granted");
    expect(grantedScopes(host)).toEqual(["orders:read"]);
  });

  it("a list of scopes that grows later grants no more", async () => {
    const scopes = ["orders:read"];
    const memory = memoryStorage({ clients: Object.values(clients) });
    const storage = intercept(memory, (name, call) => {
      if (name === "authorizations.create") scopes.push("orders:write");
      return call();
    });
    const host = testHost({ storage, consent: { decide: () => ({ kind: "granted", scopes }) } });
    const code = await obtainCode(host, { client: "web" });
    const { body } = await redeem(host, { client: "web", code });
    expect(body).toMatchObject({ scope: "orders:read" });
  });

  it("an end user that changes while storage is asked stays who was checked", async () => {
    const amr = ["pwd"];
    const session = { ...signedIn, amr } as Record<string, unknown>;
    const memory = memoryStorage({ clients: Object.values(clients) });
    const find = async (clientId: string): Promise<Client | undefined> => {
      // whether alice is the id of a client
      if (clientId !== "alice") return memory.clients.find(clientId);
      session["subject"] = "web";
      amr.push("otp");
      return undefined;
    };
    const host = testHost({ storage: { ...memory, clients: { ...memory.clients, find } } });
    host.session = session as Authentication;
    const browser = host.browser();
    const page = await authorize(browser, { client: "web" });
    session["subject"] = "alice";
    const { code = "" } = redirectParameters(await browser.answer(page, "approve"));
    const { body } = await redeem(host, { client: "web", code });
    const accessToken = (body as { access_token: string }).access_token;
    expect((await callApi(host, "/orders", accessToken)).body).toMatchObject({ subject: "alice" });
  });
});

describe("a client record is copied when it is checked (RFC 6749 §2, 9700 §2.1)", () => {
  it("what the host takes out of it later counts until it is read and checked again", async () => {
    const clock = stopClock();
    const other = { redirect_uri: "https://other.example/" };
    const redirectUris = ["https://web.example/callback", other.redirect_uri];
    const record = { ...confidentialRecord(), redirectUris };
    const store = { find: async () => record, isBrowserOrigin: async () => false };
    const host = testHost({ storage: { ...memoryStorage({ clients: [] }), clients: store } });
    await authorize(host.browser(), { client: "web", fields: other });
    redirectUris.pop();
    expect((await authorize(host.browser(), { client: "web", fields: other })).status).toBe(200);
    clock.advance(5);
    expect((await authorize(host.browser(), { client: "web", fields: other })).status).toBe(400);
  });

  it("memoryStorage keeps a copy: a record that is changed later was not checked", async () => {
    const record = { ...confidentialRecord(), redirectUris: ["https://web.example/callback"] };
    const storage = memoryStorage({ clients: [record] });
    record.redirectUris.push("https://other.example/");
    expect((await storage.clients.find("web"))?.redirectUris).toEqual(["https://web.example/callback"]);
  });

  it("an entity of the host may hold more, and itself", async () => {
    const record: Record<string, unknown> = { ...confidentialRecord(), save: () => undefined };
    record["self"] = record;
    const store = { find: async () => record as unknown as Client, isBrowserOrigin: async () => false };
    const host = testHost({ storage: { ...memoryStorage({ clients: [] }), clients: store } });
    expect((await authorize(host.browser(), { client: "web" })).status).toBe(200);
  });
});

it("auth.interaction gives a description of its own each time", async () => {
  const host = testHost();
  host.session = { kind: "interaction", url: "/describe" };
  host.app.get("/describe", async (req, res) => {
    const { prompt = [] } = (await host.auth.interaction(req)) ?? {};
    (prompt as string[]).push("none");
    res.json((await host.auth.interaction(req))?.prompt);
  });
  const browser = host.browser();
  const page = await browser.follow(await authorize(browser, { client: "web", fields: { prompt: "login" } }));
  expect(page.body).toEqual(["login"]);
});
