/** Every storage call of every flow fails once, before its work or after it, when only the answer is lost. */
import request, { type Response } from "supertest";
import { memoryStorage, type Storage } from "../../lib";
import { type Browser, encode } from "../fixture/browser";
import { stopClock } from "../fixture/clock";
import {
  type ClientName,
  clients,
  codeVerifier,
  credentials,
  origin,
  type Pair,
  pairPath,
  signedOut,
  type TestHost,
  testHost,
} from "../fixture/host";
import {
  authorize,
  callApi,
  obtainCode,
  obtainTokens,
  postToken,
  redeem,
  redirectParameters,
  refresh,
  type Tokens,
} from "../fixture/journey";
import { begunBeside, intercept } from "../fixture/slow-storage";

beforeEach(() => stopClock());
afterEach(() => jest.restoreAllMocks());

const failure = new Error("the database says: password=hunter2");

const moments = ["before", "after"] as const;
type Moment = (typeof moments)[number];

interface FaultyStorage {
  readonly storage: Storage;
  /** The calls since `arm`, in their order. */
  readonly calls: string[];
  /** The calls among them that have changed something. */
  readonly written: string[];
  /** From now on calls are counted, and the one at this index, counted from 0, fails. */
  arm(index: number, moment: Moment): void;
  mend(): void;
}

const isRead = (call: string): boolean => /\.(find|list|isRevoked|isBrowserOrigin)$/.test(call);

function faultyStorage(storage: Storage): FaultyStorage {
  const calls: string[] = [];
  const written: string[] = [];
  let fault: { readonly index: number; readonly moment: Moment } | undefined;
  const faulty = intercept(storage, async (name, call) => {
    const failing = fault?.index === calls.length ? fault : undefined;
    calls.push(name);
    if (failing?.moment === "before") throw failure;
    const answer = await call();
    if (!isRead(name)) written.push(name);
    if (failing) throw failure;
    return answer;
  });
  return {
    storage: faulty,
    calls,
    written,
    arm(index, moment) {
      calls.length = 0;
      written.length = 0;
      fault = { index, moment };
    },
    mend: () => void (fault = undefined),
  };
}

interface Bed {
  readonly host: TestHost;
  readonly faulty: FaultyStorage;
}

/** A host whose every look-up is a storage call. */
function newBed(options: { trusted?: boolean; ownPage?: boolean } = {}): Bed {
  const records = Object.values(clients).map((client) => ({ ...client, trusted: options.trusted ?? false }));
  const faulty = faultyStorage(memoryStorage({ clients: records }));
  const host = testHost({
    storage: faulty.storage,
    revocationLagSeconds: 0,
    ...(options.ownPage && { consent: { decide: () => ({ kind: "interaction", url: "/ask" }) } }),
  });
  return { host, faulty };
}

/** Tokens of the same client and end user at another API than the flows use, so that no consent is remembered for these. */
async function acknowledgedTokens(host: TestHost): Promise<Tokens> {
  const pair: Pair = { api: "files" };
  const browser = host.browser();
  const first = await authorize(browser, { client: "web", pair });
  const last =
    first.status === 200
      ? await browser.answer(first, "approve")
      : first.headers["location"]?.startsWith("/ask")
        ? await browser.post("/allow", { interaction: interactionOf(first) })
        : first;
  const { code = "" } = redirectParameters(last);
  return (await redeem(host, { client: "web", code, pair })).body as Tokens;
}

function interactionOf(response: Response): string {
  return new URL(String(response.headers["location"]), origin).searchParams.get("interaction") ?? "";
}

/** Whether what was acknowledged is as good as it was. */
async function statusesOf(host: TestHost, acknowledged: Tokens): Promise<readonly number[]> {
  const { access_token: accessToken, refresh_token: refreshToken = "" } = acknowledged;
  const call = await callApi(host, "/files", accessToken);
  const next = await refresh(host, { client: "web", refreshToken, pair: { api: "files" } });
  return [call.status, next.status];
}

/** What the calls up to the fault have changed. */
function writtenUntil(
  calls: readonly string[],
  { index, moment }: { index: number; moment: Moment },
): string[] {
  const done = calls.slice(0, moment === "after" ? index + 1 : index);
  return [...done, ...begunBeside(calls, index)].filter((call) => !isRead(call));
}

