import type { Response } from "supertest";
import { authorize, redirectParameters } from "../browser/authorize";
import type { Browser, Fields } from "../browser/browser";
import { outcomeOf } from "../browser/consent";
import { interactionOf, signIn } from "../browser/interaction";
import { stopClockForEachTest } from "../hosts/clock";
import { alice, type TestHost } from "../hosts/host";
import { redeem, refresh } from "../requests/client-requests";
import { provider, readIdToken } from "./provider";

const clock = stopClockForEachTest();

/** The request of `web` for a sign-in. */
const asking = (fields: Fields) => ({ client: "web", fields: { scope: "openid", ...fields } }) as const;

interface IdTokens {
  readonly id_token?: string;
  readonly refresh_token?: string;
}

/** The tokens at the end of a visit: the person says yes when asked, and the client exchanges its code. */
async function tokensAfter(
  host: TestHost,
  { browser, last }: { browser: Browser; last: Response },
): Promise<IdTokens> {
  const answer = outcomeOf(last) === "asked" ? await browser.answer(last, "approve") : last;
  const { code = "" } = redirectParameters(answer);
  return (await redeem(host, { client: "web", code })).body as IdTokens;
}

/** When the person has signed in, as the client is told. */
const toldOf = ({ id_token }: IdTokens): unknown => readIdToken(id_token)["auth_time"];

describe("auth_time (OpenID Connect Core §2, §3.1.2.1, §15.1)", () => {
  it("is in the ID token where max_age was asked, and within it", async () => {
    const host = provider();
    host.session = alice(clock.now() - 50);
    const browser = host.browser();
    const last = await authorize(browser, asking({ max_age: "60" }));
    expect(toldOf(await tokensAfter(host, { browser, last }))).toBe(clock.now() - 50);
  });

  it("is that of the session, and not of the consent before", async () => {
    const host = provider();
    const first = host.browser();
    await tokensAfter(host, { browser: first, last: await authorize(first, asking({})) });
    clock.advance(1_000);
    host.session = alice(clock.now() - 5);
    const browser = host.browser();
    const last = await authorize(browser, asking({ max_age: "60", prompt: "none" }));
    expect(toldOf(await tokensAfter(host, { browser, last }))).toBe(clock.now() - 5);
  });

  it.each<[string, Fields]>([
    ["prompt=login", { prompt: "login" }],
    ["max_age=0", { max_age: "0" }],
    ["a max_age that the session exceeds", { max_age: "60" }],
    ["both", { prompt: "login", max_age: "600" }],
  ])("is newer after %s", async (_, fields) => {
    const host = provider();
    const before = clock.now() - 600;
    host.session = alice(before);
    const browser = host.browser();
    const first = await authorize(browser, asking(fields));
    clock.advance(20);
    const last = await signIn({ browser, id: interactionOf(first) });
    const told = toldOf(await tokensAfter(host, { browser, last }));
    expect([told, Number(told) > before]).toEqual([clock.now(), true]);
  });

  it("stays the same at a refresh, however late (§12.2)", async () => {
    const host = provider();
    const signedInAt = clock.now() - 50;
    host.session = alice(signedInAt);
    const browser = host.browser();
    const last = await authorize(browser, asking({ max_age: "60" }));
    const { refresh_token: refreshToken = "" } = await tokensAfter(host, { browser, last });
    clock.advance(3_600);
    host.session = alice(clock.now());
    const { body } = await refresh(host, { client: "web", refreshToken });
    expect(toldOf(body as IdTokens)).toBe(signedInAt);
  });

  it("cannot be missing: a host that does not know it gives no code where max_age was asked", async () => {
    const host = provider();
    host.session = () => ({ kind: "authenticated", subject: "alice" });
    const response = await authorize(host.browser(), asking({ max_age: "60" }));
    expect(redirectParameters(response)).toMatchObject({ error: "login_required" });
  });

  it("is left out where nobody asked and the host does not know it", async () => {
    const host = provider();
    host.session = () => ({ kind: "authenticated", subject: "alice" });
    const browser = host.browser();
    const tokens = await tokensAfter(host, { browser, last: await authorize(browser, asking({})) });
    expect(readIdToken(tokens.id_token)).not.toHaveProperty("auth_time");
  });
});
