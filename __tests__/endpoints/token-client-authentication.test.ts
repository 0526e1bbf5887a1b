import type { Response } from "supertest";
import {
  type Client,
  type ClientStore,
  digestClientSecret,
  generateClientSecret,
  type GrantType,
  memoryStorage,
} from "../../lib";
import { issuer, revocationLagSeconds } from "../hosts/apis";
import { codeVerifier } from "../browser/authorization-request";
import { encode, type Fields } from "../browser/browser";
import { postToken, redeem, refresh } from "../requests/client-requests";
import { basic, type ClientName, clients, credentials, machineSecret, webSecret } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { type TestHost, testHost } from "../hosts/host";
import { obtainCode, obtainTokens } from "../browser/journey";
import { answerOf, formType, invalidClient, refusal, serverError } from "../requests/json-answers";
import { rawRequest } from "../requests/raw-request";
import { clientCredentials, postTokenText, tokenPath } from "../requests/token-requests";
import { changingClients } from "../hosts/watched-host";

const clock = stopClockForEachTest();

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}

const grant = "grant_type=client_credentials";
const newSecret = generateClientSecret();
const machineBasic = basic("machine", machineSecret.secret);

describe("client authentication (RFC 6749 §2.3, §3.2.1)", () => {
  it("takes the secret in the body (client_secret_post)", async () => {
    expect((await postTokenText(testHost(), clientCredentials)).status).toBe(200);
  });

  it.each(["Basic", "basic", "BASIC"])("takes HTTP Basic with the scheme written %s", async (scheme) => {
    const header = machineBasic.replace("Basic", scheme);
    expect((await postTokenText(testHost(), grant, { Authorization: header })).status).toBe(200);
  });

  it("takes a client_id beside Basic when it is the same", async () => {
    const response = await postTokenText(testHost(), `${grant}&client_id=machine`, {
      Authorization: machineBasic,
    });
    expect(response.status).toBe(200);
  });

  it("decodes both halves of Basic as form values", async () => {
    const secret = "p: a+s%s&=é w";
    const clientId = "shop:1+2%20&=";
    const records = [{ ...clients.machine, clientId, secretDigests: [await digestClientSecret(secret)] }];
    const host = testHost({ clients: records });
    const encoded = await postTokenText(host, grant, { Authorization: basic(clientId, secret) });
    expect(encoded.status).toBe(200);
    const bare = await postTokenText(host, grant, {
      Authorization: `Basic ${base64(`${clientId}:${secret}`)}`,
    });
    expect(answerOf(bare)).toEqual(invalidClient);
  });

  it("takes a secret with a colon that is not encoded", async () => {
    const records = [{ ...clients.machine, secretDigests: [await digestClientSecret("one:two:three")] }];
    const header = `Basic ${base64("machine:one:two:three")}`;
    expect(
      (await postTokenText(testHost({ clients: records }), grant, { Authorization: header })).status,
    ).toBe(200);
  });

  const twice = [
    ["the same secret", machineSecret.secret],
    ["a wrong secret", "wrong"],
  ] as const;

  it.each(twice)("refuses Basic beside %s in the body", async (_, secret) => {
    const body = encode({ grant_type: "client_credentials", client_secret: secret });
    const response = await postTokenText(testHost(), body, { Authorization: machineBasic });
    expect(answerOf(response)).toEqual(
      refusal(400, "invalid_request", "Use one client authentication method."),
    );
  });

  it.each([
    ["the same", machineBasic],
    ["a wrong one", basic("machine", "wrong")],
  ])("refuses two Authorization headers, the second %s", async (_, second) => {
    const response = await rawRequest(testHost().app, {
      method: "POST",
      path: tokenPath,
      headers: { "Content-Type": formType, Authorization: [machineBasic, second] },
      chunks: [grant],
    });
    expect(response.status).toBe(400);
    expect(JSON.parse(response.text)).toMatchObject({ error: "invalid_request" });
  });

  it("refuses a client_id that is not the one of Basic", async () => {
    const response = await postTokenText(testHost(), `${grant}&client_id=web`, {
      Authorization: machineBasic,
    });
    expect(answerOf(response)).toEqual(refusal(400, "invalid_request"));
  });

  it("refuses a request without a client_id", async () => {
    const response = await postTokenText(testHost(), `${grant}&client_secret=${machineSecret.secret}`);
    expect(answerOf(response)).toEqual(refusal(400, "invalid_request", "client_id is missing."));
  });
});

