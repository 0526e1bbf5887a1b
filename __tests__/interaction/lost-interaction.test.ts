// What a developer is told when a browser comes back without its pending request, and when that counts as gone.
import type { Request } from "express";
import { findPending } from "../../lib/interaction/find-pending";
import { interactionLost } from "../../lib/interaction/lost-interaction";
import type { LostInteraction, PageAnswer, PendingRequest } from "../../lib/interaction/pending-request";
import type { Issuer } from "../../lib/protocol/issuer";
import { issuerRecord, pendingRecord } from "../fixture/records";

const origin = "https://host.example";

function requestWith(headers: Request["headers"], socket: object = {}): Request {
  return { headers: { host: "host.example", ...headers }, socket } as Request;
}

function reasonOf(loss: LostInteraction, req = requestWith({})): string {
  return interactionLost(loss, { req, origin }).reason;
}

describe("the reason why a pending request is gone", () => {
  it.each<[LostInteraction, RegExp]>([
    ["no-id", /^the request has no interaction id\./],
    ["foreign-seal", /^the cookie of this interaction was sealed with other secrets/],
    ["over", /^no pending request has this interaction id: it has expired/],
    ["no-cookie", /^the browser sent no pending request: it was answered before, or /],
  ])("is told to the developer, and not to the client: %s", (loss, reason) => {
    expect(reasonOf(loss)).toMatch(reason);
    expect(interactionLost(loss, { req: requestWith({}), origin })).toMatchObject({
      code: "invalid_request",
      description: "This sign-in took too long, was already finished, or the browser does not keep cookies.",
      situation: "lost",
    });
  });

  const overHttp = /baseUrl is https, but this request came over http/;
  const otherHost = /the host of this request is not the host of baseUrl/;
  const unknown = /the browser sent no authmount cookie: it refuses cookies, or has deleted this one$/;
  const tls = { encrypted: true };

  it.each<[string, Request, RegExp]>([
    ["a frame", requestWith({ "sec-fetch-dest": "iframe" }), /the page is in a frame/],
    ["http in place of https", requestWith({}), overHttp],
    ["https", requestWith({}, tls), unknown],
    ["another host", requestWith({ host: "other.example" }, tls), otherHost],
    ["a proxy that tells the scheme", requestWith({ "x-forwarded-proto": "https" }), unknown],
    ["a proxy that tells the host", requestWith({ "x-forwarded-host": "host.example" }), unknown],
    ["a proxy that tells both (RFC 7239 §4)", requestWith({ forwarded: "proto=https" }), unknown],
    ["another host behind a proxy", requestWith({ forwarded: "for=a", host: "inner:3000" }), unknown],
  ])("names the likely cause for a missing cookie: %s", (_, req, reason) => {
    expect(reasonOf("no-cookie", req)).toMatch(reason);
  });
});

describe("finding a pending request", () => {
  const issuer = issuerRecord();
  const pending = pendingRecord();

  function findIssuer(authMethodId: string, apiId: string): Issuer | undefined {
    return authMethodId === "password" && apiId === "orders" ? issuer : undefined;
  }

  function find(opened: PendingRequest | LostInteraction, answer?: PageAnswer): unknown {
    const options = { pendingRequests: { open: () => opened }, findIssuer };
    return findPending(options, { req: requestWith({}), interactionId: pending.interactionId, answer });
  }

  it.each<LostInteraction>(["no-id", "no-cookie", "foreign-seal", "over"])(
    "says why there is none: %s",
    (loss) => {
      expect(find(loss)).toBe(loss);
    },
  );

  it("gives it with its issuer", () => {
    expect(find(pending)).toEqual({ pending, issuer });
  });

  it.each([
    [{ authMethodId: "passkey" }, "over"],
    [{ apiId: "stock" }, "over"],
  ])("gives none where the issuer was removed: %j", (changes, loss) => {
    expect(find({ ...pending, ...changes })).toBe(loss);
  });

  it.each<[PageAnswer, PageAnswer | undefined, boolean]>([
    ["approve", "approve", true],
    ["approve", "deny", false],
    ["deny", "approve", false],
    ["deny", undefined, false],
  ])("after the answer %s only the same answer finds it: %s", (answered, answer, isFound) => {
    const told = { ...pending, answered };
    expect(find(told, answer)).toEqual(isFound ? { pending: told, issuer } : "over");
  });
});
