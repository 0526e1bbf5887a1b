import { verifyPostLogoutUri } from "../../lib/protocol/post-logout-uri";
import { confidentialRecord } from "../records/records";

describe("where a person may be sent after signing out (OpenID Connect RP-Initiated Logout §3.1)", () => {
  const uri = "https://web.example/bye";

  it("is what the client has registered, and nothing for a client that has not", () => {
    const client = { ...confidentialRecord(), postLogoutRedirectUris: [uri] };
    expect(verifyPostLogoutUri(client, uri)).toEqual({ uri });
    expect(verifyPostLogoutUri(client, `${uri}/`)).toBeUndefined();
    expect(verifyPostLogoutUri(confidentialRecord(), uri)).toBeUndefined();
  });

  it("is nothing for a client that nobody registered", () => {
    const selfDescription = { by: "document", digest: "x" } as const;
    const client = { ...confidentialRecord(), postLogoutRedirectUris: [uri], selfDescription };
    expect(verifyPostLogoutUri(client, uri)).toBeUndefined();
  });
});
