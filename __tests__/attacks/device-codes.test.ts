// Codes of devices in wrong hands: at other people, other machines and other grants, and ends and failures in between. RFC 8628 §5.
import request from "supertest";
import { memoryStorage, type Storage } from "../../lib";
import { obtainCode } from "../browser/journey";
import { outcomeOf, yes } from "../browser/consent";
import { stopClockForEachTest } from "../hosts/clock";
import { bob, signedIn, signedOut, type TestHost, testHost } from "../hosts/host";
import { postToken } from "../requests/client-requests";
import {
  answerDevice,
  askForDevice,
  deviceApis,
  deviceClients,
  type DeviceCodes,
  deviceCodes,
  deviceGrant,
  deviceHost,
  endOf,
  poll,
  polled,
  typeCode,
} from "../requests/device-requests";
import { nativeMetadata } from "../requests/registration";
import { tokensOf } from "../requests/token-requests";
import { credentials } from "../hosts/clients";
import { newLatch } from "../storage/latch";
import { intercept } from "../storage/slow-storage";
import { cookieHeader, notFromHere, postForm } from "./cross-site";

const clock = stopClockForEachTest();

const newStorage = (): Storage => memoryStorage({ clients: Object.values(deviceClients) });

/** The sign-ins of a person that are in force. */
async function authorizationsOf({ auth }: TestHost, subject = "alice"): Promise<number> {
  return (await auth.authorizations.list(subject)).authorizations.length;
}

/** A host whose storage runs this before a call, once, when `armed`. */
function watched(name: string, before: (host: TestHost) => Promise<void> | void) {
  const watch: { armed: boolean; host?: TestHost } = { armed: false };
  const storage = intercept(newStorage(), async (called, call) => {
    if (watch.armed && called === name && watch.host) {
      watch.armed = false;
      await before(watch.host);
    }
    return call();
  });
  const host = deviceHost({ storage, revocationLagSeconds: 0 });
  watch.host = host;
  return { host, arm: () => (watch.armed = true) };
}

describe("a link with the code of an attacker's device (RFC 8628 §5.4)", () => {
  it("leads to a page that asks, and never further by itself, for people who are signed in", async () => {
    const host = deviceHost({
      consent: { decide: ({ scopes }) => ({ kind: "granted", scopes: Object.keys(scopes) }) },
    });
    const codes = await deviceCodes(host);
    const victim = host.browser();
    const page = await victim.get("/login/device", { user_code: codes.user_code });
    expect(page.text).not.toMatch(/<script|http-equiv|autofocus/);
    expect(page.text).not.toContain("Phone App");
    expect(await authorizationsOf(host)).toBe(0);
    const consent = await typeCode(victim, codes);
    expect(consent.text).toContain(`shows this code: <bdi>${codes.user_code}</bdi>`);
    expect(await polled(host, codes)).toBe("authorization_pending");
  });

  it("tells nothing of the device before a sign-in, and nothing is stored by asking", async () => {
    const host = deviceHost();
    host.session = signedOut;
    const codes = await deviceCodes(host);
    const victim = host.browser();
    const answer = await victim.post("/login/device", { user_code: codes.user_code });
    expect([answer.status, answer.text]).toEqual([303, ""]);
    expect(decodeURIComponent(answer.headers["location"] ?? "")).not.toMatch(/native|orders:read/);
  });

  it.each<[string, Record<string, string>]>([
    ["another origin", { Origin: "https://evil.example" }],
    ["no origin, as a sandboxed page", { Origin: "null" }],
    ["another site, by Sec-Fetch-Site", { "Sec-Fetch-Site": "cross-site" }],
    ["a sibling domain", { "Sec-Fetch-Site": "same-site" }],
  ])("is not sent by a form of %s", async (_, headers) => {
    const host = deviceHost();
    const codes = await deviceCodes(host);
    const fields = { user_code: codes.user_code };
    const answer = await postForm(host, {
      path: "/login/device",
      fields,
      headers: { Accept: "text/html", ...headers },
    });
    expect(answer.status).toBe(400);
    expect(answer.text).toContain(notFromHere);
    expect(answer.headers["set-cookie"]).toBeUndefined();
  });

  it("is not sent by a script that opens no page, and its pages are in no frame", async () => {
    const host = deviceHost();
    const codes = await deviceCodes(host);
    const browser = host.browser();
    const headers = { "Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty" };
    const byScript = await browser.post("/login/device", { user_code: codes.user_code }, headers);
    expect([byScript.status, byScript.headers["set-cookie"]]).toEqual([400, undefined]);
    const form = await browser.get("/login/device");
    const consent = await typeCode(browser, codes);
    const end = await browser.answer(consent, "approve");
    for (const page of [form, consent, end]) {
      expect(page.headers["content-security-policy"]).toContain("frame-ancestors 'none'");
      expect(page.headers["x-frame-options"]).toBe("DENY");
      expect(page.headers["cache-control"]).toBe("no-store");
    }
  });

  it("needs the token of the consent form, like every yes", async () => {
    const host = deviceHost();
    const codes = await deviceCodes(host);
    const browser = host.browser();
    const page = await typeCode(browser, codes);
    expect(outcomeOf(await browser.answer(page, "approve", { form_token: "forged" }))).toBe("asked");
    const foreign = await postForm(host, {
      path: "/login/auth/password/api/orders/authorize/consent",
      fields: yes(page),
      headers: { Cookie: cookieHeader(browser), Origin: "https://evil.example" },
    });
    expect(foreign.status).toBe(400);
    expect(await polled(host, codes)).toBe("authorization_pending");
  });

  it("is of no use to somebody who has the cookie, once the option is gone", async () => {
    const storage = newStorage();
    const host = deviceHost({ storage });
    const codes = await deviceCodes(host);
    const browser = host.browser();
    const page = await typeCode(browser, codes);
    const later = testHost({ storage });
    const moved = later.browser();
    for (const [name, value] of browser.cookies) moved.cookies.set(name, value);
    expect(endOf(await moved.answer(page, "approve"))).toBe("lost");
  });
});

