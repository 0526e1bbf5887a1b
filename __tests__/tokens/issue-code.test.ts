import { type AuthorizationContext, defaultLifetimes, memoryStorage } from "../../lib";
import type { DeviceAnswering } from "../../lib/protocol/device";
import type { Issuer } from "../../lib/protocol/issuer";
import type { ProofKind } from "../../lib/protocol/authorization";
import type { SelfDescription } from "../../lib/protocol/client";
import {
  authorizationLifeSeconds,
  issueAuthorizationCode,
  longestLifeSeconds,
} from "../../lib/tokens/issue-code";
import { askedRequest, now } from "../host/asked";
import { issuerRecord, publicRecord } from "../records/records";

const id = "I".repeat(22);
const digest = "d".repeat(43);
const redirectUri = "https://public.example/callback";
const issuer = issuerRecord();

/** What differs from a request of a registered client for a code without a challenge. */
interface Given {
  readonly selfDescription?: SelfDescription;
  readonly codeChallenge?: string;
  readonly context?: AuthorizationContext;
  readonly device?: DeviceAnswering;
}

/** The records of Alice's approval as they are handed to storage. */
async function storedFor({
  selfDescription,
  codeChallenge,
  context,
  device,
}: Given): Promise<readonly unknown[]> {
  const storage = memoryStorage({ clients: [] });
  const authorizations = jest.spyOn(storage.authorizations, "create");
  const codes = jest.spyOn(storage.authorizationCodes, "create");
  const client = { ...publicRecord("browser"), ...(selfDescription && { selfDescription }) };
  await issueAuthorizationCode(
    { storage, randomToken: () => "R".repeat(43) },
    {
      authorizationId: id,
      request: askedRequest({ client, codeChallenge, ...(device && { target: { device, source: "" } }) }),
      subject: "alice",
      facts: {},
      grantedScopes: ["orders:read"],
      context,
      endMarks: [],
      now,
    },
  );
  return [...authorizations.mock.calls, ...codes.mock.calls].map(([record]) => record);
}

describe("the records of an authorization code (RFC 6749 §4.1.2)", () => {
  const authorization = {
    authorizationId: id,
    issuer: issuer.identifier,
    authMethodId: "password",
    apiId: "orders",
    clientId: "spa",
    subject: "alice",
    grantedScopes: ["orders:read"],
    createdAt: now,
    expiresAt: expect.any(Number),
    revoked: false,
    endMarks: [],
  };
  const code = {
    authorizationId: id,
    digest: expect.any(String),
    redirectUri,
    redeemBefore: now + issuer.api.lifetimes.authorizationCodeSeconds,
    expiresAt: expect.any(Number),
    consumed: false,
  };

  it("of a device are its authorization only: the device has its code already (RFC 8628 §3.5)", async () => {
    const device = { userCode: "BCDF-GHJK", code: { authorizationId: id, digest }, expiresAt: now + 600 };
    const expiresAt = now + 600 + issuer.api.accessTokenSeconds;
    const records = await storedFor({ device });
    expect(records).toEqual([expect.objectContaining({ authorizationId: id, subject: "alice" })]);
    expect((records[0] as { expiresAt: number }).expiresAt).toBeGreaterThanOrEqual(expiresAt);
  });

  const unregistered: { readonly clientAuthentication: ProofKind } = { clientAuthentication: "none" };

  it.each<[string, Given, ofAuthorization: object, ofCode: object]>([
    ["of a registered client", {}, {}, {}],
    ["with a context", { context: { key: "acme" } }, { context: { key: "acme" } }, {}],
    ["with a code challenge", { codeChallenge: digest }, {}, { codeChallenge: digest }],
    ["of a client with a document", { selfDescription: { by: "document", digest } }, unregistered, {}],
    ["of one that registered itself", { selfDescription: { by: "registration", digest } }, unregistered, {}],
  ])("have what there is, and no member without a value: %s", async (_, given, ofAuthorization, ofCode) => {
    // strict: a member that is undefined is there
    expect(await storedFor(given)).toStrictEqual([
      { ...authorization, ...ofAuthorization },
      { ...code, ...ofCode },
    ]);
  });
});

function issuerWith(changes: Partial<typeof defaultLifetimes>): Issuer {
  return issuerRecord({ accessTokenSeconds: 50, lifetimes: { ...defaultLifetimes, ...changes } });
}

describe("how long anything of an approval can live (RFC 7009 §2.1)", () => {
  it.each([
    ["the refresh token", { authorizationCodeSeconds: 10, refreshTokenSeconds: 100 }],
    ["the code", { authorizationCodeSeconds: 100, refreshTokenSeconds: 10 }],
  ])("is the life of %s and that of a last access token", (_, changes) => {
    expect(authorizationLifeSeconds(issuerWith(changes))).toBe(150);
  });

  it.each([
    ["an authorization", { refreshTokenSeconds: 1_000, consentSeconds: 10, interactionSeconds: 10 }, 1_350],
    ["a consent", { refreshTokenSeconds: 10, consentSeconds: 1_000, interactionSeconds: 10 }, 1_300],
    ["a pending request", { refreshTokenSeconds: 10, consentSeconds: 10, interactionSeconds: 1_000 }, 1_300],
  ])("over all issuers ends with %s, later by the drift of clocks", (_, changes, expected) => {
    const short = issuerWith({ refreshTokenSeconds: 10, consentSeconds: 10, interactionSeconds: 10 });
    expect(longestLifeSeconds([short, issuerWith(changes)])).toBe(expected);
  });
});
