import { recogniseClient } from "../../lib/clients/recognise-client";
import type { Client } from "../../lib/protocol/client";
import { parseParameters } from "../../lib/protocol/parameters";
import { refusalOf } from "../host/asked";
import { confidentialRecord, issuerRecord } from "../records/records";

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
          return client && { client, endMark: "M", apiEnds: new Map(), asOf: 1_000 };
        },
        async findNewer({ client: { clientId } }) {
          asked.push([clientId]);
          return given.newer && { client: given.newer, endMark: "N", apiEnds: new Map(), asOf: 1_001 };
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
  const noClientId = ["client_id is missing or repeated.", "client-id-not-sent"] as const;
  const omitted = ["redirect_uri is missing.", "redirect-uri-left-out"] as const;
  const repeated = ["redirect_uri is repeated.", "redirect-uri-repeated"] as const;
  const two = confidentialRecord({ redirectUris: [uri, "https://web.example/other"] });

  it.each<[string, Given, readonly [description: string, code: string]]>([
    ["no client id", { query: `redirect_uri=${encoded}` }, noClientId],
    ["two client ids", { query: `client_id=web&client_id=web&redirect_uri=${encoded}` }, noClientId],
    [
      "an unknown client",
      { query: `client_id=web&redirect_uri=${encoded}`, client: undefined },
      ["The client is unknown.", "no-such-client"],
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
      ["The redirect_uri is not registered for this client.", "redirect-uri-not-registered"],
    ],
  ])("is refused, and the developer is told why: %s", async (_, given, [description, code]) => {
    const refusal = await refusalOf(recognise(given).work);
    expect(refusal).toEqual({ error: "invalid_request", description, code });
  });

  it("is not looked up without a client id", async () => {
    const { work, asked } = recognise({ query: "" });
    await refusalOf(work);
    expect(asked).toEqual([]);
  });
});
