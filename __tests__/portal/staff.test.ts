/** What staff do with clients by a page. RFC 6749 §2, §2.3.1. */
import { once } from "node:events";
import { createServer, type IncomingMessage, request } from "node:http";
import type { AddressInfo } from "node:net";
import express from "express";
import type { Response } from "supertest";
import { type ClientRegistry, memoryStorage, type Storage } from "../../lib";
import { staffPages, type StaffPagesOptions } from "../../lib/portal";
import { sqliteStorage } from "../../lib/sqlite";
import { encode, type Fields } from "../browser/browser";
import { clients, webSecret } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { bob, signedIn, testHost } from "../hosts/host";
import { ownToken, postToken } from "../requests/client-requests";
import { parsers } from "../requests/parsers";
import { everythingUnderWay, newLatch } from "../storage/latch";
import { drivers, newFile, type OpenedHandle } from "../servers/sqlite-files";
import { buttonsIn, noticesIn, pathOf, secretIn, seenIn, staffHost, type StaffHost } from "./staff-host";

const clock = stopClockForEachTest();
const handles: OpenedHandle[] = [];
afterEach(() => {
  for (const handle of handles.splice(0)) handle.close();
});

const toLog = (): { href: string; text: string }[] => [{ href: "/logs", text: "Its log" }];

const outdated =
  "Nothing was done: what you saw has changed, or what you typed is wrong. This is how it is now.";

/** How the token endpoint answers to the client `web` with this secret. */
async function statusWith(made: StaffHost, secret = ""): Promise<number> {
  const fields = { grant_type: "client_credentials", client_id: "web", client_secret: secret };
  return (await postToken(made.host, { fields })).status;
}

async function sqlite(): Promise<Storage> {
  const [driver] = drivers;
  const handle = (driver as (typeof drivers)[number]).open(newFile());
  handles.push(handle);
  const storage = sqliteStorage({ handle });
  await storage.migrate();
  for (const client of Object.values(clients)) await storage.clients.save(client);
  return storage;
}

const storages: readonly (readonly [string, () => Promise<Storage>])[] = [
  ["memory", async () => memoryStorage({ clients: Object.values(clients) })],
  ["SQLite", sqlite],
];

