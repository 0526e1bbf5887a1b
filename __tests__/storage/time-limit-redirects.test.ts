import request, { type Response } from "supertest";
import { issuer, pairPath } from "../hosts/apis";
import { authorize, redirectParameters } from "../browser/authorize";
import type { Browser } from "../browser/browser";
import { redeem } from "../requests/client-requests";
import type { TestHost } from "../hosts/host";
import { interactionOf, resumePath } from "../browser/interaction";
import { obtainCode } from "../browser/journey";
import { everythingUnderWay } from "./latch";
import { expectOneFailure, isRead, lateCall, slowHost, unavailable, ways } from "./slow-calls";
import { afterFailure, afterLateWork, begunBeside, findClient } from "./slow-storage";
import { shortenTimeLimitForEachTest } from "./time-limit";

shortenTimeLimitForEachTest();

interface Visit {
  /** The storage calls of the request, in their order. */
  readonly calls: readonly string[];
  readonly status: number;
  prepare(host: TestHost, browser: Browser): Promise<() => Promise<Response>>;
}

const asking = [...findClient, "clients.find", "endMarks.find", "consents.find"];
const storing = ["authorizations.create", "authorizationCodes.create"];

const visits: Readonly<Record<string, Visit>> = {
  "the first visit": {
    calls: asking,
    status: 302,
    prepare: async (_, browser) => () => authorize(browser, { client: "web" }),
  },
  "the way back from sign-in": {
    calls: asking,
    status: 302,
    async prepare(host, browser) {
      const { session } = host;
      host.session = { kind: "interaction", url: "/signin" };
      const first = await authorize(browser, { client: "web" });
      host.session = session;
      return () => browser.get(resumePath(interactionOf(first)));
    },
  },
  "the approval": {
    calls: [...asking, "endMarks.save", ...storing, "endMarks.find", "consents.save", "endMarks.find"],
    status: 303,
    async prepare(_, browser) {
      const page = await authorize(browser, { client: "web" });
      return () => browser.answer(page, "approve");
    },
  },
  "a visit without a question": {
    calls: [...asking, ...storing, "endMarks.find"],
    status: 302,
    async prepare(host, browser) {
      await obtainCode(host, { client: "web", browser });
      return () => authorize(browser, { client: "web" });
    },
  },
};

const rows = Object.entries(visits).flatMap(([name, visit]) =>
  visit.calls.flatMap((call, index) => ways.map((way) => ({ name, visit, call, index, way }))),
);

/** A visit during which one call goes unanswered. */
async function slowVisit({ visit, index, way }: (typeof rows)[number]) {
  const { host, slow } = slowHost();
  const attempt = await visit.prepare(host, host.browser());
  host.events.length = 0;
  slow.arm(index, way);
  return { host, slow, response: await attempt() };
}

describe("storage that does not answer in time, where a browser is redirected (RFC 6749 §4.1.2.1)", () => {
  it.each(Object.entries(visits))("is tried below in every call of %s", async (_, visit) => {
    const { host, slow } = slowHost();
    const attempt = await visit.prepare(host, host.browser());
    slow.calls.length = 0;
    const { status } = await attempt();
    expect(slow.calls).toEqual(visit.calls);
    expect(status).toBeLessThan(400);
  });

  it.each(rows.filter(({ index }) => index >= findClient.length))(
    "is a redirect with temporarily_unavailable when $call ($index) of $name $way",
    async (row) => {
      const { host, response } = await slowVisit(row);
      expect(response.status).toBe(row.visit.status);
      expect(response.headers["location"]).toMatch(/^https:\/\/web\.example\/callback\?/);
      expect(redirectParameters(response)).toEqual({ ...unavailable, state: "a state", iss: issuer });
      expectOneFailure(host, { call: row.call, secrets: [] });
      expect(host.events.map(({ kind }) => kind)).not.toContain("authorization-granted");
    },
  );

  it.each(rows.filter(({ index }) => index < findClient.length))(
    "is a page with 503 when $call of $name $way: the redirect URI is not proven",
    async (row) => {
      const { host, response } = await slowVisit(row);
      expect([response.status, response.headers["location"]]).toEqual([503, undefined]);
      expect(response.headers["content-type"]).toMatch(/^text\/html/);
      expect(response.text).toContain("Try again later.");
      expectOneFailure(host, { call: row.call, secrets: [] });
    },
  );

  it.each(rows)("begins no later step when $call ($index) of $name $way", async (row) => {
    const { slow } = await slowVisit(row);
    await everythingUnderWay();
    const {
      visit: { calls },
      index,
    } = row;
    const begun = [...calls.slice(0, index + 1), ...begunBeside(calls, index)].filter(
      (each) => !isRead(each),
    );
    const guarding = afterFailure(calls, index);
    expect(slow.writes).toEqual([...begun, ...guarding]);
    // nor when the answer comes after all, but that it is taken back
    await slow.fix();
    const { [row.call]: takenBack = [] } = afterLateWork;
    expect(slow.writes).toEqual([...begun, ...guarding, ...takenBack]);
  });
});

describe("what a browser gets when storage does not answer in time (RFC 6749 §4.1.2.1)", () => {
  it.each(rows)(
    "lets the next visit have a code that is usable once when $call ($index) of $name $way",
    async (row) => {
      const { host, slow } = await slowVisit(row);
      await slow.fix();
      const code = await obtainCode(host, { client: "web" });
      const tries = [
        await redeem(host, { client: "web", code }),
        await redeem(host, { client: "web", code }),
      ];
      expect(tries.map(({ status }) => status)).toEqual([200, 400]);
    },
  );

  it("is JSON with 503 for a program, before the redirect URI is proven", async () => {
    const { host, slow } = slowHost();
    slow.arm(0, "is lost");
    const response = await request(host.app)
      .get(`${pairPath()}/authorize?client_id=web&response_type=code`)
      .set("Accept", "application/json");
    expect([response.status, response.body]).toEqual([503, unavailable]);
  });

  it("is a page with 503 at auth.deny", async () => {
    const { host, slow } = slowHost();
    host.session = { kind: "interaction", url: "/signin" };
    const browser = host.browser();
    const first = await authorize(browser, { client: "web" });
    const interaction = interactionOf(first);
    host.events.length = 0;
    slow.arm(0, "is lost");
    const response = await browser.post("/cancel", { interaction });
    expect([response.status, response.headers["location"]]).toEqual([503, undefined]);
    expectOneFailure(host, { call: "clients.find", secrets: [] });
  });

  it("is the host's to answer at auth.interaction", async () => {
    const { host, slow } = slowHost();
    host.session = { kind: "interaction", url: "/signin" };
    const browser = host.browser();
    const first = await authorize(browser, { client: "web" });
    const told: unknown[] = [];
    host.app.use((error: Error, _: unknown, res: { end(): void }, _next: unknown) => {
      told.push(error);
      res.end();
    });
    slow.arm(0, "is lost");
    await browser.follow(first);
    expect(told).toMatchObject([lateCall("clients.find")]);
  });
});
