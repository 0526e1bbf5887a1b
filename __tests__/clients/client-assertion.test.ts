import { generateKeyPairSync } from "node:crypto";
import type { KeyClient } from "../../lib";
import type { KeyQuestion } from "../../lib/clients/assertion-keys";
import { type AssertionPorts, assertionProblem } from "../../lib/clients/client-assertion";
import { assertionAlgorithms, parseClientAssertion } from "../../lib/protocol/client-assertion";
import { toOAuthError } from "../../lib/protocol/oauth-error";
import { refusalOf } from "../host/asked";
import { loggedStorage } from "../host/call-log";
import {
  type AssertionChanges,
  assertionOf,
  keyed,
  keyedByUri,
  publicKeys,
} from "../requests/client-assertions";
import { stopClockForEachTest } from "../hosts/clock";
import { foundKeys } from "../records/found-documents";
import { issuerRecord } from "../records/records";

const clock = stopClockForEachTest();
const issuer = issuerRecord();
const { jwksUri } = keyedByUri;
const stranger: KeyClient = { ...keyedByUri, selfDescription: { by: "document", digest: "d" } };

interface Given {
  readonly client?: KeyClient;
  readonly changes?: AssertionChanges;
  readonly storage?: AssertionPorts["storage"];
  readonly fetchKeys?: AssertionPorts["fetchKeys"];
}

function problem({ client = keyed, changes, storage, fetchKeys }: Given): Promise<string | undefined> {
  const assertion = parseClientAssertion(assertionOf(changes));
  if (assertion.kind === "unreadable") throw new Error(assertion.problem);
  return assertionProblem(
    {
      storage: storage ?? loggedStorage().storage,
      fetchKeys: fetchKeys ?? (() => Promise.reject(new Error("keys were fetched"))),
      clock: () => clock.now(),
    },
    { client, assertion, issuer, mayFetch: () => true },
  );
}

describe("the signature of an assertion (RFC 7515 §5.2, 7518 §3.3 to §3.5, 8037 §3.1)", () => {
  it.each(assertionAlgorithms)("is taken: %s", async (alg) => {
    expect(await problem({ changes: { alg } })).toBeUndefined();
  });

  const strangers = {
    ES256: generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey,
    EdDSA: generateKeyPairSync("ed25519").privateKey,
  };
  it.each(Object.entries(strangers))("is refused when another key has signed: %s", async (alg, key) => {
    expect(await problem({ changes: { alg, key } })).toBe("assertion-signature-wrong");
  });

  it("is not looked for under another kid", async () => {
    expect(await problem({ changes: { header: { kid: "rsa2" } } })).toBe("assertion-kid-unknown");
  });

  it("needs a key for its algorithm", async () => {
    expect(await problem({ changes: { header: { kid: "rsa" } } })).toBe("assertion-fits-no-key");
  });
});

/** What is asked when each question is answered with the next of these documents. What is asked for again is new, unless said otherwise. */
async function asking(
  client: KeyClient,
  documents: readonly unknown[],
  { isFinal, ...changes }: AssertionChanges & { readonly isFinal?: boolean } = {},
) {
  const questions: [string | undefined, Omit<KeyQuestion, "mayFetch">][] = [];
  const fetchKeys: AssertionPorts["fetchKeys"] = async (uri, { mayFetch, ...question }) => {
    expect(await mayFetch()).toBe(true);
    return foundKeys(documents[questions.push([uri, question]) - 1], isFinal ?? question.refresh);
  };
  const work = problem({ client, changes, fetchKeys });
  return { outcome: await work.catch(() => refusalOf(work)), questions };
}

