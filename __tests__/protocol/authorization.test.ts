import type { Client, KeyClient } from "../../lib";
import { type ProofKind, proofKindOf, provesAsApproved } from "../../lib/protocol/authorization";
import { authorizationRecord, confidentialRecord, publicRecord } from "../records/records";

const { secretDigests: _secretDigests, ...withoutSecret } = confidentialRecord();
const keyRecord: KeyClient = { ...withoutSecret, jwks: { keys: [] } };

const kinds: readonly (readonly [ProofKind, Client])[] = [
  ["none", publicRecord("native")],
  ["none", publicRecord("browser")],
  ["secret", confidentialRecord()],
  ["key", keyRecord],
];

describe("what a client proves itself with (RFC 6749 §2.1, 7523 §2.2)", () => {
  it.each(kinds)("is %s, as it is stored with approvals: %#", (kind, client) => {
    expect(proofKindOf(client)).toBe(kind);
  });
});

describe("the proof of a client that nobody registered (RFC 6749 §10.2)", () => {
  const selfDescription = { by: "document", digest: "a digest" } as const;

  it.each(kinds)("must be the %s of the approval: %#", (kind, client) => {
    const proven = (["none", "secret", "key"] as const).filter((clientAuthentication) =>
      provesAsApproved(authorizationRecord({ clientAuthentication }), { ...client, selfDescription }),
    );
    expect(proven).toEqual([kind]);
  });

  it("is not asked of a client that was registered at the approval, and still is", () => {
    expect(provesAsApproved(authorizationRecord(), confidentialRecord())).toBe(true);
    expect(provesAsApproved(authorizationRecord(), { ...keyRecord, selfDescription })).toBe(false);
  });
});
