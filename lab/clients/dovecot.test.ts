/** A mail server, as people sign in to it with access tokens that their mail program has. RFC 7628 §3; RFC 7662 §2; Core §5.3. */
import path from "node:path";
import { codeChallenge, codeVerifier } from "../../__tests__/browser/authorization-request";
import { describeWith } from "../../__tests__/servers/server-process";
import { dovecot, startDovecot } from "./dovecot";
import { callback, goThrough, type LibraryHost, startLibraryHost } from "./library-host";

const email = "alice@example.org";
let host: LibraryHost;
beforeAll(async () => {
  host = await startLibraryHost([], { claims: () => ({ email, email_verified: true }) });
});
afterAll(() => host.close());

const clientFields = () => ({ client_id: "web", client_secret: host.env["CLIENT_SECRET"] ?? "" });

/** Alice's token for a client. */
async function tokenOf(issuer: string, scope: string): Promise<string> {
  const request = {
    client_id: "web",
    response_type: "code",
    redirect_uri: callback,
    scope,
    code_challenge: codeChallenge,
    code_challenge_method: "S256",
  };
  const { url } = await goThrough(host.browser(), `${issuer}/authorize?${new URLSearchParams(request)}`);
  const exchange = {
    ...clientFields(),
    grant_type: "authorization_code",
    code: url.searchParams.get("code") ?? "",
    redirect_uri: callback,
    code_verifier: codeVerifier,
  };
  const answer = await host.fetch(`${issuer}/token`, { method: "POST", body: new URLSearchParams(exchange) });
  return ((await answer.json()) as { access_token: string }).access_token;
}

const failed = "NO [AUTHENTICATIONFAILED]";
/** What Dovecot makes of any answer but 200. */
const unavailable = "NO [UNAVAILABLE]";

describeWith(dovecot, {
  name: "Dovecot",
  tests: () => {
    describe.each([
      ["introspection", "dovecot-introspection.conf.ext", "alice", failed],
      ["userinfo", "dovecot-userinfo.conf.ext", email, unavailable],
    ])("with %s", (_, file, name, refused) => {
      let server: Awaited<ReturnType<typeof startDovecot>>;
      beforeAll(async () => {
        server = await startDovecot(path.join(__dirname, "relying-parties", file), host.env);
      });
      afterAll(() => server.stop());
      const withToken = (token: string, mechanism: "OAUTHBEARER" | "XOAUTH2" = "OAUTHBEARER") =>
        server.signIn({ mechanism, name, token });

      it.each(["OAUTHBEARER", "XOAUTH2"] as const)("signs Alice in by %s", async (mechanism) => {
        const token = await tokenOf(host.issuer, "openid email read");
        expect(await withToken(token, mechanism)).toBe("OK");
      });

      it("refuses a token of Alice to another person", async () => {
        const token = await tokenOf(host.issuer, "openid email read");
        expect(await server.signIn({ mechanism: "OAUTHBEARER", name: "bob", token })).toBe(failed);
      });

      it("refuses a revoked token (RFC 7009 §2)", async () => {
        const token = await tokenOf(host.issuer, "openid email read");
        expect(await withToken(token)).toBe("OK");
        const body = new URLSearchParams({ ...clientFields(), token });
        expect((await host.fetch(`${host.issuer}/revoke`, { method: "POST", body })).status).toBe(200);
        expect(await withToken(token)).toBe(refused);
      });

      it("refuses a token of another API", async () => {
        const reports = host.issuer.replace(/orders$/, "reports");
        expect(await withToken(await tokenOf(reports, "read"))).toBe(refused);
      });

      it("refuses a token without the scope that it needs", async () => {
        const scope = name === email ? "read" : "openid email";
        expect(await withToken(await tokenOf(host.issuer, scope))).toBe(refused);
      });
    });
  },
});
