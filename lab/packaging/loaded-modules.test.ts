/** What a host that uses nothing of it does not load. */
import { execFileSync } from "node:child_process";
import path from "node:path";
import { buildOnce } from "../../__tests__/servers/build-once";

const repository = path.resolve(__dirname, "../..");

/** What a host is made with, and the form that is sent to its token endpoint; each is JavaScript. */
interface Program {
  readonly client?: string;
  readonly api?: string;
  readonly form?: string;
}

const aSecret = "{ secretDigests: [generateClientSecret().digest] }";
const byTheSecret = '{ client_id: "job", client_secret: "x" }';

/** Prints which parts of the package are loaded after the start, and after a request. */
function program({ client = aSecret, api = "{}", form = byTheSecret }: Program): string {
  return `
    const { createAuthServer, generateClientKey, generateClientSecret, memoryStorage } = require("authmount");
    const app = require("express")();
    const auth = createAuthServer({
      baseUrl: "http://localhost/login",
      storage: memoryStorage({ clients: [{ clientId: "job", name: "Job", confidential: true, redirectUris: [], subscriptions: { orders: {} }, ...${client} }] }),
      authMethods: { password: { authenticate: () => ({ kind: "interaction", url: "/signin" }) } },
      apis: { orders: { audience: "http://localhost/orders", authMethods: ["password"], scopes: { read: "Read" }, ...${api} } },
      onEvent: () => {},
    });
    app.use("/login", auth.router);
    const parts = {
      assertions: /dist.clients.client-assertion/,
      strangers: /dist.strangers.(document-clients|metadata-document)/,
      fetching: /dist.fetching.(fetch-document|connection|network)/,
      testing: /dist.testing/,
      assessment: /dist.review/,
      registration: /dist.(endpoints.registration|http.registration-route|http.json-body|strangers.(new-registration|registration-metadata))/,
    };
    const loaded = () => {
      const files = Object.keys(require.cache);
      return Object.keys(parts).filter((name) => files.some((file) => parts[name].test(file)));
    };
    const server = app.listen(0, "127.0.0.1", async () => {
      const atStart = loaded();
      const url = "http://127.0.0.1:" + server.address().port + "/login/auth/password/api/orders/token";
      await fetch(url, { method: "POST", body: new URLSearchParams(${form}) }).then((answer) => answer.text());
      console.log(JSON.stringify([atStart, loaded()]));
      server.close();
    });
  `;
}

function loadedBy(what: Program): unknown {
  const args = ["--no-warnings", "-e", program(what)];
  return JSON.parse(execFileSync(process.execPath, args, { cwd: repository, encoding: "utf8" }));
}

describe("what a host that does not use it does not load", () => {
  beforeAll(buildOnce);

  const key = "{ jwks: generateClientKey().jwks }";
  const claims = Buffer.from(
    '{"iss":"job","sub":"job","aud":"http://localhost/login/auth/password/api/orders","jti":"a","exp":1}',
  ).toString("base64url");
  const header = Buffer.from('{"alg":"ES256"}').toString("base64url");
  const asserted = `{
    client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
    client_assertion: "${header}.${claims}.AAAA",
  }`;
  const aDocument =
    '{ client_id: "https://app.example/client.json", grant_type: "authorization_code", code: "x" }';
  const documents = '{ clientMetadataDocuments: { accept: () => ({ kind: "accepted" }) } }';
  const registration = '{ clientRegistration: { approve: () => ({ kind: "approved" }) } }';

  it.each<[string, Program, unknown]>([
    ["nothing of it, for a secret", {}, [[], []]],
    ["nothing of it, for a client id that is a URL", { form: aDocument }, [[], []]],
    ["no verification of assertions for a client with a secret", { form: asserted }, [[], []]],
    [
      "verification of assertions with the first one of a client with a key (RFC 7523 §3)",
      { client: key, form: asserted },
      [[], ["assertions"]],
    ],
    [
      "no fetching before there is something to fetch",
      { api: documents, form: aDocument },
      [["strangers"], ["strangers"]],
    ],
    [
      "no fetching for registration (RFC 7591 §3)",
      { api: registration },
      [
        ["strangers", "registration"],
        ["strangers", "registration"],
      ],
    ],
  ])("%s", (_, what, loaded) => {
    expect(loadedBy(what)).toEqual(loaded);
  });
});
