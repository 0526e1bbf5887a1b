import { createHash } from "node:crypto";
import * as fc from "fast-check";
import { subjectEndKey } from "../../lib/protocol/end-mark";
import { redisStorage } from "../../lib/redis";
import {
  newAccessToken,
  newAssertion,
  newAuthorization,
  newCode,
  newConsent,
  newDeviceRequest,
  newEndMark,
  newRefreshToken,
  newRegistration,
} from "../../lib/testing/contract/records";
import { publicRecord } from "../records/records";
import { now } from "../servers/redis-storage";

const seed = Date.now() % 2 ** 31;

function isTaken(prefix: string): boolean {
  try {
    redisStorage({ client: { sendCommand: async () => undefined }, prefix });
    return true;
  } catch {
    return false;
  }
}

interface Names {
  /** Free text: a client id, a subject and an origin as somebody outside may write them. */
  readonly text: string;
  /** Our own ids and digests. */
  readonly digest: string;
}

/** Every key that storage with this prefix would use for these names. */
async function keysUsed(prefix: string, { text, digest }: Names): Promise<ReadonlySet<string>> {
  const keys = new Set<string>();
  const client = {
    async sendCommand([name, key = "", count, ...rest]: string[]) {
      // INFO is about the server, not about a key
      if (name === "INFO") return "";
      for (const used of name === "EVAL" ? rest.slice(0, Number(count)) : [key]) keys.add(used);
      if (name === "EVAL") return key.includes('"rotated"') ? "rotated" : 1;
      if (rest.includes("NX")) return "OK";
      return name === "HVALS" || name === "ZRANGE" ? [] : null;
    },
  };
  const storage = redisStorage({ client, prefix, allowEviction: true });
  const { clients, consents, authorizations, authorizationCodes, refreshTokens, accessTokens, endMarks } =
    storage;
  const authorizationId = digest.slice(0, 22);
  const [authorization, handle] = [
    newAuthorization(now, { authorizationId, subject: text }),
    { authorizationId, digest },
  ];
  await clients.save(publicRecord("browser"));
  await clients.find(text);
  await clients.isBrowserOrigin(text);
  await consents.save(newConsent(now, { subject: text }), now);
  await authorizations.create(authorization, now);
  await authorizationCodes.create(newCode(now, handle), now);
  await refreshTokens.rotate({ from: handle, to: newRefreshToken(now, handle) }, now);
  await accessTokens.create(newAccessToken(now, { digest }), now);
  await accessTokens.isRevoked(digest, now);
  await endMarks.save({ ...newEndMark(now), key: subjectEndKey(text) }, now);
  await storage.clientAssertions.use(newAssertion(now, { digest }), now);
  await storage.parkedRequests.create(newDeviceRequest(now, { key: digest, owner: text }), { limit: 9, now });
  const registration = newRegistration(now, { clientId: text });
  await storage.clientRegistrations.create(registration, { limit: 9, now });
  await storage.clientRegistrations.find(text, now);
  return keys;
}

const keyWords = [
  "client:",
  "consents:",
  "origin:",
  "authorizations:",
  "access:",
  "revoked:",
  "end:",
  "assertion:",
  "parked:",
  "open:",
  "clients",
  ":code:",
  ":refresh:",
];
const piece = fc.oneof(
  fc.constantFrom(...keyWords, "app", "back", ":", "_", "-"),
  fc.string({ maxLength: 3 }),
);
const text = fc.array(piece, { maxLength: 5 }).map((pieces) => pieces.join(""));
const name = fc.record({
  text,
  digest: fc.string().map((value) => createHash("sha256").update(value).digest("base64url")),
});

describe("redisStorage prefixes (RFC 6749 §10.5)", () => {
  it.each(["app:client:", "app:consents:", "app:origin:", "appclient:", "app:client:x:"])(
    "refuses %s, whose keys could be those of a shorter prefix, and says what to write",
    (prefix) => {
      const make = () => redisStorage({ client: { sendCommand: async () => undefined }, prefix });
      expect(make).toThrow(TypeError);
      expect(make).toThrow(/prefix must not contain "(?:client|consents|origin):".*"-"/);
    },
  );

  it.each([
    "authmount:",
    "app:",
    "backend:",
    "client:",
    "clients:",
    "tenant-1:",
    "app:access:",
    "a",
    "app_client",
    "münchen/",
  ])("takes %s", (prefix) => {
    expect(isTaken(prefix)).toBe(true);
  });

  it(`share no key, whatever clients, people and origins are called (seed ${seed})`, async () => {
    const prefixes = fc
      .tuple(text, fc.constantFrom("", ...keyWords), text)
      .map(([short, word, more]) => [short, `${short}${word}${more}`] as const)
      .filter(([short, long]) => short !== long && isTaken(short) && isTaken(long));
    await fc.assert(
      fc.asyncProperty(prefixes, name, name, async ([short, long], one, other) => {
        // the worst that somebody could be called: the rest of a key of the other storage
        const theirs = await keysUsed(long, other);
        const names = [
          one.text,
          ...[...theirs].flatMap((key) => keyWords.map((word) => key.slice(short.length + word.length))),
        ];
        for (const called of names) {
          const ours = await keysUsed(short, { ...one, text: called });
          expect([...theirs].filter((key) => ours.has(key))).toEqual([]);
        }
      }),
      { seed, numRuns: 100 },
    );
  });

  it("would share one if such a prefix were taken: the keys are made as the rule believes", async () => {
    const digest = "A".repeat(43);
    const ours = await keysUsed("app:", { text: "client:a", digest });
    expect(ours).toContain("app:client:client:a");
  });
});
