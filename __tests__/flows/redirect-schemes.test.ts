import { type Client, memoryStorage } from "../../lib";
import { checkClient } from "../../lib/clients/client-record";
import { authorize, redirectParameters } from "../browser/authorize";
import { clients } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { testHost } from "../hosts/host";
import { obtainTokens } from "../browser/journey";
import { confidentialRecord, publicRecord } from "../records/records";

stopClockForEachTest();

const redirectUri = "cursor://anysphere.cursor-retrieval/oauth/callback";
const editor: Client = { ...clients.native, redirectUris: [redirectUri] };
const asked = { client: "native", fields: { redirect_uri: redirectUri } } as const;

const webSchemes = (
  "javascript data file blob about ws wss http https vbscript mailto tel view-source chrome chrome-extension moz-extension " +
  "ftp intent sms ssh ms-msdt filesystem jar resource urn web+app ext+app android-app search-ms edge cid bitcoin microsoft-edge feed"
).split(" ");

describe("private-use schemes without a dot (RFC 8252 §7.1, 9700 §2.1)", () => {
  it("are answered when the host lists them", async () => {
    const host = testHost({ clients: [editor], redirectSchemes: ["cursor"] });
    expect(await obtainTokens(host, asked)).toHaveProperty("refresh_token");
  });

  it("prove nothing: the person is asked each time", async () => {
    const host = testHost({ clients: [editor], redirectSchemes: ["cursor"] });
    await obtainTokens(host, asked);
    const silent = { client: "native", fields: { redirect_uri: redirectUri, prompt: "none" } } as const;
    const answer = await authorize(host.browser(), silent);
    expect(answer.headers["location"]).toMatch(/^cursor:\/\/anysphere\.cursor-retrieval\/oauth\/callback\?/);
    expect(redirectParameters(answer)).toMatchObject({ error: "consent_required" });
  });

  it.each([[undefined], [[]], [["vscode"]], [["cursors"]]])(
    "are refused when the list is %j",
    async (redirectSchemes) => {
      const listed = redirectSchemes && { redirectSchemes };
      const problem =
        'client "native": redirectUris.0 has a scheme without a dot: list the scheme under redirectSchemes of createAuthServer, or use one with a dot.';
      // what memoryStorage lists is checked when the server is made
      expect(() => testHost({ clients: [editor], ...listed })).toThrow(
        expect.objectContaining({ code: "unlisted-redirect-scheme" }),
      );
      const storage = memoryStorage({ clients: [] });
      const table = { ...storage.clients, find: async () => editor };
      const host = testHost({ storage: { ...storage, clients: table }, ...listed });
      expect((await authorize(host.browser(), asked)).status).toBe(500);
      expect(host.events).toMatchObject([
        {
          kind: "server-error",
          cause: new TypeError(problem),
        },
      ]);
    },
  );

  it("are listed too where a person goes after signing out", () => {
    const record = { ...clients.native, postLogoutRedirectUris: ["com.example.app:/bye", "cursor://bye"] };
    expect(() => testHost({ clients: [record] })).toThrow(
      'client "native": postLogoutRedirectUris.1 has a scheme without a dot: list the scheme under redirectSchemes',
    );
    testHost({ clients: [record], redirectSchemes: ["cursor"] });
  });

  it.each([
    ["another host", "cursor://evil/oauth/callback"],
    ["another path", "cursor://anysphere.cursor-retrieval/oauth/callback/more"],
    ["capitals", "CURSOR://anysphere.cursor-retrieval/oauth/callback"],
    ["another scheme", "cursors://anysphere.cursor-retrieval/oauth/callback"],
    ["a fragment", `${redirectUri}#a`],
  ])("are compared character for character: %s", async (_, uri) => {
    const host = testHost({ clients: [editor], redirectSchemes: ["cursor", "cursors"] });
    const fields = { redirect_uri: uri };
    expect((await authorize(host.browser(), { client: "native", fields })).status).toBe(400);
  });

  it.each(["browser", "confidential"] as const)("are for native clients only, not %s ones", (kind) => {
    const changes = { redirectUris: ["cursor://callback"] };
    const record = kind === "browser" ? publicRecord(kind, changes) : confidentialRecord(changes);
    expect(() => memoryStorage({ clients: [record] })).toThrow("redirectUris.0 has a custom scheme");
  });

  it.each(["Cursor", "cursor:", "cursor://", "", "1password"])(
    "are listed as schemes are written: %j",
    (scheme) => {
      expect(() => testHost({ redirectSchemes: [scheme] })).toThrow(
        expect.objectContaining({ code: "unusable-scheme" }),
      );
    },
  );

  it.each(webSchemes)("are never those that a browser knows: %s", (scheme) => {
    expect(() => testHost({ redirectSchemes: [scheme] })).toThrow(
      expect.objectContaining({ code: "scheme-of-browsers" }),
    );
    for (const written of [scheme, scheme.toUpperCase()]) {
      const record = publicRecord("native", { redirectUris: [`${written}:alert(1)//`] });
      expect(() => checkClient(record)).toThrow(/redirectUris\.0 (?:is|has) /);
    }
  });

  it.each(["Cursor", "JavaScript", "cursor:", "cursor://", "", "1password", "cur sor", "cursör", "*"])(
    "are listed as lower case names: not %j",
    (scheme) => {
      expect(() => testHost({ redirectSchemes: [scheme] })).toThrow(
        expect.objectContaining({ code: "unusable-scheme" }),
      );
    },
  );

  it("need no listing with a dot", () => {
    expect(() => testHost({ redirectSchemes: ["com.example.phone"] })).toThrow(
      expect.objectContaining({ code: "scheme-with-dot" }),
    );
  });

  it.each([
    ["one text", "cursor"],
    ["a number in the list", [5]],
    ["undefined", undefined],
  ])("are a list: not %s", (_, redirectSchemes) => {
    expect(() => testHost({ redirectSchemes } as never)).toThrow("createAuthServer: redirectSchemes");
  });
});