describe.each(storages)("the buttons for a client in %s (RFC 6749 §2)", (_, open) => {
  async function opened(options: Partial<StaffPagesOptions> = {}): Promise<StaffHost> {
    return staffHost(options, { host: testHost({ storage: await open() }) });
  }

  it("disable and enable it, and leave the rest of its record as it was", async () => {
    const made = await opened();
    const off = await made.press("disable", { clientId: "web" });
    expect([off.status, off.headers["location"]]).toEqual([303, "?client=web"]);
    expect(await made.table.find("web")).toEqual({ ...clients.web, disabled: true });
    expect(noticesIn(await made.page("web"))).toEqual([
      expect.stringMatching(
        /refused, within revocationLagSeconds \(5, .* JWTs .* valid until they expire\.$/,
      ),
    ]);
    await made.press("enable", { clientId: "web" });
    expect(await made.table.find("web")).toEqual(clients.web);
    expect(made.changes).toEqual([
      { kind: "client-disabled", by: "alice", clientId: "web" },
      { kind: "client-enabled", by: "alice", clientId: "web" },
    ]);
  });

  it("make a secret that works at once, and the old one for seven more days", async () => {
    const made = await opened();
    expect(await statusWith(made, webSecret.secret)).toBe(200);
    const answer = await made.press("newSecret", { clientId: "web", fields: { old: "works" } });
    const secret = secretIn(answer) ?? "";
    expect([answer.status, answer.headers["cache-control"]]).toEqual([200, "no-store"]);
    expect(answer.text).toContain(
      "The old secret works until <bdi>January 22, 2027 at 8:00:00 AM UTC</bdi>.",
    );
    expect([await statusWith(made, secret), await statusWith(made, webSecret.secret)]).toEqual([200, 200]);
    clock.advance(604_799);
    expect(await statusWith(made, webSecret.secret)).toBe(200);
    // what a process remembers is at most as old as the lag
    clock.advance(6);
    expect([await statusWith(made, secret), await statusWith(made, webSecret.secret)]).toEqual([200, 401]);
    expect(made.changes).toEqual([{ kind: "secret-rotated", by: "alice", clientId: "web" }]);
  });

  it("make a secret with which the old one ends within the lag, also while an older one works", async () => {
    const made = await opened();
    await made.press("newSecret", { clientId: "web" });
    const answer = await made.press("newSecret", { clientId: "web", fields: { old: "ends" } });
    clock.advance(5);
    expect([await statusWith(made, webSecret.secret), await statusWith(made, secretIn(answer))]).toEqual([
      401, 200,
    ]);
    expect(answer.text).not.toContain("old secret");
  });

  it("end everything of it, and keep the client", async () => {
    const made = await opened({ links: toLog });
    const token = (await ownToken(made.host, { client: "machine" })).body as { access_token: string };
    const call = (): Promise<{ status: number }> =>
      made.host.browser().get("/orders", {}, { Authorization: `Bearer ${token.access_token}` });
    expect((await call()).status).toBe(200);
    const answer = await made.press("end", { clientId: "machine" });
    expect([answer.status, noticesIn(answer)]).toEqual([200, ["Everything that this client had has ended."]]);
    expect(buttonsIn(answer)).toEqual(["disable", "newSecret", "end", "delete"]);
    expect(answer.text).toContain('<a href="/logs">Its log</a>');
    clock.advance(5);
    expect((await call()).status).toBe(401);
    expect(made.changes).toEqual([{ kind: "client-ended", by: "alice", clientId: "machine" }]);
  });

  it("delete it when its id is typed in, and end everything of it", async () => {
    const made = await opened();
    const wrong = await made.press("delete", { clientId: "web", fields: { id: "wbe" } });
    expect([wrong.status, noticesIn(wrong)]).toEqual([409, [outdated]]);
    expect(await made.table.find("web")).toEqual(clients.web);
    const answer = await made.press("delete", { clientId: "web", fields: { id: " web " } });
    expect([answer.status, answer.headers["location"]]).toEqual([303, "?"]);
    expect((await made.table.find("web")) ?? undefined).toBeUndefined();
    expect(made.host.events).toMatchObject([{ kind: "client-ended", clientId: "web" }]);
    expect(made.changes).toEqual([{ kind: "client-deleted", by: "alice", clientId: "web" }]);
  });

  it("do one thing when they are pressed eight times at once", async () => {
    const made = await opened();
    const eightTimes = async (button: string, fields = {}): Promise<readonly string[]> => {
      const page = await made.page("web");
      made.changes.length = 0;
      const gate = newLatch();
      let here = 0;
      made.person = async ({ change }) => {
        if (change && (here += 1) === 8) gate.open();
        if (change) await gate.opened;
        return signedIn;
      };
      const pressing = Array.from({ length: 8 }, () => made.press(button, { clientId: "web", page, fields }));
      const answers = await Promise.all(pressing);
      expect(made.changes).toHaveLength(1);
      return [...new Set(answers.map((answer) => `${answer.status} ${secretIn(answer) ?? ""}`))];
    };
    expect(await eightTimes("disable")).toEqual(["303 "]);
    expect(await eightTimes("enable")).toEqual(["303 "]);
    expect(await eightTimes("newSecret")).toEqual([expect.stringMatching(/^200 [\w-]{43}$/)]);
    expect(await made.table.find("web")).toHaveProperty("secretDigests.1", webSecret.digest);
    expect(await eightTimes("end")).toEqual(["200 "]);
    expect(await eightTimes("delete", { id: "web" })).toEqual(["303 "]);
    expect(made.host.events.filter(({ kind }) => kind === "client-ended")).toHaveLength(2);
  });

  it("take two forms at once that differ for two", async () => {
    const made = await opened();
    const page = await made.page("web");
    const gate = newLatch();
    let here = 0;
    made.person = async ({ change }) => {
      if (change && (here += 1) === 2) gate.open();
      if (change) await gate.opened;
      return signedIn;
    };
    const sent = ["wrong", "web"].map((id) =>
      made.press("delete", { clientId: "web", page, fields: { id } }),
    );
    expect((await Promise.all(sent)).map(({ status }) => status)).toEqual([409, 303]);
  });

  it("lose nothing when two members of the staff press different ones at once", async () => {
    const made = await opened();
    const page = await made.page("web");
    const answers = await Promise.all([
      made.press("disable", { clientId: "web", page }),
      made.press("newSecret", { clientId: "web", page }),
    ]);
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 409)).toHaveLength(1);
    const stored = (await made.table.find("web")) as object;
    const [isDisabled, isNew] = ["disabled" in stored, "oldSecretUntil" in stored];
    expect([isDisabled, isNew]).toEqual([statuses[0] === 303, statuses[1] === 200]);
    expect(made.changes).toHaveLength(1);
  });
});