describe("one code and two people (RFC 8628 §3.3)", () => {
  it("gives one authorization: the first yes counts, the other person starts again", async () => {
    const host = deviceHost();
    const codes = await deviceCodes(host);
    const [alices, bobs] = [host.browser(), host.browser()];
    const ofAlice = await typeCode(alices, codes);
    host.session = bob;
    const ofBob = await typeCode(bobs, codes);
    expect(endOf(await bobs.answer(ofBob, "approve"))).toBe("allowed");
    host.session = signedIn;
    const late = await alices.answer(ofAlice, "approve");
    expect([late.status, endOf(late)]).toEqual([400, "lost"]);
    expect(late.text).toContain("Start again on your device.");
    expect([await authorizationsOf(host), await authorizationsOf(host, "bob")]).toEqual([0, 1]);
    expect(await polled(host, codes)).toBe("tokens");
  });

  it("is decided by storage where both answer at one moment, also yes and no", async () => {
    const host = deviceHost();
    for (const decision of ["approve", "deny"] as const) {
      const codes = await deviceCodes(host);
      const [one, two] = [host.browser(), host.browser()];
      const [first, second] = [await typeCode(one, codes), await typeCode(two, codes)];
      const ends = await Promise.all([one.answer(first, "approve"), two.answer(second, decision)]);
      expect(ends.map(endOf).filter((end) => end !== "lost")).toHaveLength(1);
      expect(await polled(host, codes)).toBe(
        ends.map(endOf).includes("allowed") ? "tokens" : "access_denied",
      );
    }
  });

  it("shows nobody a page of a request that somebody has answered", async () => {
    const host = deviceHost();
    const codes = await deviceCodes(host);
    const open = host.browser();
    await typeCode(open, codes);
    await answerDevice(host.browser(), codes);
    expect((await typeCode(host.browser(), codes)).status).toBe(400);
    const [name = ""] = [...open.cookies.keys()];
    const interaction = name.slice(name.lastIndexOf(".") + 1);
    const back = await open.get("/login/auth/password/api/orders/authorize/resume", { interaction });
    expect(endOf(back)).toBe("lost");
  });

  it("lets an impatient person click twice, and keeps to the first answer", async () => {
    const host = deviceHost();
    const codes = await deviceCodes(host);
    const browser = host.browser();
    const page = await typeCode(browser, codes);
    const cookies = new Map(browser.cookies);
    const again = (): void => cookies.forEach((value, name) => browser.cookies.set(name, value));
    expect(endOf(await browser.answer(page, "approve"))).toBe("allowed");
    expect(endOf(await browser.answer(page, "approve"))).toBe("allowed");
    again();
    expect(endOf(await browser.answer(page, "approve"))).toBe("allowed");
    again();
    expect(endOf(await browser.answer(page, "deny"))).toBe("lost");
    expect(await authorizationsOf(host)).toBe(1);
    expect(await polled(host, codes)).toBe("tokens");
    again();
    expect(endOf(await browser.answer(page, "approve"))).toBe("allowed");
    expect(await polled(host, codes)).toBe("invalid_grant");
  });

  it("keeps to a no, too", async () => {
    const host = deviceHost();
    const codes = await deviceCodes(host);
    const browser = host.browser();
    const page = await typeCode(browser, codes);
    const cookies = new Map(browser.cookies);
    expect(endOf(await browser.answer(page, "deny"))).toBe("denied");
    cookies.forEach((value, name) => browser.cookies.set(name, value));
    expect(endOf(await browser.answer(page, "deny"))).toBe("denied");
    cookies.forEach((value, name) => browser.cookies.set(name, value));
    expect(endOf(await browser.answer(page, "approve"))).toBe("lost");
    expect(await polled(host, codes)).toBe("access_denied");
  });
});