describe("a secret that was saved a moment ago (RFC 6749 §2.3.1)", () => {
  const chosen = "what a person chose";

  it.each<[string, (secret: string) => Promise<string>]>([
    ["generated", async () => newSecret.digest],
    ["chosen by a person", digestClientSecret],
  ])("works at once in each process, whoever has saved it: %s", async (_, digest) => {
    const records = new Map<string, Client>([["machine", clients.machine]]);
    const storage = { ...memoryStorage({ clients: [] }), clients: changingClients(records) };
    const hosts = [testHost({ storage }), testHost({ storage })];
    for (const host of hosts) expect((await postTokenText(host, clientCredentials)).status).toBe(200);
    const secret = digest === digestClientSecret ? chosen : newSecret.secret;
    const secretDigests = [await digest(secret), machineSecret.digest];
    records.set("machine", { ...clients.machine, secretDigests });
    for (const host of hosts) {
      const response = await postTokenText(host, grant, { Authorization: basic("machine", secret) });
      expect(response.status).toBe(200);
    }
  });
});

describe("client authentication that fails (RFC 6749 §2.3.1, §5.2)", () => {
  const challenge = `Basic realm="${issuer}"`;

  const failedBasic = [
    ["a wrong secret", basic("machine", "wrong")],
    ["an unknown client", basic("nobody", machineSecret.secret)],
    ["the secret of another client", basic("web", machineSecret.secret)],
    ["an empty secret", basic("machine", "")],
    ["an empty client id", basic("", machineSecret.secret)],
    ["no colon", `Basic ${base64("machine")}`],
    ["no credentials", "Basic"],
    ["no base64", "Basic §§§"],
    ["a broken escape", `Basic ${base64("machine:%zz")}`],
    ["another scheme", `Bearer ${machineSecret.secret}`],
  ] as const;

  it.each(failedBasic)("answers Basic with %s with 401 and a challenge", async (_, header) => {
    const sent = {
      method: "POST",
      path: tokenPath,
      headers: { "Content-Type": formType, Authorization: header },
      chunks: [grant],
    };
    const response = await rawRequest(testHost().app, sent);
    expect({ status: response.status, body: JSON.parse(response.text) as unknown }).toEqual(invalidClient);
    expect(response.headers["www-authenticate"]).toBe(challenge);
  });

  it("sends no challenge to a client that has proved itself by Basic", async () => {
    const response = await postTokenText(testHost(), "grant_type=password", { Authorization: machineBasic });
    expect(answerOf(response)).toEqual(refusal(400, "unsupported_grant_type"));
    expect(response.headers["www-authenticate"]).toBeUndefined();
  });

  const failedBody = [
    ["a wrong secret", { client_id: "machine", client_secret: "wrong" }],
    ["a secret that only begins right", { client_id: "machine", client_secret: `${machineSecret.secret}x` }],
    ["the secret's digest", { client_id: "machine", client_secret: machineSecret.digest }],
    ["no secret", { client_id: "machine" }],
    ["the secret of another client", { client_id: "machine", client_secret: webSecret.secret }],
    ["an unknown client", { client_id: "nobody", client_secret: machineSecret.secret }],
    ["an unknown client without secret", { client_id: "nobody" }],
    ["a client id in other case", { client_id: "MACHINE", client_secret: machineSecret.secret }],
    ["a client id of control characters", { client_id: "machine\n", client_secret: machineSecret.secret }],
    ["a client id of 256 characters", { client_id: "m".repeat(256), client_secret: "x" }],
    ["a name of every object", { client_id: "__proto__", client_secret: "x" }],
    ["a public client with a secret", { client_id: "native", client_secret: "anything" }],
    ["a browser client with a secret", { client_id: "spa", client_secret: "anything" }],
  ] as const;

  it.each(failedBody)("answers %s with one 401, without a challenge", async (_, sent) => {
    const response = await postTokenText(testHost(), encode({ grant_type: "client_credentials", ...sent }));
    expect(answerOf(response)).toEqual(invalidClient);
    expect(response.headers["www-authenticate"]).toBeUndefined();
  });

  it("refuses a public client that uses Basic with a secret", async () => {
    const host = testHost();
    const code = await obtainCode(host, { client: "native" });
    const form = encode({ grant_type: "authorization_code", code, code_verifier: codeVerifier });
    const response = await postTokenText(host, form, { Authorization: basic("native", "x") });
    expect(answerOf(response)).toEqual(invalidClient);
    expect((await redeem(host, { client: "native", code })).status).toBe(200);
  });

  it.each([
    ["Basic", {}, { Authorization: basic("native", "") }],
    ["the body", { client_id: "native", client_secret: "" }, {}],
    ["both", { client_id: "native", client_secret: "" }, { Authorization: basic("native", "") }],
  ])("takes an empty secret of a public client for none, in %s", async (_, fields, headers) => {
    const host = testHost();
    const code = await obtainCode(host, { client: "native" });
    const form = { grant_type: "authorization_code", code, code_verifier: codeVerifier, ...fields };
    expect((await postTokenText(host, encode(form), headers)).status).toBe(200);
  });
});

