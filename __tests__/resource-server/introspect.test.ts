import { serverError } from "../../lib/protocol/oauth-error";
import { clientProof } from "../../lib/resource-server/client-proof";
import { introspector } from "../../lib/resource-server/introspect";
import { trustedServers, type TrustedReply } from "./trusted-answers";

afterEach(() => void jest.restoreAllMocks());

const endpoint = "https://host.example/login/auth/password/api/orders/introspect";
const issuer = "https://host.example/login/auth/password/api/orders";
const proof = clientProof(
  { clientId: "api:1", clientSecret: "a b" },
  { clock: () => 1_000, randomId: () => "r" },
);

/** What comes of a question that is answered like this. */
function asked(reply: TrustedReply) {
  trustedServers().replies.set(endpoint, reply);
  return introspector(proof, (_, call) => call())(endpoint, { issuer, token: "T" });
}

/** What such a question fails with. */
function failureOf(reply: TrustedReply): Promise<unknown> {
  return asked(reply).catch((failure: unknown) => failure);
}

describe("a question about a token (RFC 7662 §2.1)", () => {
  it("is asked as the client (RFC 6749 §2.3.1), and only when it is its turn", async () => {
    trustedServers({ [endpoint]: { active: false } });
    const turns: (() => void)[] = [];
    const turn = new Promise<void>((resolve) => turns.push(resolve));
    const introspect = introspector(proof, (_, call) => turn.then(call));
    const answer = introspect(endpoint, { issuer, token: "a token" });
    expect(fetch).not.toHaveBeenCalled();
    turns[0]?.();
    await answer;
    const Authorization = `Basic ${Buffer.from("api%3A1:a+b").toString("base64")}`;
    expect(fetch).toHaveBeenCalledWith(
      endpoint,
      expect.objectContaining({
        method: "POST",
        headers: expect.objectContaining({ Authorization }) as object,
        body: new URLSearchParams({ token: "a token" }),
      }),
    );
  });
});

describe("the answer (RFC 7662 §2.2)", () => {
  it.each([
    [{ active: false }, { active: false }],
    [{ active: false, jti: "T" }, { active: false }],
    [
      { active: true, jti: "T" },
      { active: true, claims: { active: true, jti: "T" } },
    ],
  ])("%j is read", async (body, introspected) => {
    expect(await asked({ body })).toEqual(introspected);
  });

  it.each(["null", "7", '"active"', "{}", "[]", '{"active":"true"}', '{"active":null}', '{"active":1}'])(
    "%s does not say whether the token is active",
    async (body) => {
      await expect(asked({ body })).rejects.toMatchObject({ code: "introspection-answer-wrong" });
    },
  );

  it.each([
    [400, "is this client registered as a confidential one, with a subscription to the API?"],
    [401, "are clientId and clientSecret or privateKey those of a client that is registered there?"],
    [403, "may this client introspect tokens?"],
    [404, "is baseUrl right?"],
    [201, "is baseUrl right?"],
    [405, "is baseUrl right?"],
    [499, "is baseUrl right?"],
  ])("with status %i is a refusal, and the host is told what to check: %s", async (status, hint) => {
    const failure = await failureOf({ status, body: { active: true } });
    expect(failure).toMatchObject({
      code: "introspection-request-refused",
      message: expect.stringContaining(hint) as string,
    });
    expect(serverError(failure).error).toBe("server_error");
  });

  it.each([429, 500, 503])("with status %i may be another one soon, so it leads to 503", async (status) => {
    const failure = await failureOf({ status, body: { active: true } });
    expect(failure).toMatchObject({ code: "introspection-unavailable" });
    expect(serverError(failure).error).toBe("temporarily_unavailable");
  });

  it("that does not arrive leads to 503", async () => {
    const failure = await failureOf({ body: "<html>" });
    expect(failure).toMatchObject({ code: "introspection-unreachable" });
    expect(serverError(failure).error).toBe("temporarily_unavailable");
  });
});
