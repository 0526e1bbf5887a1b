import { optionSchema } from "../../lib/options/schema";
import type { OptionProblem, OptionProblemCode } from "../../lib/options/problem";
import { shapeProblems } from "../../lib/options/shape";
import type { NamedSchema } from "../../lib/schemas/compile";
import { emptyStorage, goodApi, goodOptions, withChanges } from "../records/options";

const orders = (changes: object): object => ({ apis: { orders: { ...goodApi, ...changes } } });
const writeSentence = "Write the sentence that people read, or a sentence for each language.";
const { parkedRequests: _parked, ...neededStorage } = emptyStorage;
const { endMarks } = emptyStorage;
const storageWith = (changes: object): object => ({ storage: { ...emptyStorage, ...changes } });

type Row = readonly [
  mistake: string,
  changes: object,
  path: string,
  code: OptionProblemCode,
  problem: string,
];

const noMethod = ["option-without-method", "lacks the method decide"] as const;
const empty = ["option-empty", "must not be empty"] as const;
const missing = ["option-missing", "is missing"] as const;

const rows: readonly Row[] = [
  ["nothing", { consent: null }, "consent", ...noMethod],
  ["a text", { consent: "ask" }, "consent", ...noMethod],
  ["a value for a method", { consent: { decide: "ask" } }, "consent", ...noMethod],
  [
    "the second method",
    storageWith({ endMarks: { ...endMarks, save: undefined } }),
    "storage.endMarks",
    "option-without-method",
    "lacks the method save",
  ],
  [
    "a method of an optional port",
    storageWith({ parkedRequests: { create: () => undefined } }),
    "storage.parkedRequests",
    "option-without-method",
    "lacks the method find",
  ],
  ["a text for a function", { onEvent: "log" }, "onEvent", "option-not-a-function", "must be a function"],
  ["no item", { secrets: [] }, "secrets", ...empty],
  ["no property", { authMethods: {} }, "authMethods", ...empty],
  ["no character", orders({ name: "" }), "apis.orders.name", ...empty],
  [
    "too much",
    { revocationLagSeconds: 301 },
    "revocationLagSeconds",
    "option-of-wrong-form",
    "must be <= 300",
  ],
  ["a missing option", { baseUrl: undefined }, "baseUrl", ...missing],
  [
    "a missing option inside",
    orders({ scopes: { a: { implies: [] } } }),
    "apis.orders.scopes.a.text",
    ...missing,
  ],
  [
    "an unknown option inside",
    { pages: { colour: "#123456" } },
    "pages.colour",
    "option-unknown",
    "is not an option",
  ],
  [
    "an error in a scope with more than its sentence",
    orders({ scopes: { a: { text: "" } } }),
    "apis.orders.scopes.a.text",
    ...empty,
  ],
  [
    "a language that is none",
    { pages: { texts: { german: {} } } },
    "pages.texts",
    "option-of-wrong-form",
    'must match pattern "^[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*$"',
  ],
  ["a name with a slash", { apis: { "a/b": { ...goodApi, name: "" } } }, "apis.a/b.name", ...empty],
  ["a name with a tilde", { apis: { "a~b": { ...goodApi, name: "" } } }, "apis.a~b.name", ...empty],
];

/** What is wrong, without what to write instead. */
function wrongIn(options: unknown): readonly object[] {
  return shapeProblems(optionSchema, options).map(({ code, path, problem }) => ({ code, path, problem }));
}

describe("options in a wrong shape", () => {
  it.each(rows)("are told: %s", (_, changes, path, code, problem) => {
    expect(wrongIn(withChanges(changes))).toEqual([{ code, path, problem }]);
  });

  it.each([
    ["of the option", { onEvent: "log" }, "Write a function that takes an event."],
    ["of an item's list", { secrets: [] }, "Write a list of secrets, the newest first."],
    ["of what is missing inside", orders({ scopes: { a: { implies: [] } } }), writeSentence],
    [
      "of all options, for one that is not known",
      { pages: { colour: "#123456" } },
      "Known options: name, logo, accentColor, texts, render.",
    ],
  ])("are told with the fix %s", (_, changes, fix) => {
    expect(shapeProblems(optionSchema, withChanges(changes)).map((one) => one.fix)).toEqual([fix]);
  });

  it("are told all at once", () => {
    const options = withChanges({ typo: 1, secrets: [5, 6], onEvent: {} });
    expect(shapeProblems(optionSchema, options).map(({ path }) => path)).toEqual([
      "typo",
      "secrets.0",
      "secrets.1",
      "onEvent",
    ]);
  });

  it.each<readonly [NamedSchema & object & Record<string, unknown>, unknown, OptionProblem]>([
    [
      { $id: "a", type: "object" },
      5,
      { code: "option-of-wrong-form", path: "options", problem: "must be an object", fix: "" },
    ],
    [
      { $id: "b", type: "object", required: ["a"] },
      {},
      { code: "option-missing", path: "a", problem: "is missing", fix: "" },
    ],
    [
      { $id: "c", type: "object", required: ["a"], properties: { a: {} } },
      {},
      { code: "option-missing", path: "a", problem: "is missing", fix: "" },
    ],
  ])("are told without a fix where the schema says none: %j", (schema, options, expected) => {
    expect(shapeProblems(schema, options)).toEqual([expected]);
  });
});

const decide = (): object => ({ kind: "ask" });
const consent = Object.assign(() => undefined, { decide });

describe("options in the right shape", () => {
  it.each<readonly [string, object]>([
    ["good ones", goodOptions],
    ["storage without parkedRequests", withChanges({ storage: neededStorage })],
    ["storage whose parkedRequests is undefined", withChanges(storageWith({ parkedRequests: undefined }))],
    ["methods of a function, as classes have them", withChanges({ consent })],
    ["inherited methods", withChanges({ consent: Object.create({ decide }) as object })],
  ])("are taken: %s", (_, options) => {
    expect(shapeProblems(optionSchema, options)).toEqual([]);
  });

  it("are read without a word on the console", () => {
    const said = (["log", "warn", "error"] as const).map((name) =>
      jest.spyOn(console, name).mockImplementation(() => undefined),
    );
    shapeProblems(optionSchema, goodOptions);
    expect(said.flatMap(({ mock }) => mock.calls)).toEqual([]);
    jest.restoreAllMocks();
  });
});