describe("what is told of a client authentication that fails (RFC 6749 §5.2)", () => {
  it("answers an unknown client and a wrong secret alike in every header", async () => {
    const host = testHost();
    const answers = await Promise.all(
      ["machine", "nobody"].map(async (client_id) => {
        const body = encode({ grant_type: "client_credentials", client_id, client_secret: "wrong" });
        const { status, headers, text } = await postTokenText(host, body);
        return { status, text, headers: { ...headers, date: "" } };
      }),
    );
    expect(answers[0]).toEqual(answers[1]);
  });

  it("takes only the very client it asked for from a table that ignores case", async () => {
    const store: ClientStore = {
      find: async (clientId) => (clientId.toLowerCase() === "machine" ? clients.machine : undefined),
      isBrowserOrigin: async () => false,
    };
    const host = testHost({ storage: { ...memoryStorage({ clients: [] }), clients: store } });
    const sent = { grant_type: "client_credentials", client_secret: machineSecret.secret };
    expect((await postTokenText(host, encode({ ...sent, client_id: "machine" }))).status).toBe(200);
    expect(answerOf(await postTokenText(host, encode({ ...sent, client_id: "Machine" })))).toEqual(
      invalidClient,
    );
  });

  it("tells the host of a registered client that failed, and never repeats an unknown id", async () => {
    const host = testHost();
    for (const client_id of ["machine", "nobody"]) {
      await postTokenText(
        host,
        encode({ grant_type: "client_credentials", client_id, client_secret: "wrong" }),
      );
    }
    const failures = host.events.filter(({ kind }) => kind === "client-authentication-failed");
    expect(failures).toEqual([
      {
        kind: "client-authentication-failed",
        at: clock.now(),
        issuer,
        clientId: "machine",
        code: "secret-wrong",
        reason: expect.any(String) as string,
      },
      {
        kind: "client-authentication-failed",
        at: clock.now(),
        issuer,
        code: "client-unknown",
        reason: expect.any(String) as string,
      },
    ]);
    expect(JSON.stringify(host.events)).not.toContain("nobody");
  });
});

function trySecret(host: TestHost, client_secret: string): Promise<Response> {
  return postTokenText(
    host,
    encode({ grant_type: "client_credentials", client_id: "machine", client_secret }),
  );
}

