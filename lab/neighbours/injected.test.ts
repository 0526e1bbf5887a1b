/**
 * Minted tokens at a host without a port, by light-my-request. It changes Express for the whole process, so that Express no longer
 * answers real requests: this file has none.
 */
import { inject, type Response } from "light-my-request";
import { refusedKinds, testTokens } from "../../lib/testing";
import type { TestHost } from "../../__tests__/hosts/host";
import { tokenHost, tokenHostOptions } from "../../__tests__/testing/token-host";

/** Sends a GET, and waits for the answer. */
function sendTo(
  { app }: TestHost,
  { url, headers }: { url: string; headers: Readonly<Record<string, string>> },
): Promise<Response> {
  return inject(app as Parameters<typeof inject>[0], { method: "GET", url, headers: { ...headers } });
}

describe.each(["orders", "reports"])("tokens of the API %s, by injection", (api) => {
  const alice = { api, client: "web", subject: "alice", scope: `${api}:read` };

  it("a good one passes, and those of every refused kind do not", async () => {
    const options = await tokenHostOptions();
    const host = tokenHost(options);
    const tokens = testTokens(options);
    const statusWith = async (token: string): Promise<number> => {
      const headers = { authorization: `Bearer ${token}` };
      return (await sendTo(host, { url: `/${api}/read`, headers })).statusCode;
    };
    expect(await statusWith(await tokens.issue(alice))).toBe(200);
    for (const kind of refusedKinds) expect(await statusWith(await tokens[kind](alice))).toBe(401);
  });

  it("checkRoute reads the answers", async () => {
    const options = await tokenHostOptions();
    const host = tokenHost(options);
    await testTokens(options).checkRoute(alice, (headers) => sendTo(host, { url: `/${api}/read`, headers }));
  });
});
