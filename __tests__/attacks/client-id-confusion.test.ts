// Client ids that look like a metadata document's URL, or like another one's (draft-ietf-oauth-client-id-metadata-document §3, §8).
import { createServer, type Server } from "node:net";
import type { AddressInfo } from "node:net";
import { isDocumentUrl } from "../../lib/strangers/document-clients";
import { apis, pairPath } from "../hosts/apis";
import { authorizationParameters } from "../browser/authorization-request";
import { postToken } from "../requests/client-requests";
import { testHost } from "../hosts/host";

const clientId = "https://app.example/client.json";

describe("a client id that is not exactly the URL of a document (§3)", () => {
  it("is a URL with a path", () => {
    expect(isDocumentUrl(clientId, { insecureLoopback: false })).toBe(true);
    expect(isDocumentUrl("https://app.example/", { insecureLoopback: false })).toBe(false);
  });

  it.each([
    ["upper case in the scheme", "HTTPS://app.example/client.json"],
    ["upper case in the host", "https://App.example/client.json"],
    ["no path", "https://app.example"],
    ["a port that is written out", "https://app.example:443/client.json"],
    ["another port", "https://app.example:8443/client.json"],
    ["a dot after the host", "https://app.example./client.json"],
    ["a user name", "https://user@app.example/client.json"],
    ["a user name and password", "https://user:pass@app.example/client.json"],
    ["an empty user name", "https://@app.example/client.json"],
    ["a fragment", "https://app.example/client.json#a"],
    ["an empty fragment", "https://app.example/client.json#"],
    ["a dot segment", "https://app.example/./client.json"],
    ["two dot segments", "https://app.example/a/../client.json"],
    ["an encoded dot segment", "https://app.example/%2e%2e/client.json"],
    ["a mixed dot segment", "https://app.example/.%2E/client.json"],
    ["a backslash", "https://app.example\\client.json"],
    ["two slashes less", "https:app.example/client.json"],
    ["one slash less", "https:/app.example/client.json"],
    ["a slash more", "https:///app.example/client.json"],
    ["http", "http://app.example/client.json"],
    ["another scheme", "ftp://app.example/client.json"],
    ["data", "data:application/json,{}"],
    ["file", "file:///etc/passwd"],
    ["no dot in the host", "https://intranet/client.json"],
    ["localhost", "https://localhost/client.json"],
    ["a name of localhost", "https://app.localhost/client.json"],
    ["an IPv4 address", "https://127.0.0.1/client.json"],
    ["a public IPv4 address", "https://8.8.8.8/client.json"],
    ["a decimal address", "https://2130706433/client.json"],
    ["a hexadecimal address", "https://0x7f000001/client.json"],
    ["an octal address", "https://0177.0.0.1/client.json"],
    ["a short address", "https://127.1/client.json"],
    ["an IPv6 address", "https://[::1]/client.json"],
    ["a mapped address", "https://[::ffff:127.0.0.1]/client.json"],
    ["full-width digits", "https://１２７.0.0.1/client.json"],
    ["a letter that browsers fold", "https://ａpp.example/client.json"],
  ])("is refused: %s", (_, id) => {
    expect(isDocumentUrl(id, { insecureLoopback: false })).toBe(false);
  });
});

describe("an address that the server must not fetch from (§8)", () => {
  let listener: Server;
  let port: number;
  let connections = 0;

  beforeAll(async () => {
    listener = createServer((socket) => {
      connections += 1;
      socket.destroy();
    });
    await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
    ({ port } = listener.address() as AddressInfo);
  });

  afterAll(() => new Promise((resolve) => listener.close(resolve)));

  const hosts = [
    "127.0.0.1",
    "localhost",
    "2130706433",
    "0x7f.1",
    "[::1]",
    "[::ffff:7f00:1]",
    "127.0.0.1.",
    "localhost.",
  ];
  const schemes = ["http", "https"];

  it.each(schemes.flatMap((scheme) => hosts.map((host) => [scheme, host] as const)))(
    "is never called, at any endpoint: %s://%s",
    async (scheme, name) => {
      const clientMetadataDocuments = { accept: () => ({ kind: "accepted" }) as const };
      const orders = { ...apis["orders"]!, clientMetadataDocuments };
      const host = testHost({ apis: { ...apis, orders } });
      const client_id = `${scheme}://${name}:${port}/client.json`;
      const response = await host
        .browser()
        .get(`${pairPath()}/authorize`, { ...authorizationParameters("native"), client_id });
      expect(response.status).toBe(400);
      const code = `${"A".repeat(22)}.${"B".repeat(43)}`;
      const answer = await postToken(host, { fields: { grant_type: "authorization_code", client_id, code } });
      expect(answer.body).toMatchObject({ error: "invalid_client" });
      expect(connections).toBe(0);
    },
  );
});
