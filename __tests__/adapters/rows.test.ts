import { readAuthorization, readClient, readConsent, readListed, readToken } from "../../lib/adapters/rows";
import {
  accessTokenRecord,
  authorizationRecord,
  confidentialRecord,
  consentRecord,
} from "../records/records";

/** The row of a consent: the columns that queries need, and everything else as text. */
function consentRow(changes: object = {}): Readonly<Record<string, unknown>> {
  const { subject, clientId: client_id, apiId: api_id, expiresAt: expires_at, ...others } = consentRecord();
  return { subject, client_id, api_id, expires_at, record: JSON.stringify(others), ...changes };
}

function authorizationRow(changes: object = {}): Readonly<Record<string, unknown>> {
  const { authorizationId: authorization_id, revoked, ...record } = authorizationRecord();
  const { subject, clientId: client_id, apiId: api_id, expiresAt: expires_at, ...others } = record;
  const columns = { authorization_id, subject, client_id, api_id, expires_at, revoked };
  return { ...columns, record: JSON.stringify(others), ...changes };
}

describe("rows of SQL databases (RFC 6749 §1.3)", () => {
  it("hold a client as text", () => {
    expect(readClient({ record: JSON.stringify(confidentialRecord()) })).toEqual(confidentialRecord());
  });

  it.each([
    ["a number", 9_000],
    ["text, as some drivers give a bigint", "9000"],
    ["a bigint", 9_000n],
  ])("hold the end of a record as %s", (_, expires_at) => {
    expect(readConsent(consentRow({ expires_at }))).toEqual(consentRecord());
  });

  it.each([
    ["left out", {}],
    ["empty", { context_key: "" }],
    ["null", { context_key: null }],
  ])("hold a consent without a context, where the column is %s", (_, column) => {
    expect(readConsent(consentRow(column))).toStrictEqual(consentRecord());
  });

  it("hold a consent in a context", () => {
    expect(readConsent(consentRow({ context_key: "family" }))).toStrictEqual(
      consentRecord({ contextKey: "family" }),
    );
  });

  it.each([
    [false, false],
    [true, true],
    [0, false],
    [1, true],
  ])("hold an authorization that was revoked or not: %s", (revoked, expected) => {
    expect(readAuthorization(authorizationRow({ revoked }))).toStrictEqual(
      authorizationRecord({ revoked: expected }),
    );
  });

  it.each([
    ["a number", 1_200],
    ["text, as some drivers give a bigint", "1200"],
    ["the first second that there is", 1],
  ])("hold when an authorization was last used as %s", (_, last_used_at) => {
    expect(readListed(authorizationRow({ last_used_at }))).toStrictEqual({
      ...authorizationRecord(),
      lastUsedAt: Number(last_used_at),
    });
  });

  it.each([0, "0"])("have %j for one that was never used", (last_used_at) => {
    expect(readListed(authorizationRow({ last_used_at }))).toStrictEqual(authorizationRecord());
  });

  it("hold a token, found by its digest", () => {
    const { expiresAt: expires_at, ...others } = accessTokenRecord();
    const row = { digest: "D".repeat(43), expires_at, record: JSON.stringify(others) };
    expect(readToken(row)).toStrictEqual({ ...accessTokenRecord(), digest: "D".repeat(43) });
  });
});
