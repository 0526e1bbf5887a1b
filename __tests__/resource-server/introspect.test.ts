import { introspector } from "../../lib/resource-server/introspect";
import { trustedServers, type TrustedReply } from "../fixture/trusted-answers";

afterEach(() => void jest.restoreAllMocks());

const endpoint = "https://host.example/login/auth/password/api/orders/introspect";
const late = { code: "AUTHMOUNT_LATE" };

/** What comes of a question that is answered like this. */
function asked(reply: TrustedReply) {
  trustedServers().replies.set(endpoint, reply);
  return introspector({ clientId: "api:1", clientSecret: "a b" }, (call) => call())(endpoint, "T");
}

describe("a question about a token (RFC 7662 §2.1)", () => {
  it("is asked as the client (RFC 6749 §2.3.1), and only when it is its turn", async () => {
    trustedServers({ [endpoint]: { active: false } });
    const turns: (() => void)[] = [];
    const turn = new Promise<void>((resolve) => turns.push(resolve));
    const introspect = introspector({ clientId: "api:1", clientSecret: "a b" }, (call) => turn.then(call));
    const answer = introspect(endpoint, "a token");
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
      await expect(asked({ body })).rejects.toThrow(
        new Error("introspection: the answer does not say whether the token is active (RFC 7662 §2.2)"),
      );
    },
  );

  it.each([
    [400, "is this client registered as a confidential one, with a subscription to the API?"],
    [401, "are clientId and clientSecret those of a client that is registered there?"],
    [403, "may this client introspect tokens?"],
    [404, "is baseUrl right?"],
    [201, "is baseUrl right?"],
    [405, "is baseUrl right?"],
    [499, "is baseUrl right?"],
  ])("with status %i is a refusal, and the host is told what to check: %s", async (status, hint) => {
    const message = `introspection was refused with status ${status}: ${hint}`;
    const refused = asked({ status, body: { active: true } });
    await expect(refused).rejects.toThrow(new Error(message));
    await expect(refused).rejects.not.toMatchObject(late);
  });

  it.each([429, 500, 503])("with status %i may be another one soon, so it leads to 503", async (status) => {
    await expect(asked({ status, body: { active: true } })).rejects.toMatchObject({
      message: `introspection: the answer has status ${status}`,
      ...late,
    });
  });

  it("that does not arrive leads to 503", async () => {
    await expect(asked({ body: "<html>" })).rejects.toMatchObject({
      message: "introspection: the answer (status 200) is not JSON",
      ...late,
    });
  });
});
