import { addClient, changeClient, type Client, memoryStorage, rotateClientSecret } from "../../lib";
import { clientSecretVerifier } from "../../lib/clients/client-secret";
import { stopClockForEachTest } from "../hosts/clock";
import { confidentialRecord, publicRecord } from "../records/records";
import { keyed } from "../requests/client-assertions";

const clock = stopClockForEachTest();
const web = confidentialRecord();
const { clientId: _, ...nameless } = web;
const { secretDigests: _digests, ...withoutSecret } = nameless;

const tableOf = (...clients: readonly Client[]) => memoryStorage({ clients }).clients;

/** Whether this is a secret of the client. */
const isSecretOf = (client: Client | undefined, secret = ""): Promise<boolean> =>
  clientSecretVerifier()(client as typeof web, secret);

describe("a client that is added (RFC 6749 §2)", () => {
  it("gets an id and a secret, of which the table knows the digest only", async () => {
    const table = tableOf();
    const { client, secret } = await addClient(table, withoutSecret);
    expect(client.clientId).toMatch(/^[\da-f-]{36}$/);
    expect(await table.find(client.clientId)).toEqual(client);
    expect(await isSecretOf(client, secret)).toBe(true);
    expect(JSON.stringify(client)).not.toContain(secret);
  });

  it.each<[string, Client]>([
    ["digests", web],
    ["keys", keyed],
    ["the address of its keys", { ...withoutSecret, clientId: "web", jwksUri: "https://web.example/keys" }],
    ["no need to prove itself", publicRecord("native")],
  ])("gets no secret when it has %s", async (_name, client) => {
    expect(await addClient(tableOf(), client)).toEqual({ client });
  });

  it("never takes the place of another one", async () => {
    const table = tableOf(web);
    await expect(addClient(table, { ...withoutSecret, clientId: "web" })).rejects.toMatchObject({
      code: "client-id-taken",
    });
    expect(await table.find("web")).toEqual(web);
  });

  it("of two with one id, only one is added", async () => {
    const table = tableOf();
    const both = [1, 2].map((number) => addClient(table, { ...web, name: `Shop ${number}` }));
    const results = await Promise.allSettled(both);
    expect(results.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
  });

  it("is checked first", async () => {
    const table = tableOf();
    await expect(addClient(table, { ...web, name: "" })).rejects.toMatchObject({
      code: "wrong-client-record",
    });
    expect(await table.list({ limit: 1 })).toEqual([]);
  });
});

describe("a change of a client (RFC 6749 §2)", () => {
  it("is stored and answered", async () => {
    const table = tableOf(web);
    const changed = { ...web, disabled: true };
    expect(await changeClient(table, "web", (client) => ({ ...client, disabled: true }))).toEqual(changed);
    expect(await table.find("web")).toEqual(changed);
  });

  it("is not made where there is no such client", async () => {
    const change = jest.fn();
    expect(await changeClient(tableOf(), "web", change)).toBeUndefined();
    expect(change).not.toHaveBeenCalled();
  });

  it("loses no change that is made meanwhile", async () => {
    const table = tableOf(web);
    const names = ["a", "b", "c", "d", "e"];
    await Promise.all(
      names.map((name) =>
        changeClient(table, "web", (client) => ({ ...client, name: `${client.name} ${name}` })),
      ),
    );
    const { name = "" } = (await table.find("web")) ?? {};
    expect(name.split(" ").toSorted()).toEqual([...web.name.split(" "), ...names].toSorted());
  });

  it("is made once where the answer was lost and the table was asked again: a rotation keeps the old secret", async () => {
    const table = tableOf(web);
    const deaf = {
      find: (clientId: string) => table.find(clientId),
      async replace(step: Parameters<typeof table.replace>[0]) {
        await table.replace(step);
        return table.replace(step);
      },
    };
    const { secret } = await rotateClientSecret(deaf, "web");
    const client = (await table.find("web")) as typeof web;
    expect(client.secretDigests).toEqual([expect.any(String), web.secretDigests[0]]);
    expect(await isSecretOf({ ...client, secretDigests: client.secretDigests.slice(0, 1) }, secret)).toBe(
      true,
    );
  });

  it("is not made to a client whose id differs in case", async () => {
    const table = tableOf(web);
    const careless = { ...table, find: (clientId: string) => table.find(clientId.toLowerCase()) };
    const change = jest.fn();
    expect(await changeClient(careless, "WEB", change)).toBeUndefined();
    expect(change).not.toHaveBeenCalled();
  });

  it("is given up when others have changed the client five times", async () => {
    const table = { ...tableOf(web), replace: jest.fn(async () => "not-replaced" as const) };
    await expect(changeClient(table, "web", (client) => ({ ...client, name: "New" }))).rejects.toMatchObject({
      code: "client-changed-meanwhile",
      message: 'client "web" was changed by somebody else five times in a row. Try again.',
    });
    expect(table.replace).toHaveBeenCalledTimes(5);
  });

  it.each<[string, (client: Client) => Client, string, string]>([
    [
      "gives it another id",
      (client) => ({ ...client, clientId: "other" }),
      "client-id-changed",
      'changeClient: the clientId of "web" cannot change. Add a new client, and delete this one.',
    ],
    [
      "makes the record wrong",
      (client) => ({ ...client, name: "" }),
      "wrong-client-record",
      'client "web": name',
    ],
  ])("is refused when it %s", async (_name, change, code, message) => {
    const table = tableOf(web);
    const refusal = { code, message: expect.stringContaining(message) as string };
    await expect(changeClient(table, "web", change)).rejects.toMatchObject(refusal);
    expect(await table.find("web")).toEqual(web);
  });

  it("needs a table that can be written", async () => {
    const readOnly = { find: async () => web } as unknown as Parameters<typeof changeClient>[0];
    const calls = [
      addClient(readOnly, web),
      changeClient(readOnly, "web", (client) => client),
      rotateClientSecret(readOnly, "web"),
    ];
    for (const { reason } of (await Promise.allSettled(calls)) as { reason?: unknown }[])
      expect(reason).toMatchObject({ code: "client-table-read-only" });
  });
});

describe("a new secret (RFC 6749 §2.3.1)", () => {
  it("is the first, and the one before works for a week", async () => {
    const table = tableOf(web);
    const { secret } = await rotateClientSecret(table, "web");
    const client = (await table.find("web")) as typeof web;
    expect(client).toEqual({
      ...web,
      secretDigests: [expect.any(String), web.secretDigests[0]],
      oldSecretUntil: clock.now() + 604_800,
    });
    expect(await isSecretOf({ ...client, secretDigests: client.secretDigests.slice(0, 1) }, secret)).toBe(
      true,
    );
  });

  it("keeps only the newest of the old ones", async () => {
    const table = tableOf(web);
    await rotateClientSecret(table, "web");
    const [second] = ((await table.find("web")) as typeof web).secretDigests;
    await rotateClientSecret(table, "web", { overlapSeconds: 60 });
    expect(await table.find("web")).toMatchObject({
      secretDigests: [expect.any(String), second],
      oldSecretUntil: clock.now() + 60,
    });
  });

  it("is the only one without an overlap", async () => {
    const table = tableOf({
      ...web,
      secretDigests: [...web.secretDigests, ...web.secretDigests],
      oldSecretUntil: 5,
    });
    await rotateClientSecret(table, "web", { overlapSeconds: 0 });
    const client = (await table.find("web")) as typeof web;
    expect(client.secretDigests).toHaveLength(1);
    expect(client).not.toHaveProperty("oldSecretUntil");
  });

  const noClient = 'there is no client "web".';
  const noSecret = 'client "web" has no secret. One with jwks gets its new key from its own developers.';
  const noSeconds = "overlapSeconds must be a whole number, 0 or more.";
  it.each<[string, Client, object, string, string]>([
    ["is not there", confidentialRecord({ clientId: "other" }), {}, "client-not-found", noClient],
    ["has keys", { ...keyed, clientId: "web" }, {}, "client-without-secrets", noSecret],
    ["is public", publicRecord("native", { clientId: "web" }), {}, "client-without-secrets", noSecret],
    ["has half a second", web, { overlapSeconds: 0.5 }, "overlap-not-seconds", noSeconds],
    ["has less than no time", web, { overlapSeconds: -1 }, "overlap-not-seconds", noSeconds],
  ])("is not made for a client that %s", async (_name, client, options, code, message) => {
    const table = tableOf(client);
    const refusal = { code, message: `rotateClientSecret: ${message}` };
    await expect(rotateClientSecret(table, "web", options)).rejects.toMatchObject(refusal);
    expect(await table.list({ limit: 2 })).toEqual([client]);
  });
});