describe("a form about a client (RFC 6749 §10.12)", () => {
  it.each(["disable", "newSecret", "end", "delete"])(
    "to %s is refused without Origin, with null, and from a sibling site",
    async (button) => {
      const made = staffHost();
      const page = await made.page("web");
      for (const Origin of [
        undefined,
        "null",
        "https://other.host.example",
        "https://host.example.evil.example",
      ]) {
        const about = { clientId: "web", page, fields: { id: "web" }, headers: { Origin } };
        expect((await made.press(button, about)).status).toBe(403);
      }
      expect(await made.table.find("web")).toEqual(clients.web);
      expect([made.changes, made.host.events]).toEqual([[], []]);
    },
  );

  it.each(["disable", "newSecret", "end", "delete"])(
    "to %s does nothing when somebody else of the staff sends it",
    async (button) => {
      const made = staffHost();
      const page = await made.page("web");
      made.person = () => bob;
      const answer = await made.press(button, { clientId: "web", page, fields: { id: "web" } });
      expect([answer.status, noticesIn(answer)]).toEqual([409, [outdated]]);
      expect(await made.table.find("web")).toEqual(clients.web);
      expect([made.changes, made.host.events]).toEqual([[], []]);
    },
  );

  it("of somebody else gets no secret, not even at the same time as its owner's", async () => {
    const made = staffHost();
    const page = await made.page("web");
    const gate = newLatch();
    const coming = [signedIn, bob];
    made.person = async ({ change }) => {
      if (!change) return bob;
      const person = coming.shift() ?? bob;
      if (person === bob) gate.open();
      await gate.opened;
      return person;
    };
    const sent = [1, 2].map(() => made.press("newSecret", { clientId: "web", page }));
    const answers = await Promise.all(sent);
    const [stolen] = answers.filter(({ status }) => status !== 200) as [Response];
    expect(made.changes).toMatchObject([{ by: "alice" }]);
    expect([stolen.status, secretIn(stolen)]).toEqual([409, undefined]);
  });

  it.each([
    ["changed", (table: ClientRegistry) => table.save({ ...clients.web, name: "New name" })],
    ["disabled", (table: ClientRegistry) => table.save({ ...clients.web, disabled: true })],
    ["deleted", (table: ClientRegistry) => table.delete("web")],
  ])("does nothing when the client was %s meanwhile, and the page comes again", async (_, meanwhile) => {
    for (const button of ["disable", "enable", "newSecret", "end", "delete"]) {
      const made = staffHost();
      const page = await made.page("web");
      await meanwhile(made.table);
      const before = await made.table.find("web");
      const answer = await made.press(button, { clientId: "web", page, fields: { id: "web" } });
      expect([answer.status, noticesIn(answer)[0]]).toEqual([409, outdated]);
      expect(secretIn(answer)).toBeUndefined();
      expect(await made.table.find("web")).toEqual(before);
      expect(made.changes).toEqual([]);
    }
  });

  it("does nothing when the client changes between the look and the change", async () => {
    const storage = memoryStorage({ clients: [clients.web] });
    const renamed = { ...clients.web, name: "New name" };
    let isLate = false;
    const find = async (clientId: string): ReturnType<typeof storage.clients.find> => {
      const found = await storage.clients.find(clientId);
      if (isLate) await storage.clients.save(renamed);
      return found;
    };
    const made = staffHost(
      {},
      { host: testHost({ storage: { ...storage, clients: { ...storage.clients, find } } }) },
    );
    for (const button of ["disable", "newSecret"]) {
      await storage.clients.save(clients.web);
      const page = await made.page("web");
      isLate = true;
      expect((await made.press(button, { clientId: "web", page })).status).toBe(409);
      isLate = false;
    }
    expect(await made.table.find("web")).toEqual(renamed);
  });

  it("makes no second secret by a reload of the page that shows one, or after Back", async () => {
    const made = staffHost();
    const page = await made.page("web");
    const [first, reloaded] = [
      await made.press("newSecret", { clientId: "web", page }),
      await made.press("newSecret", { clientId: "web", page }),
    ];
    expect([first.status, reloaded.status, secretIn(reloaded)]).toEqual([200, 409, undefined]);
    expect(made.changes).toHaveLength(1);
  });

  it.each(["", "rotate", "__proto__", "toString", "enable\0"])(
    "does nothing for the button %j",
    async (button) => {
      const made = staffHost();
      expect((await made.press(button, { clientId: "web" })).status).toBe(409);
      expect(await made.table.find("web")).toEqual(clients.web);
    },
  );

  it("makes no secret for a client without one", async () => {
    const made = staffHost();
    expect(buttonsIn(await made.page("native"))).toEqual(["disable", "end", "delete"]);
    expect((await made.press("newSecret", { clientId: "native" })).status).toBe(409);
  });

  it.each(Object.entries(parsers))("is read behind %s", async (_, handlers) => {
    const made = staffHost({}, { before: (app) => void (handlers.length > 0 && app.use(...handlers)) });
    expect((await made.press("disable", { clientId: "web" })).status).toBe(303);
  });
});

