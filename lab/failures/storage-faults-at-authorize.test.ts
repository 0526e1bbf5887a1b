/** Every storage call of every visit of a browser fails once, before its work or after it, when only the answer is lost. */
import { issuer, pairPath } from "../../__tests__/hosts/apis";
import { authorize, redirectParameters } from "../../__tests__/browser/authorize";
import type { Browser } from "../../__tests__/browser/browser";
import { redeem } from "../../__tests__/requests/client-requests";
import type { ClientName } from "../../__tests__/hosts/clients";
import { stopClockForEachTest } from "../../__tests__/hosts/clock";
import {
  acknowledgedTokens,
  type Bed,
  expectReported,
  interactionOf,
  internalError,
  type Moment,
  newBed,
  onceEach,
  outcomeAfter,
  outcomeOf,
  rowsOf,
  statusesOf,
  writtenUntil,
} from "./faulty-host";
import { signedOut, type TestHost } from "../../__tests__/hosts/host";
import { obtainCode } from "../../__tests__/browser/journey";
import { afterFailure, begunBeside, findClient } from "../../__tests__/storage/slow-storage";
import type { Response } from "supertest";

stopClockForEachTest();

interface Visit {
  /** The storage calls of the request, in their order. */
  readonly calls: readonly string[];
  readonly client: ClientName;
  readonly options?: Parameters<typeof newBed>[0];
  /** What the answer is when nothing fails. */
  readonly good: "code" | "consent page" | "own page" | "sign-in page" | "access_denied";
  prepare(host: TestHost, browser: Browser): Promise<() => Promise<Response>>;
}

const recognising = [...findClient, "clients.find", "endMarks.find"];

const asking = [...recognising, "consents.find"];

const storing = ["authorizations.create", "authorizationCodes.create"];

/** With the mark of a yes, and the look for that of a no. */
const approving = [...asking, "endMarks.save", ...storing, "endMarks.find", "consents.save", "endMarks.find"];

const denying = [...findClient, "endMarks.find", "endMarks.save", "endMarks.find"];

const visits: Readonly<Record<string, Visit>> = {
  "the first visit of nobody": {
    calls: findClient,
    client: "web",
    good: "sign-in page",
    async prepare(host, browser) {
      const { session } = host;
      return async () => {
        host.session = signedOut;
        const response = await authorize(browser, { client: "web" });
        host.session = session;
        return response;
      };
    },
  },
  "the first visit": {
    calls: asking,
    client: "web",
    good: "consent page",
    prepare: async (_, browser) => () => authorize(browser, { client: "web" }),
  },
  "the way back from sign-in": {
    calls: asking,
    client: "web",
    good: "consent page",
    async prepare(host, browser) {
      const { session } = host;
      host.session = signedOut;
      const interaction = interactionOf(await authorize(browser, { client: "web" }));
      host.session = session;
      return () => browser.get(`${pairPath()}/authorize/resume`, { interaction });
    },
  },
  "a yes on the consent page": {
    calls: approving,
    client: "web",
    good: "code",
    async prepare(_, browser) {
      const page = await authorize(browser, { client: "web" });
      return () => browser.answer(page, "approve");
    },
  },
  "a no on the consent page": {
    calls: denying,
    client: "web",
    good: "access_denied",
    async prepare(_, browser) {
      const page = await authorize(browser, { client: "web" });
      return () => browser.answer(page, "deny");
    },
  },
  "a trusted client's visit": {
    calls: [...recognising, ...storing, "endMarks.find"],
    client: "web",
    options: { trusted: true },
    good: "code",
    prepare: async (_, browser) => () => authorize(browser, { client: "web" }),
  },
  "prompt=none with a remembered consent": {
    calls: [...asking, ...storing, "endMarks.find"],
    client: "spa",
    good: "code",
    async prepare(host, browser) {
      await obtainCode(host, { client: "spa", browser });
      return () => authorize(browser, { client: "spa", fields: { prompt: "none" } });
    },
  },
  "a visit that leads to the host's own consent page": {
    calls: asking,
    client: "web",
    options: { ownPage: true },
    good: "own page",
    prepare: async (_, browser) => () => authorize(browser, { client: "web" }),
  },
  "auth.approve": {
    calls: approving,
    client: "web",
    options: { ownPage: true },
    good: "code",
    async prepare(_, browser) {
      const interaction = interactionOf(await authorize(browser, { client: "web" }));
      return () => browser.post("/allow", { interaction });
    },
  },
  "auth.deny": {
    calls: denying,
    client: "web",
    options: { ownPage: true },
    good: "access_denied",
    async prepare(_, browser) {
      const interaction = interactionOf(await authorize(browser, { client: "web" }));
      return () => browser.post("/cancel", { interaction });
    },
  },
};