describe("a device code at two machines (RFC 8628 §3.5, 9700 §4.14)", () => {
  it("is a replay once it was spent, and ends everything", async () => {
    const host = deviceHost({ revocationLagSeconds: 0 });
    const codes = await deviceCodes(host);
    await answerDevice(host.browser(), codes);
    const { access_token } = tokensOf(await poll(host, codes));
    expect(await polled(host, codes)).toBe("invalid_grant");
    expect(host.events).toContainEqual(
      expect.objectContaining({ kind: "replay-detected", replayed: "device_code" }),
    );
    const call = await host.browser().get("/orders", {}, { Authorization: `Bearer ${access_token}` });
    expect(call.status).toBe(401);
  });

  it("is a replay after its own time, as long as the first token lives", async () => {
    const host = deviceHost();
    const codes = await deviceCodes(host);
    await answerDevice(host.browser(), codes);
    clock.advance(890);
    expect(await polled(host, codes)).toBe("tokens");
    clock.advance(100);
    expect(await polled(host, codes)).toBe("invalid_grant");
    expect(await authorizationsOf(host)).toBe(0);
  });

  it("gives tokens once where all ask at one moment, and the losers end nothing", async () => {
    const [all, goOn] = [5, newLatch()];
    let waiting = 0;
    const storage = intercept(newStorage(), async (name, call) => {
      if (name === "authorizationCodes.consume") {
        waiting += 1;
        if (waiting === all) goOn.open();
        await goOn.opened;
      }
      return call();
    });
    const host = deviceHost({ storage });
    const codes = await deviceCodes(host);
    await answerDevice(host.browser(), codes);
    const outcomes = await Promise.all(Array.from({ length: all }, () => polled(host, codes)));
    expect(outcomes.toSorted()).toEqual([...Array.from({ length: 4 }, () => "invalid_grant"), "tokens"]);
    expect(await authorizationsOf(host)).toBe(1);
    expect(host.events.at(-1)).not.toMatchObject({ kind: "replay-detected" });
  });
});

