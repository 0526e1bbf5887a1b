// Which page a person is sent to, and what is kept of it.
import type { Request } from "express";
import type { AuthorizationOutcome } from "../../lib/endpoints/authorization";
import type { NewEvent } from "../../lib/events/port";
import type { PendingRequest } from "../../lib/interaction/pending-request";
import { showPage, withInteraction } from "../../lib/interaction/show-page";
import type { AuthorizationRequest } from "../../lib/protocol/authorization-request";
import { issuerRecord, pendingRecord, publicRecord } from "../records/records";

const req = { headers: {}, url: "/" } as Request;
const first = pendingRecord();
const newId = "N".repeat(22);

interface Shown {
  readonly kind?: "ask" | "interaction";
  readonly pending?: PendingRequest;
  /** The end mark of everything of Alice. */
  readonly mark?: string | undefined;
  readonly contextKey?: string;
  readonly destination?: string;
  readonly issuer?: string;
  readonly isTooLarge?: boolean;
}

function outcomeOf(given: Shown): Exclude<AuthorizationOutcome, { kind: "answered" }> {
  const { kind = "ask", mark, contextKey = "", destination = "https://public.example" } = given;
  const issuer = issuerRecord();
  const request = {
    issuer: { ...issuer, identifier: given.issuer ?? issuer.identifier },
    client: publicRecord("native"),
    responseMode: "query",
    target: { source: destination, uri: "https://public.example/callback" },
    requestedScopes: [],
    grantableScopes: [],
    prompt: [],
    acrValues: [],
    state: "xyz",
  } as unknown as AuthorizationRequest;
  const asked = {
    endUser: { subject: "alice", displayName: "Alice", facts: {}, context: undefined },
    basis: {
      key: { subject: "alice", clientId: "phone", apiId: "orders", contextKey },
      endMarks: mark === undefined ? [] : [mark],
      marks: { subject: mark },
    },
  } as unknown as Extract<AuthorizationOutcome, { kind: "ask" }>["asked"];
  return kind === "ask" ? { kind, request, asked } : { kind, url: "/page", request, asked };
}

/** The page, what was kept for it, and what was ended. */
function show(given: Shown = {}) {
  const kept: PendingRequest[] = [];
  const ended: unknown[] = [];
  const events: NewEvent[] = [];
  const page = showPage(
    {
      ports: { emit: (event) => void events.push(event), randomId: () => newId },
      pendingRequests: {
        seal(pending) {
          kept.push(pending);
          return given.isTooLarge === true ? undefined : ["kept=1"];
        },
        open: () => "over",
        end(...by) {
          ended.push(by);
          return ["ended=1"];
        },
      },
      secrets: ["secret"],
      pages: {
        consent: () => "<html>",
        error: () => "<html>",
        signedOut: () => "",
        device: () => "",
        deviceEnd: () => "",
        formPost: () => "<html>",
      },
    },
    { req, outcome: outcomeOf(given), pending: given.pending ?? first },
  );
  return { page, kept, ended, events };
}

describe("what is kept of a consent page", () => {
  it.each<[string, Shown, Partial<PendingRequest>]>([
    ["the person", {}, { contextKey: undefined, endMarks: undefined }],
    ["their context", { contextKey: "work" }, { contextKey: "work", endMarks: undefined }],
    ["the end marks", { mark: "m" }, { contextKey: undefined, endMarks: ["m"] }],
    [
      "nothing of an earlier page",
      { pending: { ...first, consentSubject: "bob", contextKey: "work", endMarks: ["m"] } },
      { contextKey: undefined, endMarks: undefined },
    ],
  ])("is who is asked, and under which end marks: %s", (_, given, kept) => {
    const shown = show(given).kept;
    expect(shown).toStrictEqual([{ ...first, consentSubject: "alice", ...kept }]);
  });

  const askedBefore = { ...first, consentSubject: "alice" };

  it.each<[string, Shown, boolean]>([
    ["after an end", { pending: askedBefore, mark: "m" }, true],
    ["after another end", { pending: { ...askedBefore, endMarks: ["l"] }, mark: "m" }, true],
    ["after no end", { pending: askedBefore }, false],
    ["after an end before the first page", { pending: first, mark: "m" }, false],
    ["after the end that it knows", { pending: { ...askedBefore, endMarks: ["m"] }, mark: "m" }, false],
  ])("gets a new id when the last page counts no longer: %s", (_, given, isOutdated) => {
    const { page, kept, ended } = show(given);
    expect(kept[0]?.interactionId).toBe(isOutdated ? newId : first.interactionId);
    expect(ended).toStrictEqual(isOutdated ? [[given.pending, { req, answer: undefined }]] : []);
    expect(page).toMatchObject({ cookies: isOutdated ? ["kept=1", "ended=1"] : ["kept=1"] });
  });

  it("must fit into a cookie", () => {
    const { page, events } = show({ isTooLarge: true });
    expect(page).toMatchObject({ kind: "redirect", error: "invalid_request" });
    expect(events).toMatchObject([
      {
        kind: "authorization-denied",
        code: "request-too-long",
        reason: expect.stringContaining("scope takes most of them") as string,
      },
    ]);
  });
});

describe("where the form of the consent page may lead (CSP form-action)", () => {
  it.each<[string, Shown, readonly string[]]>([
    ["a client with https", {}, ["https:"]],
    ["a client on this machine", { destination: "http://127.0.0.1" }, ["http:", "https:"]],
    ["a server on this machine", { issuer: "http://localhost/login" }, ["http:", "https:"]],
    ["an app with a scheme", { destination: "com.example.app:" }, ["com.example.app:", "https:"]],
    ["a scheme that ends like http", { destination: "com.example.http:" }, ["com.example.http:", "https:"]],
    [
      "a scheme that ends like https",
      { destination: "com.example.https:" },
      ["com.example.https:", "https:"],
    ],
  ])("is a scheme: %s", (_, given, formTargets) => {
    expect(show(given).page).toMatchObject({ kind: "page", html: "<html>", formTargets });
  });
});

describe("the way to the host's page", () => {
  it("names the interaction", () => {
    const { page } = show({ kind: "interaction" });
    const location = `/page?interaction=${first.interactionId}`;
    expect(page).toEqual({ kind: "redirect", location, cookies: ["kept=1"] });
  });

  it.each([
    ["/page", "/page?interaction=id"],
    ["/page?x=1", "/page?x=1&interaction=id"],
    ["/page#top", "/page?interaction=id#top"],
    ["/page?x=1#a#b", "/page?x=1&interaction=id#a#b"],
    ["", "?interaction=id"],
  ])("keeps query and fragment: %s", (url, location) => {
    expect(withInteraction(url, "id")).toBe(location);
  });
});
