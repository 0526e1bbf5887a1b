// The host makes a mistake with its own secrets. They did not get into the error that tells of it.
import { randomBytes } from "node:crypto";
import { type AuthServerOptions, type Client, createAuthServer, memoryStorage } from "../../lib";
import { signingKey } from "../hosts/canary-host";
import { clients } from "../hosts/clients";
import { signedIn } from "../hosts/host";
import { deepText, newSecrets } from "../requests/marked-secrets";

afterEach(() => jest.restoreAllMocks());

describe("mistakes of the host at the start (createAuthServer, memoryStorage)", () => {
  const secret = randomBytes(24).toString("base64url");
  const options: AuthServerOptions = {
    baseUrl: "https://host.example/login",
    storage: memoryStorage({ clients: [] }),
    authMethods: { password: { authenticate: () => signedIn } },
    apis: { orders: { audience: "https://api.example/orders", authMethods: ["password"], scopes: {} } },
    secrets: [randomBytes(32).toString("base64url")],
    signingKeys: [signingKey],
  };
  const pem = `-----BEGIN PRIVATE KEY-----\n${secret}\n-----END PRIVATE KEY-----\n`;
  const jwk = { ...signingKey.export({ format: "jwk" }), x: secret, d: secret } as { kty: string };

  it.each<readonly [string, () => unknown]>([
    ["a broken PEM", () => createAuthServer({ ...options, signingKeys: [pem] })],
    ["no PEM", () => createAuthServer({ ...options, signingKeys: [secret] })],
    ["a broken JWK", () => createAuthServer({ ...options, signingKeys: [jwk] })],
    ["a JWK of another kind", () => createAuthServer({ ...options, signingKeys: [{ ...jwk, kty: secret }] })],
    ["a secret for a list of keys", () => createAuthServer({ ...options, signingKeys: secret as never })],
    ["a short secret", () => createAuthServer({ ...options, secrets: [secret.slice(0, 31)] })],
    ["a secret for a list of secrets", () => createAuthServer({ ...options, secrets: secret as never })],
    ["a secret twice", () => createAuthServer({ ...options, secrets: [secret + secret, secret + secret] })],
    [
      "a client with a plain secret",
      () => memoryStorage({ clients: [{ ...clients.web, secretDigests: [secret] }] }),
    ],
    [
      "a client with a secret for a list",
      () => memoryStorage({ clients: [{ ...clients.web, secretDigests: secret as never }] }),
    ],
    [
      "a public client with a secret",
      () => memoryStorage({ clients: [{ ...clients.spa, secretDigests: [secret] } as Client] }),
    ],
    [
      "a user name and password in a URL",
      () => createAuthServer({ ...options, baseUrl: `https://x:${secret}@host.example` }),
    ],
  ])("are told without the secret: %s", (_, make) => {
    const secrets = newSecrets();
    secrets.mark("secret", secret);
    let thrown: unknown;
    try {
      make();
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(TypeError);
    expect(secrets.findIn(deepText(thrown))).toEqual([]);
  });

  it("are warned of without the temporary secrets", () => {
    const warn = jest.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    const { secrets: _secrets, signingKeys: _signingKeys, ...without } = options;
    createAuthServer(without);
    expect(warn.mock.calls.map(([message]) => message)).toEqual([
      "createAuthServer made throw-away secrets and signingKeys: what is issued with them ends with this process. A trial needs nothing more. For production, run npx authmount secret and npx authmount signing-key.",
    ]);
  });
});