describe("the keys at a client's jwksUri (RFC 7517 §5)", () => {
  const old = { keys: publicKeys.slice(1) };
  const all = { keys: publicKeys };

  it.each<[string, KeyClient, boolean]>([
    ["the host has registered", keyedByUri, false],
    ["nobody has registered", stranger, true],
  ])("are asked for once when they fit, of a client that %s", async (_, client, isStranger) => {
    const { outcome, questions } = await asking(client, [all]);
    expect(outcome).toBeUndefined();
    expect(questions).toEqual([[jwksUri, { isStranger, refresh: false }]]);
  });

  it.each<[string, readonly unknown[]]>([
    ["the key is new", [old, all]],
    ["there was no key set", ["nonsense", all]],
  ])("are asked for again when %s", async (_, documents) => {
    const { outcome, questions } = await asking(stranger, documents, { header: { kid: "ec" } });
    expect(outcome).toBeUndefined();
    expect(questions).toEqual([
      [jwksUri, { isStranger: true, refresh: false }],
      [jwksUri, { isStranger: true, refresh: true }],
    ]);
  });

  it("are waited for when they cannot be fetched again", async () => {
    const { outcome, questions } = await asking(keyedByUri, [old], { header: { kid: "ec" } });
    expect(outcome).toMatchObject({ error: "temporarily_unavailable" });
    expect(questions).toHaveLength(2);
  });

  it.each<[string, unknown]>([
    ["still the same", old],
    ["no key set any more", "nonsense"],
  ])("are those that were known when they are %s", async (_, document) => {
    const { outcome } = await asking(keyedByUri, [old, document], { header: { kid: "ec" } });
    expect(outcome).toBe("assertion-kid-unknown");
  });

  describe("are remembered, and nobody knows whether there are newer ones", () => {
    const isFinal = false;
    const { privateKey: key } = generateKeyPairSync("ec", { namedCurve: "P-256" });

    it.each<[string, readonly unknown[], AssertionChanges]>([
      ["for a kid that is not among them", [old, old], { header: { kid: "ec" } }],
      ["for a kid that is not among others either", [old, { keys: [] }], { header: { kid: "ec" } }],
      ["for an assertion that names no key", [all, all], { key }],
    ])("%s: the client is told to wait", async (_, documents, changes) => {
      const { outcome } = await asking(keyedByUri, documents, { isFinal, ...changes });
      expect(outcome).toMatchObject({
        error: "temporarily_unavailable",
        code: "client-keys-not-asked-again",
      });
    });

    it("but one that was fetched meanwhile is used", async () => {
      const { outcome } = await asking(keyedByUri, [old, all], { isFinal, header: { kid: "ec" } });
      expect(outcome).toBeUndefined();
    });

    it.each<[string, readonly unknown[]]>([
      ["that is known", [all]],
      ["that was fetched meanwhile", [old, all]],
    ])("but one that is named and has not signed makes invalid_client: %s", async (_, documents) => {
      const { outcome } = await asking(keyedByUri, documents, { isFinal, header: { kid: "ec" }, key });
      expect(outcome).toBe("assertion-signature-wrong");
    });
  });

  it("are not asked for again when they have just been fetched, or when nothing may be fetched", async () => {
    const { outcome, questions } = await asking(keyedByUri, [old], { isFinal: true, header: { kid: "ec" } });
    expect(outcome).toBe("assertion-kid-unknown");
    expect(questions).toHaveLength(1);
  });

  it("are waited for when they cannot be had", async () => {
    const { outcome } = await asking(keyedByUri, []);
    expect(outcome).toEqual({
      error: "temporarily_unavailable",
      description: "Try again later.",
      code: "client-keys-unreachable",
    });
  });

  it.each([
    ["for as long as lies between two attempts", "failed", 30],
    ["for a moment where others are being fetched", "too-many", 1],
  ] as const)("are waited for %s", async (_, kind, retryAfterSeconds) => {
    const fetchKeys: AssertionPorts["fetchKeys"] = async () => ({ kind, reason: "no answer" });
    const work = problem({ client: keyedByUri, fetchKeys });
    await expect(work).rejects.toMatchObject({ error: "temporarily_unavailable", retryAfterSeconds });
  });

  it("are not fetched for claims that could not be good", async () => {
    const { outcome, questions } = await asking(keyedByUri, [all], {
      claims: { aud: "https://other.example" },
    });
    expect(outcome).toBe("assertion-aud-wrong");
    expect(questions).toEqual([]);
  });

  it("may arrive too late for the assertion", async () => {
    const { storage, calls } = loggedStorage();
    const given: Given = {
      client: keyedByUri,
      storage,
      async fetchKeys() {
        clock.advance(120);
        return foundKeys(all);
      },
    };
    expect(await problem(given)).toBe("assertion-expired");
    expect(calls).toEqual([]);
  });
});

describe("an assertion is used once (RFC 7523 §3)", () => {
  const claims = { jti: "j" };

  it("and refused afterwards", async () => {
    const { storage } = loggedStorage();
    expect(await problem({ changes: { claims }, storage })).toBeUndefined();
    expect(await problem({ changes: { claims }, storage })).toBe("assertion-used-before");
  });

  it("and may count as used when storage fails: the client can try again with another one", async () => {
    const cause = new Error("the table is away");
    const { storage } = loggedStorage({ "clientAssertions.use": () => Promise.reject(cause) });
    const failure: unknown = await problem({ storage }).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "assertion-use-failed", cause });
    expect(toOAuthError(failure).error).toBe("temporarily_unavailable");
  });
});
