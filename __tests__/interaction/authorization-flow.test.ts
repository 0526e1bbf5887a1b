// The way to the pages and back, from call to call.
import type { Authentication } from "../../lib";
import { directFlow, flowNow } from "./direct-flow";

const signIn: Authentication = { kind: "interaction", url: "/sign-in" };
const hostsPage = { kind: "interaction", url: "/consent" } as const;
const firstId = "1".padStart(22, "0");
const unknownId = "9".padStart(22, "0");
const alice: Authentication = { kind: "authenticated", subject: "alice" };
const bob: Authentication = { kind: "authenticated", subject: "bob" };
const withCode = { kind: "redirect", location: expect.stringContaining("code=") as string };
const withNo = { kind: "redirect", error: "access_denied" };

type Bed = ReturnType<typeof directFlow>;

/** The codes that the host was told. */
function codesOf({ events }: Bed): readonly unknown[] {
  return events.flatMap((event) => ("code" in event ? [event.code] : []));
}

describe("coming back from a page of the host", () => {
  it("goes on to the consent page once somebody is signed in, and is no repeated sign-in", async () => {
    const bed = directFlow({ authentication: signIn });
    expect(await bed.start()).toMatchObject({ location: `/sign-in?interaction=${firstId}` });
    bed.host.authentication = alice;
    expect(await bed.resume(firstId)).toMatchObject({ kind: "page" });
    expect(bed.events.map(({ kind }) => kind)).toEqual(["authorization-requested"]);
  });

  it("tells the host of a sign-in that is asked for again", async () => {
    const bed = directFlow({ authentication: signIn });
    await bed.start();
    await bed.resume(firstId);
    expect(bed.events.map(({ kind }) => kind)).toEqual(["authorization-requested", "sign-in-repeated"]);
  });

  it("takes the consent page of the host for no sign-in", async () => {
    const bed = directFlow({ authentication: signIn, consent: hostsPage });
    await bed.start();
    bed.host.authentication = alice;
    expect(await bed.resume(firstId)).toMatchObject({ location: `/consent?interaction=${firstId}` });
    expect(bed.events.map(({ kind }) => kind)).toEqual(["authorization-requested"]);
  });

  it("leads back to the issuer of the request", async () => {
    const bed = directFlow({ authentication: signIn });
    await bed.start();
    expect(bed.flow.leadBack(bed.req(), { interactionId: firstId, otherwise: undefined })).toMatchObject({
      kind: "redirect",
      location: `${bed.issuer.identifier}/authorize/resume?interaction=${firstId}`,
    });
  });
});

describe("a browser without the pending request (RFC 6749 §3.1)", () => {
  const noId = "interaction-id-missing";
  const over = "interaction-over";

  it.each<[string, (bed: Bed) => unknown, string, boolean]>([
    ["resume without an id", (bed) => bed.resume(undefined), noId, true],
    ["resume with an unknown id", (bed) => bed.resume(unknownId), over, true],
    ["resume at another issuer", (bed) => bed.resume(firstId, bed.otherIssuer), over, true],
    ["a form with an empty id", (bed) => bed.submit("approve", { interaction: "" }), noId, true],
    [
      "auth.resume",
      (bed) => bed.flow.leadBack(bed.req(), { interactionId: unknownId, otherwise: undefined }),
      over,
      false,
    ],
    ["auth.deny", (bed) => bed.flow.deny(bed.req(), undefined), noId, false],
    [
      "auth.approve",
      (bed) => bed.flow.approve(bed.req("POST"), { interactionId: unknownId, chosen: {} }),
      over,
      false,
    ],
  ])("gets a page, and the host gets the reason: %s", async (_, call, code, namesIssuer) => {
    const bed = directFlow();
    await bed.start();
    expect(await call(bed)).toMatchObject({ kind: "error-page", status: 400 });
    expect(codesOf(bed)).toEqual([code]);
    const { issuer } = bed.events.at(-1) as { issuer?: string };
    expect(issuer === undefined).toBe(!namesIssuer);
  });
});