function rowsOf<Flow extends { readonly calls: readonly string[] }>(flows: Readonly<Record<string, Flow>>) {
  return Object.entries(flows).flatMap(([name, flow]) =>
    flow.calls.flatMap((call, index) => moments.map((moment) => ({ name, flow, call, index, moment }))),
  );
}

const internalError = {
  error: "server_error",
  error_description: "The server could not answer this request.",
};

function expectReported(host: TestHost): void {
  const reported = host.events.filter((event) => event.kind === "server-error");
  expect(reported).toEqual([expect.objectContaining({ cause: failure })]);
  const successes = [
    "authorization-granted",
    "token-issued",
    "token-refreshed",
    "token-revoked",
    "consent-revoked",
  ];
  expect(host.events.filter(({ kind }) => successes.includes(kind))).toEqual([]);
}

function outcomeOf(response: Response): string {
  const { location } = response.headers as { location?: string };
  if (location === undefined) return response.status === 200 ? "consent page" : `page ${response.status}`;
  if (location.startsWith("/ask?interaction=")) return "own page";
  if (location.startsWith("/signin?interaction=")) return "sign-in page";
  const { code, error = "nothing" } = redirectParameters(response);
  return code === undefined ? error : "code";
}

describe("storage fails in one call, where a browser is redirected (RFC 6749 §4.1.2.1)", () => {
  const issuer = `${origin}${pairPath()}`;

  interface Visit {
    /** The storage calls of the request, in their order. */
    readonly calls: readonly string[];
    readonly client: ClientName;
    readonly options?: Parameters<typeof newBed>[0];
    /** What the answer is when nothing fails. */
    readonly good: "code" | "consent page" | "own page" | "sign-in page" | "access_denied";
    prepare(host: TestHost, browser: Browser): Promise<() => Promise<Response>>;
  }

  const asking = ["clients.find", "clients.find", "consents.find"];
  const approving = [...asking, "authorizations.create", "authorizationCodes.create", "consents.save"];

  const visits: Readonly<Record<string, Visit>> = {
    "the first visit of nobody": {
      calls: ["clients.find"],
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
      calls: ["clients.find", "clients.find"],
      client: "web",
      good: "access_denied",
      async prepare(_, browser) {
        const page = await authorize(browser, { client: "web" });
        return () => browser.answer(page, "deny");
      },
    },
    "a trusted client's visit": {
      calls: ["clients.find", "clients.find", "authorizations.create", "authorizationCodes.create"],
      client: "web",
      options: { trusted: true },
      good: "code",
      prepare: async (_, browser) => () => authorize(browser, { client: "web" }),
    },
    "prompt=none with a remembered consent": {
      calls: [...asking, "authorizations.create", "authorizationCodes.create"],
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
      calls: ["clients.find"],
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
    const consentsBefore = await bed.host.auth.consents.list("alice");
    bed.host.events.length = 0;
    bed.faulty.arm(index, moment);
    const response = await send();
    bed.faulty.mend();
    return { ...bed, browser, response, consentsBefore };
  }

  const rows = rowsOf(visits);

  it.each(Object.entries(visits))("is tried below in every call of %s", async (_, visit) => {
    const { host, faulty } = newBed(visit.options);
    const send = await visit.prepare(host, host.browser());
    faulty.arm(visit.calls.length, "before");
    expect(outcomeOf(await send())).toBe(visit.good);
    expect(faulty.calls).toEqual(visit.calls);
  });

  it.each(rows)(
    "is told as server_error, by a page until the redirect URI is proven: $call ($index) of $name throws $moment its work",
    async (row) => {
      const { host, response } = await failingVisit(row);
      if (row.index === 0) expect(outcomeOf(response)).toBe("page 500");
      else expect(redirectParameters(response)).toEqual({ ...internalError, state: "a state", iss: issuer });
      expect(response.text).not.toContain("hunter2");
      expectReported(host);
    },
  );

  it.each(rows)("ends the request: $call ($index) of $name throws $moment its work", async (row) => {
    const { faulty } = await failingVisit(row);
    expect(faulty.calls).toEqual(row.flow.calls.slice(0, row.index + 1));
    expect(faulty.written).toEqual(writtenUntil(row.flow.calls, row));
  });

  it.each(rows)(
    "leaves no consent behind without a stored code: $call ($index) of $name throws $moment its work",
    async (row) => {
      const { host, faulty, consentsBefore } = await failingVisit(row);
      const remembered = await host.auth.consents.list("alice");
      if (faulty.written.includes("consents.save")) {
        // the answer to the very last step was lost: the person has agreed, and the code only did not arrive
        expect(faulty.written).toContain("authorizationCodes.create");
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

/** A request of a client, ready to be sent again and again. */
interface Prepared {
  readonly attempt: () => Promise<Response>;
  /** Tokens of the same family that were acknowledged before. */
  readonly family?: Tokens;
}

interface Journey {
  /** The storage calls of one attempt, in their order. */
  readonly calls: readonly string[];
  readonly pair: Pair;
  readonly prepare: (host: TestHost) => Promise<Prepared>;
}

interface ClientPair {
  readonly client: "web" | "native" | "spa";
  readonly api: "orders" | "reports";
}

/** Sent by a script of the client's page when the client is a browser. */
function postForm(
  host: TestHost,
  { client, path, fields }: { client: ClientName; path: string; fields: Record<string, string> },
): Promise<Response> {
  const headers = client === "spa" ? { Origin: "https://spa.example" } : {};
  return Promise.resolve(
    request(host.app)
      .post(path)
      .set(headers)
      .type("form")
      .send(encode({ ...credentials(client), ...fields })),
  );
}

const lookUps = (client: ClientName): string[] =>
  client === "spa" ? ["clients.isBrowserOrigin", "clients.find"] : ["clients.find"];

const stores = (api: ClientPair["api"]): string[] => (api === "reports" ? ["accessTokens.create"] : []);

function redemption({ client, api }: ClientPair): Journey {
  const pair: Pair = { api };
  return {
    calls: [
      ...lookUps(client),
      "authorizationCodes.find",
      "authorizations.find",
      "authorizationCodes.consume",
      ...(client === "spa" ? [] : ["refreshTokens.create"]),
      ...stores(api),
    ],
    pair,
    async prepare(host) {
      const code = await obtainCode(host, { client, pair });
      const path = `${pairPath(pair)}/token`;
      const fields = { grant_type: "authorization_code", code, code_verifier: codeVerifier };
      const attempt = (): Promise<Response> => postForm(host, { client, path, fields });
      return { attempt };
    },
  };
}

function refreshing({ client, api }: ClientPair): Journey {
  const pair: Pair = { api };
  return {
    calls: [
      "clients.find",
      "refreshTokens.find",
      "authorizations.find",
      "refreshTokens.rotate",
      ...stores(api),
    ],
    pair,
    async prepare(host) {
      const family = await obtainTokens(host, { client, pair });
      const { refresh_token: refreshToken = "" } = family;
      return { attempt: () => refresh(host, { client, refreshToken, pair }), family };
    },
  };
}

/** A code or refresh token that has bought already. */
function replayOf({ calls, ...journey }: Journey): Journey {
  const spending = calls.findIndex((call) => /\.(consume|rotate)$/.test(call));
  return {
    ...journey,
    calls: [...calls.slice(0, spending), "authorizations.revoke"],
    async prepare(host) {
      const { attempt } = await journey.prepare(host);
      return { attempt, family: (await attempt()).body as Tokens };
    },
  };
}

function about(
  endpoint: "introspect" | "revoke",
  { client, api, kind }: ClientPair & { kind: "access_token" | "refresh_token" },
): Journey["prepare"] {
  return async (host) => {
    const family = await obtainTokens(host, { client, pair: { api } });
    const path = `${pairPath({ api })}/${endpoint}`;
    const fields = { token: family[kind] ?? "" };
    return { attempt: () => postForm(host, { client, path, fields }), family };
  };
}

function bearer(api: "orders" | "reports"): Journey["prepare"] {
  return async (host) => {
    const family = await obtainTokens(host, { client: "web", pair: { api } });
    return { attempt: () => callApi(host, `/${api}`, family.access_token), family };
  };
}

function clientCredentials(pair: Pair, scope: string): Journey["prepare"] {
  return async (host) => {
    const fields = { grant_type: "client_credentials", ...credentials("web"), scope };
    const attempt = (): Promise<Response> => postToken(host, { pair, fields });
    return { attempt, family: (await attempt()).body as Tokens };
  };
}

const jwt: Pair = { api: "orders" };
const opaque: Pair = { api: "reports" };

const buying: Readonly<Record<string, Journey>> = {
  "a confidential client's redemption for a JWT": redemption({ client: "web", api: "orders" }),
  "a confidential client's redemption for an opaque token": redemption({ client: "web", api: "reports" }),
  "a native client's redemption for a JWT": redemption({ client: "native", api: "orders" }),
  "a native client's redemption for an opaque token": redemption({ client: "native", api: "reports" }),
  "a browser client's redemption for a JWT": redemption({ client: "spa", api: "orders" }),
  "a browser client's redemption for an opaque token": redemption({ client: "spa", api: "reports" }),
  "a confidential client's refresh for a JWT": refreshing({ client: "web", api: "orders" }),
  "a confidential client's refresh for an opaque token": refreshing({ client: "web", api: "reports" }),
  "a native client's refresh for a JWT": refreshing({ client: "native", api: "orders" }),
  "a native client's refresh for an opaque token": refreshing({ client: "native", api: "reports" }),
};

const replays: Readonly<Record<string, Journey>> = {
  "a replay of a code": replayOf(redemption({ client: "web", api: "reports" })),
  "a browser client's replay of a code": replayOf(redemption({ client: "spa", api: "orders" })),
  "a replay of a refresh token": replayOf(refreshing({ client: "native", api: "reports" })),
};

const revocations: Readonly<Record<string, Journey>> = {
  "the revocation of a JWT": {
    calls: ["clients.find", "accessTokens.revoke"],
    pair: jwt,
    prepare: about("revoke", { client: "web", api: "orders", kind: "access_token" }),
  },
  "the revocation of an opaque token": {
    calls: ["clients.find", "accessTokens.find", "accessTokens.revoke"],
    pair: opaque,
    prepare: about("revoke", { client: "native", api: "reports", kind: "access_token" }),
  },
  "the revocation of a JWT from a page": {
    calls: ["clients.isBrowserOrigin", "clients.find", "accessTokens.revoke"],
    pair: jwt,
    prepare: about("revoke", { client: "spa", api: "orders", kind: "access_token" }),
  },
  "the revocation of a refresh token": {
    calls: [
      "clients.find",
      "refreshTokens.find",
      "authorizationCodes.find",
      "authorizations.find",
      "authorizations.revoke",
    ],
    pair: opaque,
    prepare: about("revoke", { client: "web", api: "reports", kind: "refresh_token" }),
  },
};

const repeatable: Readonly<Record<string, Journey>> = {
  "client credentials for a JWT": {
    calls: ["clients.find"],
    pair: jwt,
    prepare: clientCredentials(jwt, "orders:read"),
  },
  "client credentials for an opaque token": {
    calls: ["clients.find", "accessTokens.create"],
    pair: opaque,
    prepare: clientCredentials(opaque, "reports:read"),
  },
  "the introspection of a JWT": {
    calls: ["clients.find", "accessTokens.isRevoked", "authorizations.find"],
    pair: jwt,
    prepare: about("introspect", { client: "web", api: "orders", kind: "access_token" }),
  },
  "the introspection of an opaque token": {
    calls: ["clients.find", "accessTokens.find", "accessTokens.isRevoked", "authorizations.find"],
    pair: opaque,
    prepare: about("introspect", { client: "web", api: "reports", kind: "access_token" }),
  },
  "the introspection of a refresh token": {
    calls: ["clients.find", "refreshTokens.find", "authorizations.find"],
    pair: opaque,
    prepare: about("introspect", { client: "web", api: "reports", kind: "refresh_token" }),
  },
  "an API call with a JWT": {
    calls: ["accessTokens.isRevoked", "authorizations.find"],
    pair: jwt,
    prepare: bearer("orders"),
  },
  "an API call with an opaque token": {
    calls: ["accessTokens.find", "accessTokens.isRevoked", "authorizations.find"],
    pair: opaque,
    prepare: bearer("reports"),
  },
};

async function failingAttempt(
  { flow, index, moment }: { flow: Journey; index: number; moment: Moment },
  bed: Bed = newBed(),
) {
  const prepared = await flow.prepare(bed.host);
  bed.host.events.length = 0;
  bed.faulty.arm(index, moment);
  const response = await prepared.attempt();
  bed.faulty.mend();
  return { ...bed, ...prepared, response };
}

const callWith = (host: TestHost, { pair }: Journey, { access_token: token }: Tokens): Promise<Response> =>
  callApi(host, `/${pair.api}`, token);

describe("storage fails in one call, where the answer is JSON (RFC 6749 §5.2)", () => {
  const journeys = { ...buying, ...replays, ...revocations, ...repeatable };

  it.each(Object.entries(journeys))("is tried below in every call of %s", async (name, journey) => {
    const { host, faulty } = newBed();
    const { attempt } = await journey.prepare(host);
    faulty.arm(journey.calls.length, "before");
    expect((await attempt()).status).toBe(name in replays ? 400 : 200);
    expect(faulty.calls).toEqual(journey.calls);
  });

  it.each(rowsOf(journeys))(
    "is a server_error that the host is told of: $call ($index) of $name throws $moment its work",
    async (row) => {
      const { host, response } = await failingAttempt(row);
      expect([response.status, response.body]).toEqual([500, internalError]);
      expectReported(host);
    },
  );

  it.each(rowsOf(journeys))(
    "begins no later step: $call ($index) of $name throws $moment its work",
    async (row) => {
      const { faulty } = await failingAttempt(row);
      expect(faulty.written).toEqual(writtenUntil(row.flow.calls, row));
    },
  );

  it.each(rowsOf(journeys))(
    "takes nothing away from another authorization: $call ($index) of $name throws $moment its work",
    async (row) => {
      const bed = newBed();
      const acknowledged = await acknowledgedTokens(bed.host);
      const { attempt } = await failingAttempt(row, bed);
      await attempt();
      expect(await statusesOf(bed.host, acknowledged)).toEqual([200, 200]);
    },
  );

  it.each(rowsOf(buying))(
    "lets a code or refresh token buy once, and only when it was not spent: $call ($index) of $name throws $moment its work",
    async (row) => {
      const { attempt, faulty } = await failingAttempt(row);
      const spent = faulty.written.some((call) => /(?:consume|rotate)$/.test(call));
      const tries = [await attempt(), await attempt(), await attempt()].map(({ status }) => status);
      expect(tries).toEqual(spent ? [400, 400, 400] : [200, 400, 400]);
    },
  );

  it.each(rowsOf(buying))(
    "lets one of several simultaneous retries win, and none when it was spent: $call ($index) of $name throws $moment its work",
    async (row) => {
      const { attempt, faulty } = await failingAttempt(row);
      const spent = faulty.written.some((call) => /(?:consume|rotate)$/.test(call));
      const tries = await Promise.all([attempt(), attempt(), attempt()]);
      expect(tries.filter(({ status }) => status === 200)).toHaveLength(spent ? 0 : 1);
    },
  );

  it.each(rowsOf(buying))(
    "leaves nothing that works after a replay, and all until then: $call ($index) of $name throws $moment its work",
    async (row) => {
      const { host, attempt, family } = await failingAttempt(row);
      const good = async (tokens: Tokens): Promise<number> => (await callWith(host, row.flow, tokens)).status;
      if (family) expect(await good(family)).toBe(200);
      const retry = await attempt();
      const bought = retry.status === 200 ? [retry.body as Tokens] : [];
      for (const tokens of bought) expect(await good(tokens)).toBe(200);
      if (family) expect(await good(family)).toBe(retry.status === 200 ? 200 : 401);
      await attempt();
      for (const tokens of [...bought, ...(family ? [family] : [])]) expect(await good(tokens)).toBe(401);
    },
  );

  it.each(rowsOf(buying).filter(({ flow }) => flow.calls.includes("refreshTokens.create")))(
    "lets the refresh token that a retry bought be used: $call ($index) of $name throws $moment its work",
    async (row) => {
      const { host, attempt, faulty } = await failingAttempt(row);
      const spent = faulty.written.some((call) => /(?:consume|rotate)$/.test(call));
      const { refresh_token: refreshToken } = (await attempt()).body as Partial<Tokens>;
      expect(refreshToken === undefined).toBe(spent);
      if (refreshToken === undefined) return;
      const client = row.name.includes("native") ? "native" : "web";
      expect((await refresh(host, { client, refreshToken, pair: row.flow.pair })).status).toBe(200);
    },
  );

  it.each(rowsOf(replays))(
    "does not hide a replay: the next one revokes: $call ($index) of $name throws $moment its work",
    async (row) => {
      const { host, attempt, family, faulty } = await failingAttempt(row);
      const tokens = family as Tokens;
      const revoked = faulty.written.includes("authorizations.revoke");
      expect((await callWith(host, row.flow, tokens)).status).toBe(revoked ? 401 : 200);
      expect((await attempt()).body).toMatchObject({ error: "invalid_grant" });
      expect((await callWith(host, row.flow, tokens)).status).toBe(401);
    },
  );

  it.each(rowsOf(revocations))(
    "leaves a token good until it is revoked, and the next attempt revokes it: $call ($index) of $name throws $moment its work",
    async (row) => {
      const { host, attempt, family, faulty } = await failingAttempt(row);
      const tokens = family as Tokens;
      expect((await callWith(host, row.flow, tokens)).status).toBe(faulty.written.length > 0 ? 401 : 200);
      expect((await attempt()).status).toBe(200);
      expect((await callWith(host, row.flow, tokens)).status).toBe(401);
    },
  );

  it.each(rowsOf(repeatable))(
    "does not stand in the way of the next attempt: $call ($index) of $name throws $moment its work",
    async (row) => {
      const { host, attempt, family } = await failingAttempt(row);
      const { status, body } = await attempt();
      expect(status).toBe(200);
      if (row.name.includes("introspection")) expect(body).toMatchObject({ active: true });
      expect((await callWith(host, row.flow, family as Tokens)).status).toBe(200);
    },
  );

  it.each(rowsOf(repeatable).filter(({ name }) => name.startsWith("an API call")))(
    "does not let a request reach the route: $call ($index) of $name throws $moment its work",
    async ({ flow, index, moment }) => {
      const { host, faulty } = newBed();
      let reached = 0;
      host.app.get("/counted", host.auth.requireBearer({ api: flow.pair.api ?? "orders" }), (_, res) => {
        reached += 1;
        res.end();
      });
      const { access_token: token } = await obtainTokens(host, { client: "web", pair: flow.pair });
      faulty.arm(index, moment);
      expect((await callApi(host, "/counted", token)).status).toBe(500);
      expect(reached).toBe(0);
    },
  );
});

describe("storage fails in one call, where the host asks (RFC 6749 §10.3)", () => {
  const key = { subject: "alice", clientId: "web", apiId: "orders" };
  const steps = ["endMarks.save", "authorizations.revokeAll", "consents.delete"];
  const rows = steps.flatMap((call, index) => moments.map((moment) => ({ call, index, moment })));

  it("is tried below in every call", async () => {
    const { host, faulty } = newBed();
    await obtainTokens(host, { client: "web" });
    faulty.arm(3, "before");
    await host.auth.consents.list("alice");
    await host.auth.consents.revoke(key);
    expect(faulty.calls).toEqual(["consents.list", ...steps]);
  });

  it.each(moments)("is what auth.consents.list rejects with, %s its work", async (moment) => {
    const { host, faulty } = newBed();
    await obtainTokens(host, { client: "web" });
    faulty.arm(0, moment);
    await expect(host.auth.consents.list("alice")).rejects.toBe(failure);
    faulty.mend();
    expect(await host.auth.consents.list("alice")).toMatchObject([key]);
  });

  it.each(rows)("is what auth.consents.revoke rejects with: $call throws $moment its work", async (row) => {
    const { host, faulty } = newBed();
    await obtainTokens(host, { client: "web" });
    host.events.length = 0;
    faulty.arm(row.index, row.moment);
    await expect(host.auth.consents.revoke(key)).rejects.toBe(failure);
    expect(faulty.written).toEqual(writtenUntil(steps, row));
    expect(host.events.filter(({ kind }) => kind === "consent-revoked")).toEqual([]);
  });

  it("can be repeated until it holds, whatever has failed before", async () => {
    const { host, faulty } = newBed();
    const acknowledged = await acknowledgedTokens(host);
    const { access_token: accessToken, refresh_token: refreshToken = "" } = await obtainTokens(host, {
      client: "web",
    });
    for (const { index, moment } of rows) {
      faulty.arm(index, moment);
      await expect(host.auth.consents.revoke(key)).rejects.toBe(failure);
    }
    faulty.mend();
    await host.auth.consents.revoke(key);
    expect((await callApi(host, "/orders", accessToken)).status).toBe(401);
    expect((await refresh(host, { client: "web", refreshToken })).status).toBe(400);
    expect((await authorize(host.browser(), { client: "web" })).status).toBe(200);
    expect(await statusesOf(host, acknowledged)).toEqual([200, 200]);
  });
});
