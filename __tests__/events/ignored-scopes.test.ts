// The event of scopes that a client may not have, by the function alone.
import { reportIgnoredScopes } from "../../lib/events/ignored-scopes";
import type { EventSubject, NewEvent } from "../../lib/events/port";
import { confidentialRecord, issuerRecord } from "../records/records";

const request = { issuer: issuerRecord(), client: confidentialRecord() };
const issuer = request.issuer.identifier;

function told(ignoredScopes: readonly string[], about?: EventSubject): readonly NewEvent[] {
  const events: NewEvent[] = [];
  reportIgnoredScopes((event) => void events.push(event), {
    request,
    ignoredScopes,
    ...(about && { about }),
  });
  return events;
}

describe("scopes that were left out of a request (RFC 6749 §3.3)", () => {
  it("are told with the issuer and the client", () => {
    expect(told(["openid"])).toEqual([
      { kind: "scopes-ignored", issuer, clientId: "web", scopes: ["openid"], count: 1 },
    ]);
  });

  it("are told with what else is known", () => {
    expect(told(["openid"], { subject: "alice" })).toMatchObject([{ issuer, subject: "alice" }]);
  });

  it("are no event when there are none", () => {
    expect(told([])).toEqual([]);
  });

  it("are told in part: the first twenty, sixty-four characters of each, and how many there are", () => {
    const many = Array.from({ length: 21 }, (_, index) => `${index}`.padEnd(65, "x"));
    const scopes = many.slice(0, 20).map((scope) => scope.slice(0, 64));
    expect(told(many)).toMatchObject([{ scopes, count: 21 }]);
  });
});