describe("client secrets during a rotation (RFC 6749 §2.3.1)", () => {
  const [old, fresh, third] = [generateClientSecret(), generateClientSecret(), generateClientSecret()];

  it("takes both of two secrets, and no third", async () => {
    const host = testHost({
      clients: [{ ...clients.machine, secretDigests: [fresh.digest, old.digest] }],
    });
    const answers = [];
    for (const { secret } of [old, fresh, third]) answers.push((await trySecret(host, secret)).status);
    expect(answers).toEqual([200, 200, 401]);
  });

  it("refuses to register three secrets", () => {
    const digests = [fresh.digest, old.digest, third.digest];
    expect(() => testHost({ clients: [{ ...clients.machine, secretDigests: digests }] })).toThrow(
      expect.objectContaining({
        code: "wrong-client-record",
        message: expect.stringContaining("secretDigests"),
      }),
    );
  });

  it("refuses a client with three secrets from the host's own table", async () => {
    const digests = [fresh.digest, old.digest, third.digest];
    const records = new Map([["machine", { ...clients.machine, secretDigests: digests }]]);
    const host = testHost({
      storage: { ...memoryStorage({ clients: [] }), clients: changingClients(records) },
    });
    expect(answerOf(await trySecret(host, fresh.secret))).toEqual(serverError);
    expect(host.events).toMatchObject([{ kind: "server-error", cause: expect.any(TypeError) }]);
  });

  it("checks scrypt digests, beside a generated one, however often", async () => {
    const secret = "chosen by a person";
    const secretDigests = [await digestClientSecret(secret), fresh.digest];
    const host = testHost({ clients: [{ ...clients.machine, secretDigests }] });
    const answers = [];
    for (const each of [secret, "chosen by an enemy", secret, fresh.secret, "chosen by an enemy"]) {
      answers.push((await trySecret(host, each)).status);
    }
    expect(answers).toEqual([200, 401, 200, 200, 401]);
  });

  it("stops taking a secret as soon as its digest is taken out, a remembered scrypt secret too", async () => {
    const secret = "chosen by a person";
    const records = new Map<string, Client>();
    records.set("machine", { ...clients.machine, secretDigests: [await digestClientSecret(secret)] });
    const host = testHost({
      storage: { ...memoryStorage({ clients: [] }), clients: changingClients(records) },
      revocationLagSeconds: 0,
    });
    expect((await trySecret(host, secret)).status).toBe(200);
    const secretDigests = [await digestClientSecret("chosen by another person")];
    records.set("machine", { ...clients.machine, secretDigests });
    expect(answerOf(await trySecret(host, secret))).toEqual(invalidClient);
  });
});

describe("which client may use which grant (RFC 6749 §4.4, 9700 §2.2.2)", () => {
  const accessToken = { access_token: expect.any(String), token_type: "bearer", expires_in: 600 };
  const access = { status: 200, body: { ...accessToken, scope: "orders:read" } };
  const accessAndRefresh = {
    status: 200,
    body: { ...accessToken, scope: "orders:read", refresh_token: expect.any(String) },
  };
  const refused = refusal(400, "unauthorized_client", "The client may not use this grant at this API.");
  const rows: readonly (readonly [ClientName, GrantType, unknown])[] = [
    ["web", "authorization_code", accessAndRefresh],
    ["web", "refresh_token", accessAndRefresh],
    ["web", "client_credentials", access],
    ["native", "authorization_code", accessAndRefresh],
    ["native", "refresh_token", accessAndRefresh],
    ["native", "client_credentials", refused],
    ["spa", "authorization_code", access],
    ["spa", "refresh_token", refused],
    ["spa", "client_credentials", refused],
  ];
  it.each(rows)("answers %s with grant %s by the table", async (client, grant_type, expected) => {
    const host = testHost();
    const code = await obtainCode(host, { client });
    const proof: Fields =
      grant_type === "authorization_code"
        ? { code, code_verifier: codeVerifier }
        : grant_type === "refresh_token"
          ? // a browser client has none of its own to send
            {
              refresh_token: (await obtainTokens(host, { client: client === "spa" ? "native" : client }))
                .refresh_token,
            }
          : {};
    const fields = { grant_type, ...credentials(client), ...proof };
    expect(answerOf(await postToken(host, { fields }))).toEqual(expected);
  });

  it("refuses a client without a subscription to the API", async () => {
    const fields = { grant_type: "client_credentials", ...credentials("machine") };
    const response = await postToken(testHost(), { pair: { api: "files" }, fields });
    expect(answerOf(response)).toEqual(refused);
  });

  it.each(["authorization_code", "refresh_token"])(
    "refuses %s outside the subscription",
    async (grant_type) => {
      const fields = { grant_type, ...credentials("machine"), code: "x", refresh_token: "x" };
      expect(answerOf(await postToken(testHost(), { fields }))).toEqual(refused);
    },
  );

  it("refuses a grant that was taken out of the subscription, and burns nothing", async () => {
    const records = new Map<string, Client>(Object.entries(clients));
    const host = testHost({
      storage: { ...memoryStorage({ clients: [] }), clients: changingClients(records) },
    });
    const { refresh_token: refreshToken = "" } = await obtainTokens(host, { client: "web" });
    records.set("web", {
      ...clients.web,
      subscriptions: { orders: { grantTypes: ["authorization_code"] } },
    });
    clock.advance(revocationLagSeconds);
    expect(answerOf(await refresh(host, { client: "web", refreshToken }))).toEqual(refused);
    records.set("web", clients.web);
    clock.advance(revocationLagSeconds);
    expect((await refresh(host, { client: "web", refreshToken })).status).toBe(200);
  });
});
