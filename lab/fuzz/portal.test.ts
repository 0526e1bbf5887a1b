// Bent forms and visits to the pages of `authmount/portal`. CONTRIBUTING.md says how to send more of them.
import { fuzzConnection } from "./fuzz-connection";
import { fuzz, hearTroubles, wish } from "./fuzz-run";
import { goodForms, parsers, portalHost, portalRequests } from "./fuzz-portal";
import { wireOf } from "./fuzz-requests";

hearTroubles();

const targets = Object.entries(portalRequests).flatMap(([page, requests]) =>
  Object.keys(parsers).map((way) => [`${page} ${way}`, requests, way] as const),
);

describe(`bent requests to pages of authmount/portal, seed ${wish.seed}`, () => {
  it.each(Object.keys(parsers))("good forms do what they say, %s", async (way) => {
    const fuzzed = await portalHost(way);
    const connection = fuzzConnection(fuzzed.server);
    for (const form of goodForms) {
      const bytes = wireOf(form, (text) => fuzzed.fill(text, 0));
      const answer = await connection.exchange(bytes);
      expect(answer && (await fuzzed.offenceOf?.(bytes, answer))).toBeUndefined();
    }
    connection.close();
    await fuzzed.close();
    expect(fuzzed.changes).toEqual([
      "access-narrowed",
      "access-removed",
      "app-removed",
      "sign-in-ended",
      "all-apps-removed",
      "client-disabled",
      "client-enabled",
      "secret-rotated",
      "secret-rotated",
      "client-ended",
      "client-deleted",
    ]);
  });

  it.each(targets)(
    "to %s break no rule, and change only what a form of the page may",
    async (name, requests, way) => {
      const { inputs } = await fuzz({ name, requests, open: async () => [await portalHost(way)] });
      expect(inputs).toBeGreaterThan(0);
    },
  );
});