/** Sends a form about `web` whose head comes at once, and its body after `meanwhile`. */
async function pressSlowly(
  { app }: StaffHost,
  { fields, meanwhile }: { fields: Fields; meanwhile: () => Promise<void> },
): Promise<number | undefined> {
  const server = createServer(app).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const headers = {
    Origin: "https://host.example",
    "Content-Type": "application/x-www-form-urlencoded",
    Connection: "close",
  };
  const about = { host: "127.0.0.1", port, method: "POST", path: pathOf("web"), headers };
  const sending = request(about);
  const answered = once(sending, "response") as Promise<[IncomingMessage]>;
  sending.flushHeaders();
  await meanwhile();
  sending.end(encode(fields));
  const [answer] = await answered;
  answer.resume();
  server.close();
  return answer.statusCode;
}

describe("mayManage", () => {
  it("is asked with nothing but the subject: for a page, before a form is read, and after", async () => {
    const mayManage = jest.fn(() => Promise.resolve(true));
    const made = staffHost({ mayManage });
    const page = await made.page("web");
    expect(mayManage.mock.calls).toEqual([[{ subject: "alice" }]]);
    mayManage.mockClear();
    await made.press("disable", { clientId: "web", page });
    expect(mayManage.mock.calls).toEqual([[{ subject: "alice" }], [{ subject: "alice" }]]);
  });

  it.each<[string, unknown]>([
    ["false", false],
    ["undefined", undefined],
    ["1", 1],
    ["a text", "true"],
    ["an object", {}],
    ["a promise of no", Promise.resolve(false)],
    ["a promise of a text", Promise.resolve("yes")],
  ])("keeps people out with %s: the host's next handler answers, without a hint", async (_, answer) => {
    const made = staffHost({ mayManage: (() => answer) as unknown as () => boolean });
    made.app.use((_req, res) => void res.status(404).send("the host's 404"));
    for (const path of ["/apps", pathOf("web"), pathOf("nobody"), "/apps?q=web"])
      expect(await made.get({ path })).toMatchObject({ status: 404, text: "the host's 404" });
    for (const headers of [{}, { Origin: undefined }, { Origin: "https://evil.example" }]) {
      const sent = await made.press("disable", { clientId: "web", headers });
      expect([sent.status, sent.text]).toEqual([404, "the host's 404"]);
    }
    expect(await made.table.find("web")).toEqual(clients.web);
  });

  it("leaves the form to the host's next handler", async () => {
    const made = staffHost({ mayManage: () => false });
    made.app.use(express.urlencoded({ extended: false }), (req, res) => void res.json(req.body));
    for (const origin of ["https://host.example", "https://evil.example"]) {
      const asked = jest.fn(() => signedIn);
      made.person = asked;
      const sent = await made.send({ a: "1" }, { headers: { Origin: origin } });
      expect(sent.body).toEqual({ a: "1" });
      expect(asked.mock.calls).toEqual([
        [expect.objectContaining({ change: origin === "https://host.example" })],
      ]);
    }
  });

  it("stops somebody whose rights were taken between the page and the click", async () => {
    let may = true;
    const made = staffHost({ mayManage: () => may });
    made.app.use((_req, res) => void res.status(404).send("the host's 404"));
    const page = await made.page("web");
    may = false;
    for (const button of ["disable", "newSecret", "end", "delete"])
      expect((await made.press(button, { clientId: "web", page, fields: { id: "web" } })).status).toBe(404);
    expect(await made.table.find("web")).toEqual(clients.web);
    expect([made.changes, made.host.events]).toEqual([[], []]);
  });

  it.each(["disable", "newSecret", "end", "delete"])(
    "stops somebody whose rights are taken while the form to %s comes in",
    async (button) => {
      const asked = newLatch();
      let may = true;
      const mayManage = jest.fn(() => may);
      const made = staffHost({ mayManage });
      made.app.use((_req, res) => void res.status(404).send("the host's 404"));
      const page = await made.page("web");
      mayManage.mockImplementationOnce(() => {
        asked.open();
        return true;
      });
      const meanwhile = async (): Promise<void> => {
        await asked.opened;
        await everythingUnderWay();
        may = false;
      };
      const fields = { seen: seenIn(page), do: button, id: "web" };
      expect(await pressSlowly(made, { fields, meanwhile })).toBe(404);
      expect(await made.table.find("web")).toEqual(clients.web);
      expect([made.changes, made.host.events]).toEqual([[], []]);
      may = true;
      await made.press(button, { clientId: "web", page, fields });
      expect(made.changes).toHaveLength(1);
    },
  );

  it("shows nothing when it throws", async () => {
    const made = staffHost({ mayManage: () => Promise.reject(new Error("no directory")) });
    expect(await made.page("web")).toMatchObject({ status: 500, text: "the host's own error page" });
    expect(made.failures).toMatchObject([{ message: "no directory" }]);
  });
});

