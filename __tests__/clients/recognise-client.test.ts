import { recogniseClient } from "../../lib/clients/recognise-client";
import type { Client } from "../../lib/protocol/client";
import { parseParameters } from "../../lib/protocol/parameters";
import { refusalOf } from "../fixture/asked";
import { confidentialRecord, issuerRecord } from "../fixture/records";

const web = confidentialRecord();
const uri = "https://web.example/callback";

interface Given {
  readonly query: string;
  readonly client?: Client | undefined;
  /** The record as it is now. Left out: the same. */
  readonly newer?: Client;
  readonly redirectUri?: "required" | "optional";
}

/** Recognises the client of a request, and notes what was looked up. */
function recognise({ query, redirectUri = "required", ...given }: Given) {
  const client = "client" in given ? given.client : web;
  const asked: unknown[] = [];
  const work = recogniseClient(
    {
      clients: {
        async findRegistered(clientId, { issuer, mayFetch }) {
          asked.push([clientId, issuer.api.apiId, await mayFetch()]);
          return client && { client, endMark: "M", asOf: 1_000 };
        },
        async findNewer({ client: { clientId } }) {
          asked.push([clientId]);
          return given.newer && { client: given.newer, endMark: "N", asOf: 1_001 };
        },
      },
      redirectSchemes: [],
    },
    { issuer: issuerRecord({ redirectUri }), parameters: parseParameters(query) },
  );
  return { work, asked };
}

const encoded = encodeURIComponent(uri);

describe("the client of an authorization request (RFC 6749 §4.1.1, §3.1.2)", () => {
  it.each<[string, Given]>([
    ["with its redirect URI", { query: `client_id=web&redirect_uri=${encoded}` }],
    ["without, where it has one", { query: "client_id=web", redirectUri: "optional" }],
  ])("is recognised, and its document may be fetched: %s", async (_, given) => {
    const { work, asked } = recognise(given);
    const target = { uri, source: "https://web.example" };
    expect(await work).toEqual({ client: web, target, endMark: "M" });
    expect(asked).toEqual([["web", "orders", true]]);
  });

  it("is recognised by its record as it is now, with the end mark that belongs to it", async () => {
    const newer = confidentialRecord({ redirectUris: [`${uri}/new`] });
    const query = `client_id=web&redirect_uri=${encoded}%2Fnew`;
    const { work, asked } = recognise({ query, newer });
    const target = { uri: `${uri}/new`, source: "https://web.example" };
    expect(await work).toEqual({ client: newer, target, endMark: "N" });
    expect(asked).toEqual([["web", "orders", true], ["web"]]);
  });
});

describe("a request that nobody may be redirected for (RFC 6749 §4.1.2.1, 9700 §4.11)", () => {
  const noClientId = [
    "client_id is missing or repeated.",
    "every authorization request needs exactly one client_id (RFC 6749 §4.1.1): add it to the URL's query",
  ] as const;
  const omitted = [
    "redirect_uri is missing.",
    'redirect_uri may be left out only if the API has redirectUri: "optional" and the client has registered exactly one (RFC 6749 §3.1.2.3): send it',
  ] as const;
  const repeated = [
    "redirect_uri is repeated.",
    "no parameter may be repeated (RFC 6749 §3.1): send one redirect_uri",
  ] as const;
  const two = confidentialRecord({ redirectUris: [uri, "https://web.example/other"] });

  it.each<[string, Given, readonly [description: string, reason: string]]>([
    ["no client id", { query: `redirect_uri=${encoded}` }, noClientId],
    ["two client ids", { query: `client_id=web&client_id=web&redirect_uri=${encoded}` }, noClientId],
    [
      "an unknown client",
      { query: `client_id=web&redirect_uri=${encoded}`, client: undefined },
      [
        "The client is unknown.",
        "storage.clients has no client with this client_id (RFC 6749 §2.2): register it, or fix client_id. If it is the URL of a metadata document, the event client-document-refused says more",
      ],
    ],
    [
      "two redirect URIs",
      { query: `client_id=web&redirect_uri=${encoded}&redirect_uri=${encoded}` },
      repeated,
    ],
    [
      "two redirect URIs where none is needed",
      { query: `client_id=web&redirect_uri=${encoded}&redirect_uri=${encoded}`, redirectUri: "optional" },
      repeated,
    ],
    ["no redirect URI", { query: "client_id=web" }, omitted],
    ["no redirect URI of two", { query: "client_id=web", client: two, redirectUri: "optional" }, omitted],
    [
      "another redirect URI",
      { query: `client_id=web&redirect_uri=${encoded}/` },
      [
        "The redirect_uri is not registered for this client.",
        "redirect_uri does not equal one of the client's redirectUris, character for character (RFC 6749 §3.1.2.3, 9700 §2.1): register it exactly as it is sent. A native client, or a confidential one that uses PKCE, registers http://localhost/…, http://127.0.0.1/… or http://[::1]/… without a port, and may then use any port on that host",
      ],
    ],
  ])("is refused, and the developer is told why: %s", async (_, given, [description, reason]) => {
    const refusal = await refusalOf(recognise(given).work);
    expect(refusal).toEqual({ code: "invalid_request", description, reason });
  });

  it("is not looked up without a client id", async () => {
    const { work, asked } = recognise({ query: "" });
    await refusalOf(work);
    expect(asked).toEqual([]);
  });
});