describe("a code of one kind at the other grant (RFC 6749 §4.1.3, 8628 §3.4)", () => {
  it("is refused, and stays good where it belongs", async () => {
    const host = deviceHost();
    const codes = await deviceCodes(host, { client: "web" });
    const as = { grant_type: "authorization_code", code: codes.device_code };
    const asCode = async (): Promise<object> =>
      (await postToken(host, { fields: { ...credentials("web"), ...as } })).body as object;
    expect(await asCode()).toMatchObject({ error: "invalid_grant" });
    await answerDevice(host.browser(), codes);
    expect(await asCode()).toMatchObject({ error: "invalid_grant" });
    expect(host.events.at(-1)).toMatchObject({ code: "code-of-another-grant" });
    const device_code = await obtainCode(host, { client: "web" });
    expect(await polled(host, { device_code }, { client: "web" })).toBe("invalid_grant");
    expect(host.events.at(-1)).toMatchObject({ code: "code-of-another-grant" });
    expect(await polled(host, codes, { client: "web" })).toBe("tokens");
  });

  it("takes no refresh token for a device code", async () => {
    const host = deviceHost();
    const codes = await deviceCodes(host);
    await answerDevice(host.browser(), codes);
    const { refresh_token } = tokensOf(await poll(host, codes));
    expect(await polled(host, { device_code: refresh_token })).toBe("expired_token");
    expect(await authorizationsOf(host)).toBe(1);
  });
});

describe("floods and collisions of codes (RFC 8628 §5.1)", () => {
  it("are stopped per client, and end no request of others", async () => {
    const storage = newStorage();
    const { parkedRequests } = storage;
    const host = deviceHost({ storage });
    const honest = await deviceCodes(host, { client: "web" });
    const own = await deviceCodes(host);
    const expiresAt = clock.now() + 900;
    for (let index = 1; index < 10_000; index += 1)
      await parkedRequests?.create(
        { key: String(index), owner: "native", state: "open", expiresAt },
        { now: clock.now() },
      );
    const full = await askForDevice(host);
    expect([full.status, full.headers["retry-after"]]).toEqual([503, "1"]);
    expect(full.body).toMatchObject({ error: "temporarily_unavailable" });
    expect(host.events.at(-1)).toMatchObject({ kind: "device-refused", code: "device-requests-full" });
    expect((await askForDevice(host, { client: "web" })).status).toBe(200);
    for (const [codes, client] of [[honest, "web"] as const, [own, "native"] as const]) {
      expect(await answerDevice(host.browser(), codes)).toBe("allowed");
      expect(await polled(host, codes, { client })).toBe("tokens");
    }
  });

  it("makes another code where one is taken, and gives up where all seem to be", async () => {
    const storage = newStorage();
    const parkedRequests = storage.parkedRequests as NonNullable<Storage["parkedRequests"]>;
    const taken = { left: 2 };
    const crowded = {
      ...storage,
      parkedRequests: {
        ...parkedRequests,
        create: async (...asked: Parameters<typeof parkedRequests.create>) =>
          taken.left-- > 0 ? ("taken" as const) : parkedRequests.create(...asked),
      },
    };
    const host = deviceHost({ storage: crowded });
    const codes = await deviceCodes(host);
    expect(await answerDevice(host.browser(), codes)).toBe("allowed");
    taken.left = 3;
    expect((await askForDevice(host)).status).toBe(503);
  });

  it("never gives a device the answer to another one with the same user code", async () => {
    const storage = newStorage();
    const host = deviceHost({ storage });
    const codes = await deviceCodes(host);
    const parkedRequests = storage.parkedRequests as NonNullable<Storage["parkedRequests"]>;
    const find = parkedRequests.find.bind(parkedRequests);
    jest.spyOn(parkedRequests, "find").mockImplementation(async (key, now) => {
      const found = await find(key, now);
      const code = { authorizationId: "A".repeat(22), digest: "B".repeat(43) };
      return found?.device && { ...found, state: "denied", device: { ...found.device, code } };
    });
    expect(await polled(host, codes)).toBe("expired_token");
  });
});