/** Options whose table lacks a method. */
function without(method: string): object {
  const { storage } = testHost();
  const table = Object.fromEntries(
    ["find", "isBrowserOrigin", "list", "replace", "delete"]
      .filter((name) => name !== method)
      .map((name) => [name, Reflect.get(storage.clients, name)]),
  );
  return {
    options: { baseUrl: "https://host.example/login", apis: {}, storage: { ...storage, clients: table } },
  };
}

describe("the options", () => {
  it.each<[string, object, string]>([
    ["no mayManage", { mayManage: undefined }, "undefined-key"],
    ["a misspelt mayManage", { maymanage: () => true }, "unknown-key"],
    ["a mayManage that is no function", { mayManage: true }, "portal-not-a-function"],
    ["links that are no function", { links: [] }, "portal-not-a-function"],
    ["no auth", { auth: {} }, "portal-without-server"],
    ["a table without list", without("list"), "staff-table-read-only"],
    ["a table without replace", without("replace"), "staff-table-read-only"],
    ["a table without delete", without("delete"), "staff-table-read-only"],
    ["an unknown text", { texts: { de: { titel: "a" } } }, "portal-texts-wrong"],
  ])("are refused with %s", (_, options, code) => {
    expect(() => staffHost(options)).toThrow(expect.objectContaining({ name: "TypeError", code }));
  });

  it.each(["find", "list", "replace", "delete"])(
    "are refused with the name of the method that the table lacks: %s",
    (method) => {
      const message = `staffPages: storage.clients has no ${method}(). Use the storage of authmount/postgres, /mysql, /redis or /sqlite, or give your table this method.`;
      expect(() => staffHost(without(method))).toThrow(expect.objectContaining({ message }));
    },
  );

  it("are refused with the names of the texts that there are", () => {
    const message = expect.stringMatching(
      /^staffPages: texts .* Known texts: clients, searchLabel, /,
    ) as string;
    const texts = { de: { titel: "a" } as object };
    expect(() => staffHost({ texts })).toThrow(expect.objectContaining({ message }));
  });

  it("are refused without mayManage", () => {
    const { auth, storage } = testHost();
    const given = {
      auth,
      options: { baseUrl: "https://host.example/login", apis: {}, storage },
      person: () => bob,
    } as unknown as StaffPagesOptions;
    expect(() => staffPages(given)).toThrow(expect.objectContaining({ code: "portal-not-a-function" }));
  });

  it("may have texts in another language", async () => {
    const made = staffHost({ texts: { de: { disable: "Sperren", kind: "Art" } } });
    const { text } = await made.get({ path: pathOf("web"), headers: { "Accept-Language": "de" } });
    expect(text).toContain('<html lang="de"');
    expect(text).toContain(">Sperren</button>");
    expect(text).toContain('<span lang="en" dir="ltr">Redirect URIs</span>');
  });

  it("may have a page of the host's, which gets the new secret", async () => {
    const made = staffHost({
      render: ({ title, main }) => (title.startsWith("New secret") ? `<body>${main}` : undefined),
    });
    const answer = await made.press("newSecret", { clientId: "web" });
    expect(answer.text).toMatch(/^<body><h1>/);
    expect(secretIn(answer)).toMatch(/^[\w-]{43}$/);
  });
});

describe("two processes", () => {
  it("make one secret when a form reaches both at once", async () => {
    const storage = await sqlite();
    const both = [
      staffHost({}, { host: testHost({ storage }) }),
      staffHost({}, { host: testHost({ storage }) }),
    ];
    const page = await (both[0] as StaffHost).page("web");
    const answers = await Promise.all(both.map((made) => made.press("newSecret", { clientId: "web", page })));
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409]);
    expect(both.flatMap(({ changes }) => changes)).toHaveLength(1);
  });
});
