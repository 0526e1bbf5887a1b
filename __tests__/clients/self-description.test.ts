import { selfDescriptionOf } from "../../lib/clients/self-description";
import { keyed, keyedByUri } from "../requests/client-assertions";
import { confidentialRecord, publicRecord } from "../records/records";

const digestOf = (client: Parameters<typeof selfDescriptionOf>[0]): string =>
  selfDescriptionOf(client, "document").digest;

describe("what a remembered consent of a stranger is bound to (RFC 7591 §2)", () => {
  it("is a digest, and how the client came", () => {
    const digest = expect.stringMatching(/^[\w-]{43}$/) as unknown;
    expect(selfDescriptionOf(keyed, "document")).toEqual({ by: "document", digest });
    expect(selfDescriptionOf(keyed, "registration")).toEqual({ by: "registration", digest });
  });

  const native = publicRecord("native", { redirectUris: ["https://a.example/", "https://b.example/"] });

  it("stays the same when the name, the links or an order change", () => {
    const redirectUris = native.redirectUris.toReversed();
    expect(digestOf({ ...native, redirectUris, name: "New", tosUri: "https://a.example/" })).toBe(
      digestOf(native),
    );
  });

  it.each([
    ["its redirect URIs", native, { ...native, redirectUris: ["https://a.example/"] }],
    ["how it proves itself", native, confidentialRecord({ redirectUris: native.redirectUris })],
    ["its keys", keyed, { ...keyed, jwks: { keys: [] } }],
    ["where its keys are", keyedByUri, { ...keyedByUri, jwksUri: "https://other.example/jwks" }],
    ["that its keys are elsewhere", keyed, keyedByUri],
  ])("changes with %s", (_, before, after) => {
    expect(digestOf(after)).not.toBe(digestOf(before));
  });

  it("does not depend on keys where a URL says where they are", () => {
    expect(digestOf({ ...keyed, ...keyedByUri })).toBe(digestOf(keyedByUri));
  });
});
