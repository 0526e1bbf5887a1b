import { registrationIdsOf } from "../../lib/clients/registered-clients";
import { selfDescribedClients } from "../../lib/strangers/document-clients";
import { now } from "../host/asked";
import { loggedStorage } from "../host/call-log";
import { foundDocument } from "../records/found-documents";
import { issuerRecord, publicRecord } from "../records/records";

const issuer = issuerRecord();
const documentId = "https://app.example/client.json";
const registrationId = `${registrationIdsOf(issuer)}1`;
const at = (apiId: string) => ({ issuer: issuerRecord({ apiId }), mayFetch: () => true });
const document = { client_id: documentId, redirect_uris: ["https://app.example/callback"] };

const accept = () => ({ kind: "accepted" }) as const;
const approve = () => ({ kind: "approved" }) as const;

/** Clients with documents are let in at "orders" and "reports", and those that register at "orders" and "files". */
function strangers() {
  const registered = publicRecord("native", { clientId: registrationId });
  const { storage, calls } = loggedStorage({
    "clientRegistrations.find": async (clientId) => (clientId === registrationId ? registered : undefined),
  });
  const found = foundDocument(document);
  const clients = selfDescribedClients({
    adapters: new Map([
      ["orders", { accept, browserOrigins: ["https://a.example", "https://b.example"] }],
      ["reports", { accept }],
    ]),
    registrars: new Map([
      ["orders", { approve }],
      ["files", { approve, browserOrigins: ["https://c.example"] }],
    ]),
    documents: { find: async () => found, fresh: () => found, peek: () => found },
    emit: () => undefined,
    redirectSchemes: [],
    insecureLoopback: false,
    storage,
    clock: () => now,
  });
  return { clients, calls };
}

describe("whether tokens of a client that nobody registered are still good (RFC 9068 §4)", () => {
  it.each<[string, string, string, boolean]>([
    ["a document, where the API takes them", documentId, "orders", true],
    ["a document, where it does not", documentId, "files", false],
    ["no document", "web", "orders", false],
    ["no document, where none are taken", "web", "files", false],
    ["a registration", registrationId, "orders", true],
    ["a registration at another API", registrationId, "files", false],
    ["a registration, where none are taken", registrationId, "reports", false],
    ["a registration that has ended", `${registrationId}2`, "orders", false],
  ])("depends on the policy of the API: %s", async (_, clientId, apiId, expected) => {
    expect(await strangers().clients.mayHoldTokens(clientId, apiId)).toBe(expected);
  });

  it("is answered without storage where nobody may register", async () => {
    const { clients, calls } = strangers();
    await clients.mayHoldTokens(registrationId, "reports");
    expect(calls).toEqual([]);
  });
});

describe("a client that nobody registered (RFC 7591; client id metadata documents)", () => {
  it("is found by its document or by its registration", async () => {
    const { clients } = strangers();
    expect(await clients.find(documentId, at("orders"))).toMatchObject({
      clientId: documentId,
      selfDescription: { by: "document" },
    });
    expect(await clients.find(registrationId, at("orders"))).toMatchObject({
      clientId: registrationId,
      selfDescription: { by: "registration" },
    });
  });

  it.each<[string, string, string]>([
    ["a document, where none are taken", documentId, "files"],
    ["a registration, where none are taken", registrationId, "reports"],
    ["a registration that names another API", registrationId, "files"],
  ])("is unknown elsewhere, and storage is not asked: %s", async (_, clientId, apiId) => {
    const { clients, calls } = strangers();
    expect(await clients.find(clientId, at(apiId))).toBeUndefined();
    expect(calls).toEqual([]);
  });
});

describe("origins of scripts that nobody registered (Fetch standard)", () => {
  it.each<[string, boolean]>([
    ["https://a.example", true],
    ["https://b.example", true],
    ["https://c.example", true],
    ["https://d.example", false],
    ["undefined", false],
  ])("are those that the host lists for any API: %s is %s", (origin, expected) => {
    expect(strangers().clients.isBrowserOrigin(origin)).toBe(expected);
  });
});
