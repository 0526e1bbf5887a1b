/** How the options and the storage of a host are found in what its module exports. */
import { optionsIn, storageIn } from "../../lib/cli/load-module";
import { messageOf } from "./world";

const file = '"a.js"';
const options = { baseUrl: "https://host.example", storage: {} };
const storage = { authorizationCodes: {}, migrate: () => undefined };
const fails = (): never => {
  throw new Error("made badly");
};

function looksForOptions(module: object, name?: string): Promise<object> {
  return optionsIn(module, { file, name });
}

function looksForStorage(module: object, name?: string): Promise<object> {
  return storageIn(module, { file, name });
}

describe("options are found", () => {
  it.each<[string, object, string?]>([
    ["by name", { options }],
    ["by name, before the default export", { options, default: { options: 5 } }],
    ["as a promise", { options: Promise.resolve(options) }],
    ["as a function", { options: () => options }],
    ["as a promise of a function", { options: Promise.resolve(() => options) }],
    ["as an async function", { options: () => Promise.resolve(options) }],
    ["by default", { default: options }],
    ["by default, as a promise", { default: Promise.resolve(options) }],
    ["by default, as a function", { default: () => options }],
    ["by default, in an object", { default: { options } }],
    [
      "by default, in an object, as a promise of a function",
      { default: { options: Promise.resolve(() => options) } },
    ],
    ["by default, as a function that gives an object with them", { default: () => ({ options }) }],
    ["by default, as one that gives them as a function", { default: () => ({ options: () => options }) }],
    ["where a compiler has put the default export", { default: { __esModule: true, default: options } }],
    ["where it has put a promise", { default: { __esModule: true, default: Promise.resolve(options) } }],
    ["where it has put a name", { default: { __esModule: true, options } }],
    ["in an object that only looks compiled", { default: { __esModule: "true", default: 5, options } }],
    ["under another name", { mine: options, options: 5 }, "mine"],
    ["under another name, by default", { default: { mine: options } }, "mine"],
    ["under another name, made by a function", { default: () => ({ mine: options }) }, "mine"],
  ])("%s", async (...[, module, name]) => {
    expect(await looksForOptions(module, name)).toBe(options);
  });

  it.each(["baseUrl", "storage", "authMethods", "apis"])("by default, if they have %s", async (member) => {
    const some = { [member]: 1 };
    expect(await looksForOptions({ default: some })).toBe(some);
  });

  it("by default, if they inherit what they have", async () => {
    const heir = Object.create(options) as object;
    expect(await looksForOptions({ default: heir })).toBe(heir);
  });
});

const noOptions = (exported: string, name = "options"): string =>
  `No options found. "a.js" ${exported} Export the object that you pass to createAuthServer as ${name}, or a function without parameters that returns it. The module must not call createAuthServer.`;
const app = Object.assign(() => options, { listen: fails });
const many = Object.fromEntries(Array.from({ length: 21 }, (_, at) => [`a${at}`, 1]));
const firstOfMany = Object.keys(many).slice(0, 20).join(", ");

