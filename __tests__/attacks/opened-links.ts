/** A host that listens, and links to its authorization endpoint that somebody else has written. */
import type { Client } from "../../lib";
import { pairPath } from "../hosts/apis";
import { authorizationParameters } from "../browser/authorization-request";
import { encode, type Fields } from "../browser/browser";
import { clients } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { signedIn, testHost, type TestHost } from "../hosts/host";
import { type Answer, listen, type ListeningApp } from "../hosts/listening";

/** A client whose registered URIs have what attackers play with: port, query, path, several of one host. */
export const rich: Client = {
  clientId: "rich",
  name: "Rich",
  confidential: true,
  trusted: true,
  secretDigests: clients.web.secretDigests,
  redirectUris: [
    "https://rich.example:8443/a/b?x=1&y=2",
    "https://rich.example/",
    "https://sub.rich.example/callback",
  ],
  subscriptions: { orders: {} },
};

/** A native client that nobody is asked about, so that the answer is always a redirect. */
export const phone: Client = { ...clients.native, clientId: "phone", trusted: true };

/** A web client on the developer's machine, which is no native one. */
export const devWeb: Client = { ...rich, clientId: "dev-web", redirectUris: ["http://127.0.0.1/callback"] };

/** A browser client on the developer's machine. */
export const devSpa: Client = {
  ...clients.spa,
  clientId: "dev-spa",
  redirectUris: ["http://127.0.0.1:3000/callback"],
};

const records: readonly Client[] = [...Object.values(clients), rich, phone, devWeb, devSpa];

/** The host as it listens; its client keeps the connection. */
export let app: ListeningApp;

/** The host, for a test that changes its session. */
export let host: TestHost;

/** One host for all tests of the file, with Alice signed in at the start of each. */
export function listenForAllTests(): void {
  beforeAll(async () => {
    host = testHost({ clients: records });
    app = await listen(host.app);
  });
  afterAll(() => app.close());
  stopClockForEachTest();
  beforeEach(() => {
    host.session = signedIn;
  });
}

/** Opens a link with these parameters. */
export function openLink(fields: Fields, headers: Record<string, string> = {}): Promise<Answer> {
  return app.send({
    path: `${pairPath()}/authorize?${encode(fields)}`,
    headers: { Accept: "text/html", ...headers },
  });
}

/** A good request but for these two. */
export function requestOf(clientId: string, redirectUri: string | readonly string[]): Fields {
  return { ...authorizationParameters("web"), client_id: clientId, redirect_uri: redirectUri };
}

/** The redirect URI of the client `web`. */
export const webCallback = "https://web.example/callback";
