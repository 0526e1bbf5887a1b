import { authorize } from "../browser/authorize";
import { clients } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { alice, signedIn, signedOut, testHost } from "../hosts/host";
import { interactionOf, resumePath, signIn } from "../browser/interaction";
import { answerAtClient, denial, granted } from "./sign-in";

const clock = stopClockForEachTest();

const fields = { prompt: "login" };

describe("prompt=login (OpenID Connect Core §3.1.2.1)", () => {
  it("sends somebody who is signed in to the sign-in page", async () => {
    const host = testHost();
    const response = await authorize(host.browser(), { client: "web", fields });
    expect(answerAtClient(response)).toEqual({
      status: 302,
      location: expect.stringMatching(/^\/signin\?inter/),
    });
    expect(host.asked).toEqual([{ reauthenticate: true, prompt: ["login"] }]);
  });

  it("sends a trusted client's end user there as well", async () => {
    const host = testHost({ clients: [{ ...clients.web, trusted: true }] });
    const response = await authorize(host.browser(), { client: "web", fields });
    expect(response.headers["location"]).toMatch(/^\/signin\?interaction=/);
  });

  it("is met by signing in", async () => {
    const host = testHost();
    const browser = host.browser();
    const first = await authorize(browser, { client: "web", fields });
    clock.advance(30);
    const page = await signIn({ browser, id: interactionOf(first) });
    expect(page.status).toBe(200);
    clock.advance(30);
    expect(answerAtClient(await browser.answer(page, "approve"))).toEqual({ status: 303, ...granted });
  });

  it.each([
    [-1, 302],
    [0, 200],
    [1, 200],
  ])("takes an authTime of the interaction's beginning %i seconds: %i", async (offset, status) => {
    const host = testHost();
    const browser = host.browser();
    const began = clock.now();
    const first = await authorize(browser, { client: "web", fields });
    clock.advance(60);
    host.session = alice(began + offset);
    const back = await browser.get(resumePath(interactionOf(first)));
    expect(back.status).toBe(status);
    if (status === 302) expect(back.headers["location"]).toBe(first.headers["location"]);
  });

  it("sends who comes back without having signed in to the sign-in page again, each time", async () => {
    const host = testHost();
    const browser = host.browser();
    const first = await authorize(browser, { client: "web", fields });
    const id = interactionOf(first);
    for (let time = 0; time < 3; time += 1) {
      clock.advance(10);
      const back = await browser.get(resumePath(id));
      expect(back.headers["location"]).toBe(`/signin?interaction=${id}`);
    }
    const page = await signIn({ browser, id });
    expect(answerAtClient(await browser.answer(page, "approve"))).toEqual({ status: 303, ...granted });
  });
});

describe("prompt=login and what the host says of its session (OpenID Connect Core §3.1.2.1)", () => {
  it("asks for one sign-in only, however many pages follow", async () => {
    const host = testHost({ consent: { decide: () => ({ kind: "interaction", url: "/ask" }) } });
    const browser = host.browser();
    const first = await authorize(browser, { client: "web", fields });
    const id = interactionOf(first);
    const asked = await signIn({ browser, id });
    expect(asked.headers["location"]).toBe(`/ask?interaction=${id}`);
    clock.advance(60);
    const answer = await browser.post("/allow", { interaction: id });
    expect(answerAtClient(answer)).toEqual({ status: 303, ...granted });
    expect(host.asked.filter(({ reauthenticate }) => reauthenticate)).toHaveLength(1);
  });

  it.each([
    ["on the first visit", 0],
    ["a second time", 1],
  ])("is login_required when the host answers from its old session all the same, %s", async (_, pages) => {
    const host = testHost();
    let visits = 0;
    host.session = () => (visits++ < pages ? signedOut : signedIn);
    const browser = host.browser();
    const first = await authorize(browser, { client: "web", fields });
    const last = pages === 0 ? first : await browser.get(resumePath(interactionOf(first)));
    expect(answerAtClient(last)).toEqual(denial("login_required"));
    expect(browser.cookies.size).toBe(0);
    expect(host.events.at(-1)).toMatchObject({
      kind: "authorization-denied",
      error: "login_required",
      code: "sign-in-too-old",
    });
  });

  it("is login_required on the first visit of a host that never says authTime and does not ask again", async () => {
    const host = testHost();
    host.session = () => ({ kind: "authenticated", subject: "alice" });
    const response = await authorize(host.browser(), { client: "web", fields });
    expect(answerAtClient(response)).toEqual(denial("login_required"));
  });

  it("is server_error when the host does not say authTime after the sign-in", async () => {
    const host = testHost();
    const browser = host.browser();
    const first = await authorize(browser, { client: "web", fields });
    host.session = { kind: "authenticated", subject: "alice" };
    expect(answerAtClient(await browser.get(resumePath(interactionOf(first))))).toEqual(
      denial("server_error"),
    );
    expect(host.events.at(-1)).toMatchObject({ kind: "server-error", cause: expect.any(TypeError) });
  });

  it("lets the host deny", async () => {
    const host = testHost();
    host.session = () => ({ kind: "denied" });
    const response = await authorize(host.browser(), { client: "web", fields });
    expect(answerAtClient(response)).toEqual(denial("access_denied"));
  });
});