describe("answers of the built-in consent page", () => {
  it.each([
    ["approve", withCode],
    ["deny", withNo],
  ])("can be repeated, and not changed: %s", async (decision, answer) => {
    const bed = directFlow();
    await bed.start();
    expect(await bed.submit(decision)).toMatchObject(answer);
    expect(await bed.submit(decision)).toMatchObject(answer);
    const other = decision === "deny" ? "approve" : "deny";
    expect(await bed.submit(other)).toMatchObject({ kind: "error-page" });
  });

  it("end the request without repetition where something failed", async () => {
    const bed = directFlow();
    await bed.start();
    bed.host.authentication = { kind: "nonsense" } as unknown as Authentication;
    expect(await bed.submit("approve")).toMatchObject({ error: "server_error" });
    expect(await bed.submit("approve")).toMatchObject({ kind: "error-page" });
  });

  it.each<[string, string, Authentication, object]>([
    ["a no counts whoever is signed in by now", "deny", bob, withNo],
    ["a no counts although nobody is signed in any more", "deny", signIn, withNo],
    ["a yes of somebody else shows the page again", "approve", bob, { kind: "page" }],
  ])("%s", async (_, decision, authentication, answer) => {
    const bed = directFlow();
    await bed.start();
    bed.host.authentication = authentication;
    expect(await bed.submit(decision)).toMatchObject(answer);
  });

  it.each<[string, Readonly<Record<string, string>>, boolean]>([
    ["of the page that was shown", {}, true],
    ["that was forged", { form_token: "forged" }, false],
  ])("lead to another account only by a form %s", async (_, fields, reauthenticate) => {
    const bed = directFlow();
    await bed.start();
    bed.host.authentication = signIn;
    await bed.submit("switch", fields);
    expect(bed.seen.at(-1)).toMatchObject({
      reauthenticate,
      prompt: reauthenticate ? ["select_account"] : [],
    });
    // the person has wished for it, or has answered a page: their session was not lost on the way
    expect(bed.events.map(({ kind }) => kind)).toEqual(["authorization-requested"]);
  });
});

/** The host's own consent page is open. */
async function askedByHost(): Promise<Bed> {
  const bed = directFlow({ consent: hostsPage });
  await bed.start();
  return bed;
}

describe("auth.approve", () => {
  it("approves by POST", async () => {
    const bed = await askedByHost();
    const by = { interactionId: firstId, chosen: {} };
    expect(await bed.kept(bed.flow.approve(bed.req("POST"), by))).toMatchObject(withCode);
    expect(await bed.kept(bed.flow.approve(bed.req("POST"), by))).toMatchObject(withCode);
  });

  it.each([
    [firstId, true],
    [unknownId, false],
  ])(
    "refuses a link, and names the issuer of the request if there is one: %s",
    async (interactionId, isKnown) => {
      const bed = await askedByHost();
      const page = await bed.flow.approve(bed.req("GET"), { interactionId, chosen: {} });
      expect(page).toMatchObject({ kind: "error-page", status: 500 });
      expect(bed.events.slice(1)).toEqual([
        {
          kind: "server-error",
          ...(isKnown && { issuer: bed.issuer.identifier }),
          cause: new TypeError("auth.approve accepts only POST: a link must not approve."),
        },
      ]);
    },
  );
});

describe("auth.interaction", () => {
  it("describes a request that waits", async () => {
    const bed = directFlow({ authentication: signIn });
    await bed.start();
    expect(await bed.flow.describe(bed.req(), firstId)).toMatchObject({
      interactionId: firstId,
      expiresAt: flowNow + bed.issuer.api.lifetimes.interactionSeconds,
      client: { clientId: "phone" },
    });
    expect(await bed.flow.describe(bed.req(), unknownId)).toBeUndefined();
  });

  it("gives nothing when the client was deleted meanwhile, and rejects when storage fails", async () => {
    const bed = directFlow({ authentication: signIn });
    await bed.start();
    bed.host.client = "gone";
    expect(await bed.flow.describe(bed.req(), firstId)).toBeUndefined();
    bed.host.client = new Error("the database is away");
    await expect(bed.flow.describe(bed.req(), firstId)).rejects.toBe(bed.host.client);
  });
});
