// The host makes its answers by classes with getters, or from defaults that they inherit. What such an answer limits must never count as left
// out, which would mean "everything": the answer is refused.
import type {
  Authentication,
  ConsentAnswer,
  DocumentDecision,
  RegistrationDecision,
  TokenDecision,
} from "../../lib";
import { readApproval } from "../../lib/interaction/consent-answers";
import { bikes, contextHost } from "../hosts/contexts";
import { documentServer } from "../servers/document-server";
import { testHost } from "../hosts/host";
import { obtainCode } from "../browser/journey";
import { redeem } from "../requests/client-requests";
import { nativeMetadata, register, registrationHost } from "../requests/registration";
import { askAs, serveDocument, strangersHost } from "../browser/strangers";

/** An object with this kind that inherits everything else. */
function heir<T extends { readonly kind: string }>({ kind, ...limits }: T): T {
  return Object.assign(Object.create(limits) as T, { kind });
}

const refusal = (code: string): object =>
  expect.objectContaining({
    kind: "server-error",
    cause: expect.objectContaining({ code }) as unknown,
  }) as object;

describe("a limit that the host's answer inherits makes it invalid, and nothing is issued", () => {
  it("in clientRegistration.approve (RFC 7591 §3.2.1)", async () => {
    const decision = heir<RegistrationDecision>({ kind: "approved", scopes: ["orders:read"] });
    const host = registrationHost({ approve: () => decision });
    expect((await register(host, nativeMetadata)).status).toBe(500);
    expect(host.events).toEqual([refusal("wrong-answer-about-registration")]);
  });

  it("in clientMetadataDocuments.accept", async () => {
    const server = await documentServer();
    const decision = heir<DocumentDecision>({ kind: "accepted", scopes: ["orders:read"] });
    const host = strangersHost({ accept: () => decision });
    const asked = { clientId: serveDocument(server), fields: { scope: "orders:write" } };
    expect((await askAs(host.browser(), asked)).status).toBe(500);
    expect(host.events.at(-1)).toEqual(refusal("wrong-answer-about-document"));
    await server.close();
  });

  it("in tokens.decide, as a getter of a class too (RFC 6749 §3.3)", async () => {
    class Narrow {
      readonly kind = "issue";
      get scopes(): readonly string[] {
        return ["orders:read"];
      }
    }
    for (const answer of [new Narrow(), heir<TokenDecision>({ kind: "issue", accessTokenSeconds: 7 })]) {
      const host = testHost({ tokens: { decide: (): TokenDecision => answer } });
      const code = await obtainCode(host, { client: "web" });
      expect((await redeem(host, { client: "web", code })).status).toBe(500);
      expect(host.events.at(-1)).toEqual(refusal("wrong-answer-of-tokens"));
    }
  });

  it("in authenticate and consent.decide: the context that was chosen", async () => {
    for (const by of ["authenticate", "consent"] as const) {
      const made = contextHost({ kind: "granted", scopes: ["orders:read"] });
      const person = { kind: "authenticated", subject: "alice", context: bikes } as const;
      const granted = { kind: "granted", scopes: ["orders:read"], context: bikes } as const;
      made.host.session = by === "authenticate" ? heir<Authentication>(person) : person;
      if (by === "consent") made.answer = heir<ConsentAnswer>(granted);
      await expect(obtainCode(made.host, { client: "web" })).rejects.toThrow("error=server_error");
      expect(made.host.events.at(-1)).toEqual(refusal(`wrong-answer-of-${by}`));
    }
  });

  it("in auth.approve: what the person chose on the page", () => {
    const decision = { scopes: ["orders:read"], context: bikes };
    expect(readApproval(decision)).toEqual(decision);
    expect(readApproval(Object.create(decision) as object)).toBeInstanceOf(TypeError);
  });
});