describe("max_age (OpenID Connect Core §3.1.2.1)", () => {
  it.each([
    [59, 200],
    [60, 200],
    [61, 302],
  ])("60 takes a session of %i seconds: %i", async (age, status) => {
    const host = testHost();
    host.session = alice(clock.now() - age);
    const response = await authorize(host.browser(), { client: "web", fields: { max_age: "60" } });
    expect(response.status).toBe(status);
    if (status === 302) expect(response.headers["location"]).toMatch(/^\/signin\?interaction=/);
    const [first, second] = host.asked;
    expect(first).toEqual({ reauthenticate: false, prompt: [] });
    expect(second).toEqual(status === 302 ? { reauthenticate: true, prompt: [] } : undefined);
  });

  it("0 takes no session from before", async () => {
    const host = testHost();
    host.session = alice(clock.now() - 1);
    const browser = host.browser();
    const first = await authorize(browser, { client: "web", fields: { max_age: "0" } });
    expect(first.headers["location"]).toMatch(/^\/signin\?interaction=/);
  });

  it("is met by signing in, however long the pages take: no loop", async () => {
    const host = testHost();
    host.session = alice(clock.now() - 1);
    const browser = host.browser();
    const first = await authorize(browser, { client: "web", fields: { max_age: "0" } });
    clock.advance(60);
    const back = await browser.post("/signin", { interaction: interactionOf(first), subject: "alice" });
    clock.advance(60);
    const page = await browser.follow(back);
    expect(page.status).toBe(200);
    clock.advance(60);
    expect(answerAtClient(await browser.answer(page, "approve"))).toEqual({ status: 303, ...granted });
  });

  it("asks for a sign-in when the host does not say authTime", async () => {
    const host = testHost();
    host.session = { kind: "authenticated", subject: "alice" };
    const browser = host.browser();
    const first = await authorize(browser, { client: "web", fields: { max_age: "3600" } });
    expect(first.headers["location"]).toMatch(/^\/signin\?interaction=/);
    expect(host.asked.at(-1)).toEqual({ reauthenticate: true, prompt: [] });
    const back = await browser.get(resumePath(interactionOf(first)));
    expect(answerAtClient(back)).toEqual(denial("server_error"));
  });

  it("sends who comes back without having signed in to the sign-in page again", async () => {
    const host = testHost();
    host.session = alice(clock.now() - 100);
    const browser = host.browser();
    const first = await authorize(browser, { client: "web", fields: { max_age: "60" } });
    const back = await browser.get(resumePath(interactionOf(first)));
    expect(back.headers["location"]).toBe(first.headers["location"]);
  });

  it("is login_required when the host answers from its old session all the same", async () => {
    const host = testHost();
    host.session = () => signedIn;
    const response = await authorize(host.browser(), { client: "web", fields: { max_age: "60" } });
    expect(answerAtClient(response)).toEqual(denial("login_required"));
  });

  it("does not matter to a session when it is left out", async () => {
    const host = testHost();
    host.session = { kind: "authenticated", subject: "alice" };
    expect((await authorize(host.browser(), { client: "web" })).status).toBe(200);
    expect(host.asked).toEqual([{ reauthenticate: false, prompt: [] }]);
  });
});
