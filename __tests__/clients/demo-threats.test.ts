/** What an attacker tries at the demo, which hosts copy as well. */
import { demo, secretOf } from "../servers/demo";

/** The orders that a client sees with a token of its own. */
async function ordersOf(clientId: string): Promise<readonly { of: string }[]> {
  const answer = await fetch(`${demo.origin}/login/auth/password/api/orders/token`, {
    method: "POST",
    headers: { authorization: `Basic ${btoa(`${clientId}:${secretOf(clientId)}`)}` },
    body: new URLSearchParams({ grant_type: "client_credentials", scope: "orders:read orders:write" }),
  });
  const { access_token } = (await answer.json()) as { access_token: string };
  const headers = { authorization: `Bearer ${access_token}`, "content-type": "application/json" };
  const url = `${demo.origin}/api/orders`;
  await fetch(url, { method: "POST", headers, body: JSON.stringify({ item: clientId }) });
  return ((await (await fetch(url, { headers })).json()) as { orders: { of: string }[] }).orders;
}

describe("examples/demo: a client without a person asks for the orders (RFC 6749 §4.4)", () => {
  it("sees its own and nobody else's", async () => {
    expect(await ordersOf("web")).toEqual([{ of: "web", item: "web", amount: 1 }]);
  });

  it("sees everybody's where the API says so by its id", async () => {
    expect((await ordersOf("machine")).map(({ of }) => of)).toEqual(expect.arrayContaining(["alice", "bob"]));
  });
});

describe("examples/demo: another site sends the sign-in form (login CSRF, RFC 9700 §4.7)", () => {
  it.each<[string, () => string | undefined, number]>([
    ["its own page", () => demo.origin, 1],
    ["another site", () => "https://attacker.example", 0],
    ["nowhere", () => undefined, 0],
  ])("from %s", async (_, from, sessions) => {
    const origin = from();
    const response = await fetch(`${demo.origin}/signin/password`, {
      method: "POST",
      redirect: "manual",
      headers: origin === undefined ? {} : { origin },
      body: new URLSearchParams({ name: "alice", password: secretOf("alice") }),
    });
    const begun = response.headers.getSetCookie().filter((line) => line.startsWith("demo_session="));
    expect(begun).toHaveLength(sessions);
  });
});