describe("what ends while a device waits (RFC 7009 §2.1)", () => {
  const ends: readonly (readonly [string, (host: TestHost) => Promise<unknown>])[] = [
    ["the person", ({ auth }) => auth.subjects.revoke("alice")],
    ["the person for good", ({ auth }) => auth.subjects.erase("alice")],
    ["the client", ({ auth }) => auth.clients.revoke("native")],
    ["the API", ({ auth }) => auth.apis.revoke("orders")],
  ];

  it.each(ends)("takes a yes back that was given before: %s", async (_, end) => {
    const host = deviceHost({ revocationLagSeconds: 0 });
    const codes = await deviceCodes(host);
    await answerDevice(host.browser(), codes);
    await end(host);
    expect(await polled(host, codes)).toMatch(/^(invalid_grant|authorization_pending)$/);
    expect(await authorizationsOf(host)).toBe(0);
  });

  it.each(ends)("makes an open page worthless: %s", async (_, end) => {
    const host = deviceHost({ revocationLagSeconds: 0 });
    const codes = await deviceCodes(host);
    const browser = host.browser();
    const page = await typeCode(browser, codes);
    await end(host);
    expect(endOf(await browser.answer(page, "approve"))).toBe("denied");
    expect(await polled(host, codes)).toBe("access_denied");
  });

  it.each(ends)(
    "gives the device nothing while a yes is being stored, however often it asks: %s",
    async (_, end) => {
      const heard: string[] = [];
      const codes: { current?: DeviceCodes } = {};
      const { host, arm } = watched("authorizations.create", async (at) => {
        await end(at);
      });
      codes.current = await deviceCodes(host);
      const browser = host.browser();
      const page = await typeCode(browser, codes.current);
      arm();
      const answering = browser.answer(page, "approve");
      for (let round = 0; round < 10; round += 1) heard.push(await polled(host, codes.current));
      expect(endOf(await answering)).toBe("lost");
      heard.push(await polled(host, codes.current));
      expect(new Set(heard).has("tokens")).toBe(false);
      expect(await authorizationsOf(host)).toBe(0);
    },
  );

  it("gives the device nothing before the ends were looked at again", async () => {
    const [reached, goOn] = [newLatch(), newLatch()];
    const looks = { armed: false };
    const storage = intercept(newStorage(), async (name, call) => {
      // the second look of the approval: the authorization is there
      if (
        looks.armed &&
        name === "endMarks.find" &&
        (await storage.authorizations.list("alice", { limit: 1 }, clock.now())).length > 0
      ) {
        looks.armed = false;
        reached.open();
        await goOn.opened;
      }
      return call();
    });
    const host = deviceHost({ storage });
    const codes = await deviceCodes(host);
    const browser = host.browser();
    const page = await typeCode(browser, codes);
    looks.armed = true;
    const answering = browser.answer(page, "approve");
    await reached.opened;
    expect(await polled(host, codes)).toBe("authorization_pending");
    goOn.open();
    expect(endOf(await answering)).toBe("allowed");
    expect(await polled(host, codes)).toBe("tokens");
  });

  it("refuses a client that was deleted or has lost the grant, at each step", async () => {
    const records = new Map(
      Object.values(deviceClients).map((client) => [client.clientId as string, client as never]),
    );
    const storage = {
      ...newStorage(),
      clients: { find: async (id: string) => records.get(id), isBrowserOrigin: async () => false },
    };
    const host = deviceHost({ storage, revocationLagSeconds: 0 });
    const [first, second] = [await deviceCodes(host), await deviceCodes(host)];
    const browser = host.browser();
    const page = await typeCode(browser, first);
    records.set("native", { ...deviceClients.native, subscriptions: { orders: {} } } as never);
    expect(await polled(host, first)).toBe("unauthorized_client");
    const refused = await browser.answer(page, "approve");
    expect([refused.status, refused.headers["location"]]).toEqual([400, undefined]);
    expect((await typeCode(host.browser(), second)).text).toContain("This code isn’t valid");
    records.delete("native");
    expect((await typeCode(host.browser(), second)).text).toContain("This code isn’t valid");
    const unknown = { kind: "device-refused", error: "invalid_request", code: "no-such-client" };
    expect(host.events.at(-1)).toMatchObject(unknown);
    expect(await polled(host, first)).toBe("invalid_client");
    expect(await authorizationsOf(host)).toBe(0);
  });
});

