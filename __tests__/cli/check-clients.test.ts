/** `authmount check --clients`: the records of a table, by the rules for those that are known from the start. RFC 6749 §2. */
import { type AuthServerOptions, memoryStorage } from "../../lib";
import { goodOptions } from "../records/options";
import { confidentialRecord, publicRecord, secretDigest } from "../records/records";
import { ranWith } from "./world";

/** Options whose table has these records, which need not be right. */
function withRecords(records: readonly object[]): AuthServerOptions {
  const { clients, ...storage } = memoryStorage({ clients: [] });
  const list = async ({ after, limit }: { after?: string; limit: number }): Promise<readonly object[]> => {
    const ids = records.map((record) => (record as { clientId?: string }).clientId);
    const start = after === undefined ? 0 : ids.indexOf(after) + 1;
    return records.slice(start, start + limit);
  };
  return { ...goodOptions, storage: { ...storage, clients: { ...clients, list } } as never };
}

interface Checked {
  readonly ok: boolean;
  readonly problems: readonly unknown[];
  readonly weaknesses: readonly { readonly code: string; readonly path: string }[];
  readonly assessment: { readonly items: readonly { readonly note: string }[] };
  readonly clients?: {
    readonly records: number;
    readonly wrong: readonly object[];
    readonly hasMore: boolean;
  };
}

async function checked(options: AuthServerOptions, ...args: readonly string[]) {
  const { exitCode, stdout } = await ranWith({ options }, ["check", "a.js", "--clients", "--json", ...args]);
  return { exitCode, ...(JSON.parse(stdout) as Checked) };
}

const spotsIn = ({ weaknesses }: Checked): readonly string[] =>
  weaknesses.flatMap(({ code, path }) => (path.startsWith("client ") ? [`${code} ${path}`] : []));

const many = (count: number): AuthServerOptions =>
  withRecords(Array.from({ length: count }, (_, index) => confidentialRecord({ clientId: `c${index}` })));

describe("authmount check --clients", () => {
  it("tells what the server refuses of a record, and exits with 1", async () => {
    const options = withRecords([
      confidentialRecord({ clientId: "fine" }),
      { ...confidentialRecord({ clientId: "odd" }), disabled: "no" },
      publicRecord("native", { redirectUris: ["odd:/callback"] }),
      { name: "nobody" },
    ]);
    const { exitCode, ok, problems, clients } = await checked(options);
    expect([exitCode, ok, problems]).toEqual([1, false, []]);
    expect(clients).toEqual({
      records: 1,
      wrong: [
        { code: "wrong-client-record", message: expect.stringContaining('client "odd": disabled') as string },
        {
          code: "unlisted-redirect-scheme",
          message: expect.stringContaining('client "phone": redirectUris.0') as string,
        },
        { code: "wrong-client-record", message: expect.stringContaining("client record: ") as string },
      ],
      hasMore: false,
    });
    const { exitCode: plain, stdout } = await ranWith({ options }, ["check", "a.js", "--clients"]);
    expect(plain).toBe(1);
    expect(stdout).toContain('Clients that the server refuses when it finds them:\n  - client "odd": ');
    expect(stdout).toContain(" [unlisted-redirect-scheme]\n");
    expect(stdout).toContain("\nClients: 4 read.\n");
  });

  it("tells what is weak or worth a note in each record", async () => {
    const found = await checked(
      withRecords([
        confidentialRecord({ subscriptions: { order: {}, orders: { scopes: ["reed"] } } }),
        confidentialRecord({ clientId: "two", trusted: true, secretDigests: [secretDigest, secretDigest] }),
      ]),
    );
    expect([found.exitCode, found.ok]).toEqual([0, true]);
    expect(spotsIn(found)).toEqual([
      'subscription-to-unknown-api client "web": subscriptions.order',
      'subscription-to-unknown-scope client "web": subscriptions.orders.scopes',
      'trusted-client client "two": trusted',
      'old-secret-without-end client "two": secretDigests',
    ]);
    expect(found.assessment.items.some(({ note }) => note.includes("not looked at"))).toBe(false);
  });

  it("tells of flags that an API has no option for, and takes an empty one as left out", async () => {
    const found = await checked(
      withRecords([
        confidentialRecord({ dpopBound: true }),
        { ...confidentialRecord({ clientId: "row" }), dpopBound: null },
      ]),
    );
    expect(found.clients).toMatchObject({ records: 2, wrong: [] });
    expect(spotsIn(found)).toEqual(['flag-without-option client "web": dpopBound']);
  });

  it("reads nothing without the option", async () => {
    const options = withRecords([confidentialRecord({ trusted: true })]);
    const { stdout } = await ranWith({ options }, ["check", "a.js", "--json"]);
    const found = JSON.parse(stdout) as Checked;
    expect([spotsIn(found), found.clients]).toEqual([[], undefined]);
    expect(found.assessment.items.some(({ note }) => note.includes("not looked at"))).toBe(true);
  });

  it("tells nothing twice of clients that are known from the start", async () => {
    const storage = memoryStorage({ clients: [confidentialRecord({ trusted: true })] });
    const options = { ...goodOptions, storage };
    const found = await checked(options);
    expect([spotsIn(found), found.clients]).toEqual([['trusted-client client "web": trusted'], undefined]);
  });

  it("reads page by page, ten thousand at most", async () => {
    expect((await checked(many(1_200))).clients).toEqual({ records: 1_200, wrong: [], hasMore: false });
    expect((await checked(many(10_050))).clients).toEqual({ records: 10_000, wrong: [], hasMore: true });
    const { stdout } = await ranWith({ options: many(10_050) }, ["check", "a.js", "--clients"]);
    expect(stdout).toContain("\nClients: 10000 read, not all that there are.\n");
    expect(stdout).toContain(", 9990 more\n");
  }, 60_000);

  it("goes on behind the last record of a page, and ends behind one without an id", async () => {
    const { clients, ...storage } = withRecords([]).storage;
    const asked: unknown[] = [];
    const list = async (page: { after?: string; limit: number }): Promise<readonly object[]> => {
      asked.push(page);
      const records = Array.from({ length: page.limit }, (_, index) =>
        confidentialRecord({ clientId: `c${index}` }),
      );
      return page.after === undefined ? records : [...records.slice(1), { name: "nobody" }];
    };
    const options = { ...goodOptions, storage: { ...storage, clients: { ...clients, list } } as never };
    const found = await checked(options);
    expect(asked).toStrictEqual([{ limit: 500 }, { limit: 500, after: "c499" }]);
    expect(found.clients).toMatchObject({ records: 999, wrong: { length: 1 }, hasMore: true });
  });

  it("says so when the table cannot be listed", async () => {
    const { clients, ...storage } = withRecords([]).storage;
    const options = { ...goodOptions, storage: { ...storage, clients: { ...clients, list: undefined } } };
    const { exitCode, stderr } = await ranWith({ options }, ["check", "a.js", "--clients"]);
    expect([exitCode, stderr.slice(0, 42)]).toEqual([1, "authmount: storage.clients has no list(), "]);
  });
});
