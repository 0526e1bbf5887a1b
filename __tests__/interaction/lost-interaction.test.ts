// What a developer is told when a browser comes back without its pending request, and when that counts as gone.
import type { Request } from "express";
import { interactionLost } from "../../lib/interaction/lost-interaction";
import {
  findPending,
  type LostInteraction,
  type PageAnswer,
  type PendingRequest,
} from "../../lib/interaction/pending-request";
import type { Issuer } from "../../lib/protocol/issuer";
import { issuerRecord, pendingRecord } from "../records/records";

const origin = "https://host.example";

function requestWith(headers: Request["headers"], socket: object = {}): Request {
  return { headers: { host: "host.example", ...headers }, socket } as Request;
}

function codeOf(loss: LostInteraction, req = requestWith({})): string {
  return interactionLost(loss, { req, origin }).code;
}

describe("the reason why a pending request is gone", () => {
  it.each<[LostInteraction, string]>([
    ["no-request", "interaction-id-missing"],
    ["no-id", "interaction-id-missing"],
    ["foreign-seal", "interaction-of-other-secrets"],
    ["over", "interaction-over"],
    ["no-cookie", "cookie-lost-over-http"],
  ])("is told to the developer, and not to the client: %s", (loss, code) => {
    expect(codeOf(loss)).toBe(code);
    expect(interactionLost(loss, { req: requestWith({}), origin })).toMatchObject({
      error: "invalid_request",
      description: "This sign-in took too long, was already finished, or the browser does not keep cookies.",
      situation: "lost",
    });
  });

  const overHttp = "cookie-lost-over-http";
  const otherHost = "cookie-lost-at-other-host";
  const unknown = "cookie-lost";
  const tls = { encrypted: true };

  it.each<[string, Request, string]>([
    ["a frame", requestWith({ "sec-fetch-dest": "iframe" }), "cookie-lost-in-frame"],
    ["http in place of https", requestWith({}), overHttp],
    ["https", requestWith({}, tls), unknown],
    ["another host", requestWith({ host: "other.example" }, tls), otherHost],
    ["a proxy that tells the scheme", requestWith({ "x-forwarded-proto": "https" }), unknown],
    ["a proxy that tells the host", requestWith({ "x-forwarded-host": "host.example" }), unknown],
    ["a proxy that tells both (RFC 7239 §4)", requestWith({ forwarded: "proto=https" }), unknown],
    ["another host behind a proxy", requestWith({ forwarded: "for=a", host: "inner:3000" }), unknown],
  ])("names the likely cause for a missing cookie: %s", (_, req, code) => {
    expect(codeOf("no-cookie", req)).toBe(code);
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

  it.each<LostInteraction>(["no-request", "no-id", "no-cookie", "foreign-seal", "over"])(
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