describe("storage that fails at a step (RFC 6749 §4.1.2, 8628 §3.5)", () => {
  const steps = [
    "parkedRequests.find",
    "parkedRequests.close",
    "endMarks.find",
    "endMarks.save",
    "authorizations.create",
    "authorizationCodes.create",
  ];
  const rows = steps.flatMap((name) => (["before", "after"] as const).map((when) => [name, when] as const));

  it.each(rows)("never lets a device have more than one answer: %s fails %s its work", async (name, when) => {
    const failing: { name?: string; left: number } = { left: 0 };
    const storage = intercept(newStorage(), async (called, call): Promise<unknown> => {
      if (called !== failing.name || failing.left === 0) return call();
      failing.left -= 1;
      if (when === "after") await call();
      throw new Error("database: hunter2");
    });
    const host = deviceHost({ storage, revocationLagSeconds: 0 });
    const codes = await deviceCodes(host);
    const browser = host.browser();
    const page = await typeCode(browser, codes);
    Object.assign(failing, { name, left: 1 });
    const failed = await browser.answer(page, "approve");
    expect([failed.status, failed.headers["location"]]).toEqual([500, undefined]);
    expect(failed.text).not.toContain("hunter2");
    const before = await polled(host, codes);
    expect(before).toBe("authorization_pending");
    const end = endOf(await browser.answer(page, "approve"));
    const after = await polled(host, codes);
    // either the second click is the answer, or the request was used up, and the device hears of it when its time is over
    expect([
      ["allowed", "tokens"],
      ["lost", "slow_down"],
      ["lost", "authorization_pending"],
    ]).toContainEqual([end, after]);
    expect(await authorizationsOf(host)).toBe(end === "allowed" ? 1 : 0);
    clock.advance(900);
    expect(await polled(host, codes)).toBe(end === "allowed" ? "invalid_grant" : "expired_token");
  });

  it.each(["parkedRequests.create", "clients.find"])(
    "asks a device to try again when %s fails",
    async (name) => {
      const failing: { name?: string } = { name };
      const storage = intercept(newStorage(), async (called, call): Promise<unknown> => {
        if (called === failing.name) throw new Error("database: hunter2");
        return call();
      });
      const host = deviceHost({ storage });
      const answer = await askForDevice(host);
      expect([answer.status, answer.body]).toEqual([500, expect.objectContaining({ error: "server_error" })]);
      delete failing.name;
      expect(await answerDevice(host.browser(), await deviceCodes(host))).toBe("allowed");
    },
  );

  it("shows a person the failure, not a wrong code, when storage fails at the page", async () => {
    const storage = intercept(newStorage(), async (called, call): Promise<unknown> => {
      if (called === "parkedRequests.find") throw new Error("database: hunter2");
      return call();
    });
    const host = deviceHost({ storage });
    const codes = await deviceCodes(host);
    const page = await host.browser().post("/login/device", { user_code: codes.user_code });
    expect([page.status, endOf(page)]).toEqual([500, "Something went wrong"]);
    expect(host.events.at(-1)).toMatchObject({ kind: "server-error" });
  });
});

describe("clients that nobody registered (RFC 7591, 8628 §5.4)", () => {
  it("get no device codes, whatever they name in their metadata", async () => {
    const clientRegistration = { approve: () => ({ kind: "approved" }) as const };
    const orders = { ...deviceApis["orders"], clientRegistration };
    const host = deviceHost({ apis: { ...deviceApis, orders } as typeof deviceApis });
    const grant_types = ["authorization_code", "refresh_token", deviceGrant];
    const { status, body } = await request(host.app)
      .post("/login/auth/password/api/orders/register")
      .send({ ...nativeMetadata, grant_types });
    expect(status).toBe(201);
    const { client_id } = body as { client_id: string };
    const answer = await askForDevice(host, { fields: { client_id } });
    expect(answer.body).toMatchObject({ error: "unauthorized_client" });
    expect(await polled(host, { device_code: "x" }, { fields: { client_id } })).toBe("unauthorized_client");
  });
});
