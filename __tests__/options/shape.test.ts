import { optionSchema } from "../../lib/options/schema";
import { type OptionProblem, shapeProblems } from "../../lib/options/shape";
import { emptyStorage, goodApi, goodOptions, withChanges } from "../fixture/options";

const orders = (changes: object): object => ({ apis: { orders: { ...goodApi, ...changes } } });
const writeSentence = "Write the sentence that people read, or a sentence for each language.";
const writeConsent = "Write a ConsentAdapter: { decide(request) { … } }.";
const { endMarks } = emptyStorage;
const storageWith = (changes: object): object => ({ storage: { ...emptyStorage, ...changes } });

type Row = readonly [mistake: string, changes: object, path: string, problem: string, fix: string];

const rows: readonly Row[] = [
  ["nothing", { consent: null }, "consent", "lacks the method decide", writeConsent],
  ["a text", { consent: "ask" }, "consent", "lacks the method decide", writeConsent],
  [
    "a value for a method",
    { consent: { decide: "ask" } },
    "consent",
    "lacks the method decide",
    writeConsent,
  ],
  [
    "the second method",
    storageWith({ endMarks: { ...endMarks, save: undefined } }),
    "storage.endMarks",
    "lacks the method save",
    "Write an EndMarkStore. An adapter written for 0.1 also needs the new consents.delete and authorizations.revokeAll: see the upgrade steps in CHANGELOG.",
  ],
  [
    "a text for a function",
    { onEvent: "log" },
    "onEvent",
    "must be a function",
    "Write a function that takes an event.",
  ],
  ["no item", { secrets: [] }, "secrets", "must not be empty", "Write a list of secrets, the newest first."],
  [
    "no property",
    { authMethods: {} },
    "authMethods",
    "must not be empty",
    "Write at least one authentication method: { password: { authenticate } }.",
  ],
  [
    "no character",
    orders({ name: "" }),
    "apis.orders.name",
    "must not be empty",
    "Write the name that people read.",
  ],
  [
    "too much",
    { revocationLagSeconds: 301 },
    "revocationLagSeconds",
    "must be <= 300",
    "Write whole seconds from 0 to 300.",
  ],
  [
    "a missing option",
    { baseUrl: undefined },
    "baseUrl",
    "is missing",
    'Write the public URL of the mount point, such as "https://host/login".',
  ],
  [
    "a missing option inside",
    orders({ scopes: { a: { implies: [] } } }),
    "apis.orders.scopes.a.text",
    "is missing",
    writeSentence,
  ],
  [
    "an unknown option inside",
    { pages: { colour: "#123456" } },
    "pages.colour",
    "is not an option",
    "Known options: name, logo, accentColor, texts, render.",
  ],
  [
    "an error in a scope with more than its sentence",
    orders({ scopes: { a: { text: "" } } }),
    "apis.orders.scopes.a.text",
    "must not be empty",
    writeSentence,
  ],
  [
    "a language that is none",
    { pages: { texts: { german: {} } } },
    "pages.texts",
    'must match pattern "^[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*$"',
    "Write language tags such as en or de-AT.",
  ],
  [
    "a name with a slash",
    { apis: { "a/b": { ...goodApi, name: "" } } },
    "apis.a/b.name",
    "must not be empty",
    "Write the name that people read.",
  ],
  [
    "a name with a tilde",
    { apis: { "a~b": { ...goodApi, name: "" } } },
    "apis.a~b.name",
    "must not be empty",
    "Write the name that people read.",
  ],
];

describe("options in a wrong shape", () => {
  it.each(rows)("are told: %s", (_, changes, path, problem, fix) => {
    const expected: OptionProblem = { path, problem, fix };
    expect(shapeProblems(optionSchema, withChanges(changes))).toEqual([expected]);
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

  it.each([
    [{ $id: "a", type: "object" }, 5, { path: "options", problem: "must be object", fix: "" }],
    [{ $id: "b", type: "object", required: ["a"] }, {}, { path: "a", problem: "is missing", fix: "" }],
    [
      { $id: "c", type: "object", required: ["a"], properties: { a: {} } },
      {},
      { path: "a", problem: "is missing", fix: "" },
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
