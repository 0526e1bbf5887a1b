// The host makes its answers by classes with getters, or from defaults that they inherit. What such an answer limits must count: left out, it
// would mean "everything".
import { decodeJwt } from "jose";
import {
  type Authentication,
  type ConsentAnswer,
  createAuthServer,
  defaultLifetimes,
  type DocumentDecision,
  type RegistrationDecision,
  type TokenDecision,
} from "../../lib";
import { readApproval } from "../../lib/interaction/host-approval";
import { checkOptions } from "../../lib/options/check";
import { resolveOptions } from "../../lib/options/resolve";
import { bikes, contextHost, toldOf } from "../fixture/contexts";
import { documentServer } from "../fixture/document-server";
import { testHost } from "../fixture/host";
import { obtainTokens } from "../fixture/journey";
import { goodApi, withChanges } from "../fixture/options";
import { nativeMetadata, registered, registrationHost } from "../fixture/registration";
import { askAs, serveDocument, strangersHost } from "../fixture/strangers";

/** An object with this kind that inherits everything else. */
function heir<T extends { readonly kind: string }>({ kind, ...limits }: T): T {
  return Object.assign(Object.create(limits) as T, { kind });
}

describe("lifetimes that an object of the options does not have itself count (RFC 6749 §10.4)", () => {
  class Short {
    get refreshTokenIdleSeconds(): number {
      return 60;
    }
    get refreshTokenSeconds(): number {
      return 70;
    }
  }

  it.each([
    ["inherits", Object.create({ refreshTokenIdleSeconds: 60, refreshTokenSeconds: 70 }) as object],
    ["has by a getter of its class", new Short()],
  ])("those that it %s", (_, lifetimes) => {
    const shortened = { ...defaultLifetimes, refreshTokenIdleSeconds: 60, refreshTokenSeconds: 70 };
    const ofApi = { apis: { orders: { ...goodApi, lifetimes } } };
    for (const changes of [{ lifetimes }, ofApi]) {
      const [issuer] = resolveOptions(checkOptions(withChanges(changes)), 0).issuers;
      expect(issuer?.api.lifetimes).toEqual(shortened);
    }
  });

  class Misspelt {
    get consentSeconds(): undefined {
      return undefined;
    }
  }

  it.each([
    ["inherits", Object.create({ consentSeconds: undefined }) as object],
    ["has by a getter of its class", new Misspelt()],
  ])("one that is undefined is refused, because no end mark would end: one that it %s", (_, lifetimes) => {
    const at = "consentSeconds is undefined";
    expect(() => createAuthServer(withChanges({ lifetimes }))).toThrow(`lifetimes.${at}`);
    const apis = { orders: { ...goodApi, lifetimes } };
    expect(() => createAuthServer(withChanges({ apis }))).toThrow(`apis.orders.lifetimes.${at}`);
  });
});

describe("a limit that the host's answer inherits counts", () => {
  it("in clientRegistration.approve (RFC 7591 §3.2.1)", async () => {
    const decision = heir<RegistrationDecision>({ kind: "approved", scopes: ["orders:read"] });
    const host = registrationHost({ approve: () => decision });
    expect((await registered(host, nativeMetadata)).scope).toBe("orders:read");
  });

  it("in clientMetadataDocuments.accept", async () => {
    const server = await documentServer();
    const decision = heir<DocumentDecision>({ kind: "accepted", scopes: ["orders:read"] });
    const host = strangersHost({ accept: () => decision });
    const asked = { clientId: serveDocument(server), fields: { scope: "orders:write" } };
    const { headers } = await askAs(host.browser(), asked);
    expect(headers["location"]).toContain("error=invalid_scope");
    await server.close();
  });

  it("in tokens.decide, as a getter of a class too (RFC 6749 §3.3)", async () => {
    class Narrow {
      readonly kind = "issue";
      get scopes(): readonly string[] {
        return ["orders:read"];
      }
      get accessTokenSeconds(): number {
        return 7;
      }
    }
    const host = testHost({ tokens: { decide: (): TokenDecision => new Narrow() } });
    const fields = { scope: "orders:read orders:write" };
    expect(await obtainTokens(host, { client: "web", fields })).toMatchObject({
      scope: "orders:read",
      expires_in: 7,
    });
  });

  it("in authenticate: how the person signed in (RFC 9068 §2.2.1)", async () => {
    const host = testHost();
    host.session = heir<Authentication>({
      kind: "authenticated",
      subject: "alice",
      acr: "urn:strong",
      amr: ["hwk"],
    });
    const { access_token: token } = await obtainTokens(host, { client: "web" });
    expect(decodeJwt(token)).toMatchObject({ sub: "alice", acr: "urn:strong", amr: ["hwk"] });
  });

  it("in authenticate and consent.decide: the context that was chosen", async () => {
    for (const answer of ["authenticate", "consent.decide"] as const) {
      const made = contextHost();
      const inBikes = { context: bikes };
      made.host.session = heir<Authentication>({
        kind: "authenticated",
        subject: "alice",
        ...(answer === "authenticate" && inBikes),
      });
      made.answer = heir<ConsentAnswer>({
        kind: "granted",
        scopes: ["orders:read"],
        ...(answer === "consent.decide" && inBikes),
      });
      await obtainTokens(made.host, { client: "web" });
      expect(toldOf(made)).toEqual([bikes]);
    }
  });

  it("in auth.approve: what the person chose on the page, by being refused", () => {
    const decision = { scopes: ["orders:read"], context: bikes };
    expect(readApproval(decision)).toEqual(decision);
    expect(readApproval(Object.create(decision) as object)).toBeInstanceOf(TypeError);
  });
});