describe("options are not found", () => {
  it.each<[string, object, string, string?]>([
    ["in nothing", {}, "exports nothing."],
    ["in other exports", { app: 1, server: 2 }, "exports: app, server."],
    ["in more than twenty of them", many, `exports: ${firstOfMany}.`],
    ["under a name with control characters", { "\u0007": 1 }, "exports: \\u0007."],
    ["in a number", { options: 42 }, "exports: options."],
    ["in a list", { options: [options] }, "exports: options."],
    ["in null", { options: null, default: options }, "exports: options, default."],
    ["in a default export that is null", { default: null }, "exports: default."],
    ["in one that is a text", { default: "text" }, "exports: default."],
    ["in one that is a list", { default: [options] }, "exports: default."],
    ["in one that has nothing of options", { default: { port: 1 } }, "exports: default."],
    ["in an Express app, which is a function too", { default: app }, "exports: default."],
    [
      "in a function that wants something",
      { default: (each: unknown) => each ?? options },
      "exports: default.",
    ],
    [
      "under another name than the written one",
      { options, default: options },
      "exports: options, default.",
      "mine",
    ],
    [
      "under a written name with control characters",
      { default: () => options },
      "exports: default.",
      "to\u0007",
    ],
  ])("%s", async (...[, module, exported, name]) => {
    const message = noOptions(exported, name?.replace("\u0007", "\\u0007"));
    expect(await messageOf(() => looksForOptions(module, name))).toBe(message);
  });

  it.each<[string, object, string]>([
    ["options", { options: fails }, "options was called without arguments and failed: made badly."],
    [
      "the default export",
      { default: fails },
      "the default export was called without arguments and failed: made badly.",
    ],
    [
      "a member of it",
      { default: { options: fails } },
      "options was called without arguments and failed: made badly.",
    ],
    [
      "a function that gives a promise",
      { options: () => Promise.reject(new TypeError("apis is missing.")) },
      "options was called without arguments and failed: TypeError: apis is missing.",
    ],
  ])("where one fails, it says why: %s", async (_, module, message) => {
    expect(await messageOf(() => looksForOptions(module))).toBe(message);
  });

  it("where a promise is rejected, its error is that of the module", async () => {
    const rejected = Promise.reject(new Error("made badly"));
    expect(await messageOf(() => looksForOptions({ options: rejected }))).toBe("made badly");
  });

  it("keeps the cause of a function that fails", async () => {
    const cause = new Error("made badly");
    await expect(looksForOptions({ options: () => Promise.reject(cause) })).rejects.toHaveProperty(
      "cause",
      cause,
    );
  });
});

describe("storage is found", () => {
  it.each<[string, object, string?]>([
    ["by name", { storage }],
    ["by name, before options", { options: { storage: {} }, storage }],
    ["in options", { options: { storage } }],
    ["in options that a function makes", { options: () => ({ storage }) }],
    ["by default", { default: storage }],
    ["by default, in options", { default: { storage } }],
    ["by default, in options by name", { default: { options: { storage } } }],
    ["under another name", { mine: storage, storage: {} }, "mine"],
    ["in options under another name", { mine: { storage } }, "mine"],
  ])("%s", async (...[, module, name]) => {
    expect(await looksForStorage(module, name)).toBe(storage);
  });

  it("by the first of its names, wherever that is", async () => {
    const module = { options: { storage: { other: true } }, default: { storage } };
    expect(await looksForStorage(module)).toBe(storage);
  });

  it("that may be no storage, if its name says that it is one", async () => {
    const odd = { storage: 5 };
    expect(await looksForStorage({ storage: odd })).toBe(odd);
  });
});

const noStorage = (exported: string, [name, other]: readonly string[] = ["storage", "options"]): string =>
  `No storage found. "a.js" ${exported} Export the storage as ${name}, or the options that contain it as ${other}, or a function without parameters that returns one of these.`;

describe("storage is not found", () => {
  it.each<[string, object, string]>([
    ["in nothing", {}, "exports nothing."],
    ["in a number", { storage: 5 }, "exports: storage."],
    ["in null", { storage: null }, "exports: storage."],
    ["in other exports", { app: {} }, "exports: app."],
    ["in a default export that has nothing of storage", { default: { port: 1 } }, "exports: default."],
  ])("%s", async (_, module, exported) => {
    expect(await messageOf(() => looksForStorage(module))).toBe(noStorage(exported));
  });

  it.each<[string, object, string]>([
    ["storage", { storage }, "exports: storage."],
    ["the default export", { default: storage }, "exports: default."],
    ["the storage in it", { default: { storage } }, "exports: default."],
  ])(
    "under another name than the written one, so no other database is migrated: %s",
    async (_, module, exported) => {
      const message = noStorage(exported, ["my\\u0007", "my\\u0007"]);
      expect(await messageOf(() => looksForStorage(module, "my\u0007"))).toBe(message);
    },
  );
});