/** The visit up to the request that fails, and that request. */
async function failingVisit(
  { flow, index, moment }: { flow: Visit; index: number; moment: Moment },
  bed: Bed = newBed(flow.options),
) {
  const browser = bed.host.browser();
  const send = await flow.prepare(bed.host, browser);
  const consentsBefore = (await bed.host.auth.consents.list("alice")).consents;
  bed.host.events.length = 0;
  bed.faulty.arm(index, moment);
  const response = await send();
  bed.faulty.fix();
  return { ...bed, browser, response, consentsBefore };
}

describe("storage fails in one call, where a browser is redirected (RFC 6749 §4.1.2.1)", () => {
  const rows = rowsOf(visits);

  it.each(Object.entries(visits))("is tried below in every call of %s", async (_, visit) => {
    const { host, faulty } = newBed(visit.options);
    const send = await visit.prepare(host, host.browser());
    faulty.arm(visit.calls.length, "before");
    expect(outcomeOf(await send())).toBe(visit.good);
    expect(faulty.calls).toEqual(visit.calls);
  });

  const seen = onceEach(async (row: (typeof rows)[number]) => {
    const { host, faulty, response, consentsBefore } = await failingVisit(row);
    const outcome = outcomeAfter({ host, faulty, response });
    return { ...outcome, consentsBefore, remembered: (await host.auth.consents.list("alice")).consents };
  });

  it.each(rows)(
    "is told as server_error, by a page for a no and until the redirect URI is proven: $call ($index) of $name throws $moment its work",
    async (row) => {
      const { events, response } = await seen(row);
      if (row.index < findClient.length || row.flow.good === "access_denied")
        expect(outcomeOf(response)).toBe("page 500");
      else expect(redirectParameters(response)).toEqual({ ...internalError, state: "a state", iss: issuer });
      expect(response.text).not.toContain("hunter2");
      expectReported(events);
    },
  );

  it.each(rows)("ends the request: $call ($index) of $name throws $moment its work", async (row) => {
    const { calls: made, written } = await seen(row);
    const { calls } = row.flow;
    const guarding = afterFailure(calls, row.index);
    expect(made).toEqual([...calls.slice(0, row.index + 1), ...begunBeside(calls, row.index), ...guarding]);
    expect(written).toEqual([...writtenUntil(row.flow.calls, row), ...guarding]);
  });

  it.each(rows)(
    "leaves no consent behind without a stored code: $call ($index) of $name throws $moment its work",
    async (row) => {
      const { written, consentsBefore, remembered } = await seen(row);
      if (written.includes("consents.save")) {
        // one of the last two answers was lost: the person has agreed, and the code only did not arrive
        expect(written).toContain("authorizationCodes.create");
        expect(remembered).toHaveLength(consentsBefore.length + 1);
      } else expect(remembered).toEqual(consentsBefore);
    },
  );

  it.each(rows)(
    "lets the next visit have a code that buys once: $call ($index) of $name throws $moment its work",
    async ({ flow, ...row }) => {
      const { host } = await failingVisit({ flow, ...row });
      const browser = host.browser();
      const first = await authorize(browser, { client: flow.client });
      const last =
        outcomeOf(first) === "own page"
          ? await browser.post("/allow", { interaction: interactionOf(first) })
          : first.status === 200
            ? await browser.answer(first, "approve")
            : first;
      const { code = "" } = redirectParameters(last);
      const tries = [
        await redeem(host, { client: flow.client, code }),
        await redeem(host, { client: flow.client, code }),
      ];
      expect(tries.map(({ status }) => status)).toEqual([200, 400]);
    },
  );

  it.each(rows)(
    "takes nothing away that was acknowledged: $call ($index) of $name throws $moment its work",
    async (row) => {
      const bed = newBed(row.flow.options);
      const acknowledged = await acknowledgedTokens(bed.host);
      await failingVisit(row, bed);
      expect(await statusesOf(bed.host, acknowledged)).toEqual([200, 200]);
    },
  );
});
