/** Reads every file of lib/ and holds the laws of the house: what may import what, who may touch the world, and how big things get. */
import { posix } from "node:path";
import ts from "typescript";
import {
  filesUnder,
  folderOf,
  importedBy,
  lineOf,
  nodesOf,
  offences,
  parse,
  type SourceFile,
  type SourceText,
  unreadable,
} from "./sources/source-files";

const library = filesUnder("lib");
const tests = filesUnder("__tests__");

/** Offences of imports: `judge` is given the folder below lib/ for our own files, and the name of any other module. */
function importOffences(
  file: SourceFile,
  judge: (imported: { folder: string | undefined; name: string }) => boolean,
): readonly string[] {
  return offences(file, (node) => {
    const name = importedBy(node);
    if (name === undefined) return undefined;
    const own = name.startsWith(".");
    const target = own ? posix.join(posix.dirname(file.path), name) : undefined;
    const folder = target === undefined ? undefined : folderOf(target);
    // the command line imports the file that it is given
    const mayBeAny = file.path === "lib/cli.ts";
    const inside = target === undefined ? name !== unreadable || mayBeAny : target.startsWith("lib/");
    return inside && judge({ folder, name }) ? undefined : `imports "${name}"`;
  });
}

const onlyInside =
  (name: string, folders: readonly string[]) =>
  (file: SourceFile): readonly string[] =>
    folders.includes(folderOf(file.path)) ? [] : importOffences(file, (imported) => imported.name !== name);

/** Folder → layer. A file may import from lower layers and from its own folder. */
const layers: Readonly<Record<string, number>> = {
  protocol: 0,
  schemas: 0,
  host: 1,
  recall: 1,
  events: 1,
  requests: 1,
  pages: 1,
  storage: 2,
  signing: 2,
  fetching: 2,
  clients: 3,
  adapters: 3,
  "testing/contract": 3,
  strangers: 4,
  tokens: 4,
  "adapters/memory": 4,
  "adapters/mysql": 4,
  "adapters/postgres": 4,
  "adapters/redis": 4,
  "adapters/sqlite": 4,
  "end-user": 5,
  grants: 5,
  endpoints: 6,
  interaction: 7,
  options: 8,
  http: 8,
  review: 9,
  bearer: 9,
  portal: 9,
  "resource-server": 9,
  testing: 9,
  cli: 10,
  "": 11,
};

function pointsUp({ path, tree, text }: SourceFile): readonly string[] {
  const own = folderOf(path);
  const layer = layers[own];
  if (layer === undefined) return [`${path} is in a folder without a layer`];
  return importOffences(
    { path, tree, text },
    ({ folder }) => folder === undefined || folder === own || (layers[folder] ?? Infinity) < layer,
  );
}

/** Everything but the outermost rooms, which may look at the process. */
const core = Object.keys(layers).filter(
  (folder) => !["", "options", "http", "bearer", "testing/contract", "testing"].includes(folder),
);

/** What reaches for time, chance, the process or the console. */
function worldlyOffence(node: ts.Node): string | undefined {
  const text = node.getText();
  if (ts.isNewExpression(node)) return text === "new Date()" || text === "new Date" ? text : undefined;
  if (ts.isPropertyAccessExpression(node)) {
    return /^(?:Date\.now|Math\.random|performance\.now)$/.test(text) ? text : undefined;
  }
  if (!ts.isIdentifier(node)) return undefined;
  const worldly =
    /^(?:process|console|performance|randomBytes|randomUUID|randomInt|randomFill|randomFillSync|getRandomValues|setTimeout|setInterval)$/;
  return worldly.test(text) ? text : undefined;
}

const worldlyExceptions: Readonly<Record<string, string | readonly string[]>> = {
  // a secret is made where its form is known, and a key that never leaves the process where it is used
  "lib/clients/client-secret.ts": "randomBytes",
  // a client that is added gets an id that nobody has
  "lib/clients/manage-clients.ts": "randomUUID",
  // a limit on time needs a timer
  "lib/host/ask.ts": "setTimeout",
  "lib/fetching/network.ts": "setTimeout",
  "lib/recall/turns.ts": "setTimeout",
  // a command is sent again for two seconds, however long each answer takes
  "lib/adapters/redis/retrying.ts": "setTimeout",
  // statements that have met are repeated after a pause, which differs by chance so that they do not meet again
  "lib/adapters/repeat.ts": ["setTimeout", "Math.random"],
  // its keeper may leave out the time
  "lib/adapters/mysql/storage.ts": "Date.now",
  "lib/adapters/postgres/storage.ts": "Date.now",
  // deleting a client takes no time and no value, so the mark that ends it is made here
  "lib/storage/end-marks.ts": "randomBytes",
  "lib/adapters/memory/storage.ts": "Date.now",
  "lib/adapters/redis/storage.ts": "Date.now",
  // durations are measured by it, whatever is done to the clock
  "lib/recall/moment.ts": ["performance", "performance.now"],
  // a lock that another process holds is waited for, and not for longer than the caller waits
  "lib/adapters/sqlite/connection.ts": "setTimeout",
  "lib/adapters/sqlite/storage.ts": "Date.now",
};

function reachesOut(file: SourceFile): readonly string[] {
  if (!core.includes(folderOf(file.path))) return [];
  return offences(file, (node) => {
    const offence = worldlyOffence(node);
    const allowed = [worldlyExceptions[file.path]].flat();
    return offence === undefined || allowed.includes(offence) ? undefined : `has ${offence}`;
  });
}

const responseWriters =
  /^(?:end|send|sendStatus|json|jsonp|status|writeHead|write|setHeader|setHeaders|appendHeader|removeHeader|redirect|cookie|clearCookie|render|sendFile|vary|append|header|set|type|location)$/;

function writesResponse(file: SourceFile): readonly string[] {
  if (file.path === "lib/http/response.ts") return [];
  return offences(file, (node) => {
    if (ts.isBinaryExpression(node) && /(?:^|\.)res\.statusCode$/.test(node.left.getText())) {
      if (node.operatorToken.kind === ts.SyntaxKind.EqualsToken) return "sets res.statusCode";
    }
    if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return undefined;
    const { expression, name } = node.expression;
    if (!/(?:^|\.)res$/.test(expression.getText()) || !responseWriters.test(name.text)) return undefined;
    return `calls res.${name.text}(${node.arguments[0]?.getText() ?? ""})`;
  });
}

function castsTarget(file: SourceFile): readonly string[] {
  if (file.path === "lib/protocol/redirect-uri.ts") return [];
  return offences(file, (node) => {
    if (!ts.isAsExpression(node) && !ts.isTypeAssertionExpression(node)) return undefined;
    const type = node.type.getText();
    return /\bRedirectTarget\b|\bany\b|\bnever\b/.test(type) ? `casts to ${type}` : undefined;
  });
}

function linesOf(text: string): number {
  return text.replace(/\n$/, "").split("\n").length;
}

const longerThan =
  (most: number) =>
  ({ path, text }: SourceText): readonly string[] =>
    linesOf(text) > most ? [`${path} has ${linesOf(text)} lines`] : [];

function longFunctions(file: SourceFile): readonly string[] {
  return offences(file, (node) => {
    if (!ts.isFunctionLike(node) || !("body" in node) || !node.body) return undefined;
    const lines = lineOf(file, node.getEnd()) - lineOf(file, node.getStart()) + 1;
    return lines > 45 ? `is a function of ${lines} lines` : undefined;
  });
}

function refusedSyntax(node: ts.Node): string | undefined {
  if (node.kind === ts.SyntaxKind.AnyKeyword) return "has any";
  if (ts.isEnumDeclaration(node)) return "has an enum";
  if (ts.isExportAssignment(node)) return "has a default export";
  if (node.kind === ts.SyntaxKind.DefaultKeyword && ts.isModifier(node)) return "has a default export";
  if (ts.isExportSpecifier(node) && node.name.text === "default") return "has a default export";
  if (ts.isLiteralTypeNode(node) && node.literal.kind === ts.SyntaxKind.NullKeyword)
    return "has the type null";
  if (ts.isClassLike(node) && node.name?.text !== "OAuthError") {
    return `has the class ${node.name?.text ?? "without a name"}`;
  }
  // protocol/parsed-url says why
  if (ts.isPropertyAccessExpression(node) && node.name.text === "canParse") return "has URL.canParse";
  return undefined;
}

function missingNoun({ path }: SourceFile): readonly string[] {
  const folders = path.split("/").slice(0, -1);
  return folders.some((name) => /^(?:utils?|helpers?|shared|common)$/i.test(name)) ? [path] : [];
}

function beginsWithoutDoc({ path, text }: SourceFile): readonly string[] {
  return /^(?:#!.*\n)?\/\*\* \S/.test(text) ? [] : [`${path}:1 ${text.split("\n")[0]}`];
}

function isDocumented(node: ts.Node): boolean {
  return ts.getJSDocCommentsAndTags(node).some((doc) => ts.isJSDoc(doc) && doc.comment !== undefined);
}

function undocumentedExports(file: SourceFile): readonly string[] {
  return file.tree.statements.flatMap((statement) => {
    const isExported =
      ts.canHaveModifiers(statement) &&
      ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) === true;
    if (!isExported || isDocumented(statement)) return [];
    return [`${file.path}:${lineOf(file, statement.getStart())} exports ${declaredNames(statement).join()}`];
  });
}

/** Tests that somebody has left out, or left alone. */
function leavesOut(file: SourceFile): readonly string[] {
  // the one place that may leave out, aloud, where a server cannot be had
  if (file.path === "__tests__/servers/server-process.ts") return [];
  return offences(file, (node) => {
    if (ts.isPropertyAccessExpression(node) && /^(?:only|skip|todo|failing)$/.test(node.name.text)) {
      return /^(?:it|test|describe)\b/.test(node.expression.getText()) ? `has ${node.getText()}` : undefined;
    }
    if (!ts.isCallExpression(node)) return undefined;
    const called = node.expression.getText();
    return /^(?:[xf](?:it|test|describe))\b/.test(called) ? `has ${called}` : undefined;
  });
}

/** True for an import that is gone in the compiled code. */
function isOfTypes(node: ts.Node): boolean {
  if (!ts.isImportDeclaration(node) || !node.importClause) return false;
  const { phaseModifier, namedBindings } = node.importClause;
  const isOne = namedBindings && ts.isNamedImports(namedBindings) && namedBindings.elements.length > 0;
  return (
    phaseModifier === ts.SyntaxKind.TypeKeyword ||
    (isOne === true && namedBindings.elements.every((element) => element.isTypeOnly))
  );
}

/** What `portal/` runs of other rooms, besides those that it shares as a whole: facts, and rules about records and answers. */
const facts = "options/(?:resolve|options)|interaction/port|end-user/check-host-answer|recall/single-flight";
const factsOfClients = "clients/(?:client-record|client-secret|manage-clients)";

/** Code of the server that a host could not call. */
function reachesIntoServer(file: SourceFile): readonly string[] {
  if (folderOf(file.path) !== "portal") return [];
  return offences(file, (node) => {
    const name = importedBy(node);
    if (name === undefined || isOfTypes(node)) return undefined;
    const isShared = /^(?:express|node:crypto|\.\/.+|\.\.\/(?:pages|http|host|protocol)\/.+)$/.test(name);
    const isFact = new RegExp(`^\\.\\./(?:${facts}|${factsOfClients})$`).test(name);
    return isShared || isFact ? undefined : `imports "${name}"`;
  });
}

interface Law {
  readonly law: string;
  readonly files: readonly SourceFile[];
  readonly offenders: (file: SourceFile) => readonly string[];
  /** Each of these breaks it, so a law that sees nothing is noticed. */
  readonly bait: readonly SourceText[];
}

const laws: readonly Law[] = [
  {
    law: "imports point down through the layers",
    files: library,
    offenders: pointsUp,
    bait: [
      { path: "lib/protocol/a.ts", text: 'import type { Storage } from "../storage/port";' },
      { path: "lib/events/a.ts", text: 'import type { Storage } from "../storage/port";' },
      { path: "lib/grants/a.ts", text: 'export * from "../endpoints/token";' },
      { path: "lib/endpoints/a.ts", text: 'type A = import("../http/router").RouterOptions;' },
      { path: "lib/interaction/a.ts", text: 'const a = import("../http/router");' },
      { path: "lib/http/a.ts", text: 'import { defaultLifetimes } from "../options";' },
      { path: "lib/http/a.ts", text: 'import a from "../../__tests__/hosts/clock";' },
      { path: "lib/http/a.ts", text: "const a = require(name);" },
      { path: "lib/odd/a.ts", text: "" },
    ],
  },
  {
    law: "protocol/ imports its own folder and node:crypto",
    files: library,
    offenders: (file) =>
      folderOf(file.path) === "protocol"
        ? importOffences(file, ({ folder, name }) => folder === "protocol" || name === "node:crypto")
        : [],
    bait: [
      { path: "lib/protocol/a.ts", text: 'import { Ajv } from "ajv";' },
      { path: "lib/protocol/a.ts", text: 'import { readFile } from "node:fs";' },
    ],
  },
  {
    law: "the rules import no module that reads or writes anything",
    files: library,
    offenders: (file) =>
      ["requests", "clients", "tokens", "end-user", "grants", "endpoints", "events"].includes(
        folderOf(file.path),
      )
        ? importOffences(
            file,
            // node:http for the type of headers
            ({ folder, name }) =>
              folder !== undefined || /^(?:node:crypto|node:http|node:util|lru-cache)$/.test(name),
          )
        : [],
    bait: [{ path: "lib/grants/a.ts", text: 'import { get } from "node:https";' }],
  },
  {
    law: "protocol/ states facts and throws nothing",
    files: library,
    offenders: (file) =>
      folderOf(file.path) === "protocol"
        ? offences(file, (node) => (ts.isThrowStatement(node) ? "throws" : undefined))
        : [],
    bait: [
      { path: "lib/protocol/a.ts", text: 'function a() { throw new OAuthError("invalid_scope", {}); }' },
    ],
  },
  {
    law: "express is imported in http/, bearer/, interaction/, portal/ and root files only",
    files: library,
    offenders: onlyInside("express", ["http", "bearer", "interaction", "portal", ""]),
    bait: [{ path: "lib/endpoints/a.ts", text: 'import type { Request } from "express";' }],
  },
  {
    law: "portal/ does what a host could do: it asks the server by what createAuthServer returned",
    files: library,
    offenders: reachesIntoServer,
    bait: [
      { path: "lib/portal/a.ts", text: 'import { withdrawConsent } from "../end-user/ends";' },
      { path: "lib/portal/a.ts", text: 'import { type A, b } from "../clients/client-lookup";' },
      { path: "lib/portal/a.ts", text: 'export { a } from "../storage/end-marks";' },
      { path: "lib/portal/a.ts", text: 'const a = require("../tokens/issue-tokens");' },
    ],
  },
  {
    law: "cookie-parser is imported in interaction/ only",
    files: library,
    offenders: onlyInside("cookie-parser", ["interaction"]),
    bait: [{ path: "lib/http/a.ts", text: 'import cookieParser from "cookie-parser";' }],
  },
  {
    law: "jsonwebtoken is imported in signing/ only",
    files: library,
    offenders: onlyInside("jsonwebtoken", ["signing"]),
    bait: [{ path: "lib/endpoints/a.ts", text: 'import jwt = require("jsonwebtoken");' }],
  },
  {
    law: "connections to others and DNS are in fetching/ only",
    files: library.filter(({ path }) => folderOf(path) !== "fetching"),
    offenders: (file) => importOffences(file, ({ name }) => !/^(?:node:)?(?:https|net|tls|dns)\b/.test(name)),
    bait: [{ path: "lib/endpoints/a.ts", text: 'import { lookup } from "node:dns/promises";' }],
  },
  {
    law: "time, chance and the process come in by the door",
    files: library,
    offenders: reachesOut,
    bait: [
      { path: "lib/grants/a.ts", text: "const a = Date.now();" },
      { path: "lib/grants/a.ts", text: "const a = new Date();" },
      { path: "lib/endpoints/a.ts", text: "const a = Math.random();" },
      { path: "lib/endpoints/a.ts", text: 'import { randomBytes } from "node:crypto";' },
      { path: "lib/protocol/a.ts", text: 'const a = process.env["A"];' },
      { path: "lib/storage/a.ts", text: 'console.log("a");' },
      { path: "lib/clients/client-secret.ts", text: "const a = Date.now();" },
    ],
  },
  {
    law: "http/response alone writes to res",
    files: library,
    offenders: writesResponse,
    bait: [
      { path: "lib/http/a.ts", text: "res.end();" },
      { path: "lib/http/a.ts", text: "exchange.res.json({});" },
      { path: "lib/http/a.ts", text: 'res.setHeader("Access-Control-Allow-Origin", "*");' },
      { path: "lib/http/a.ts", text: "res.statusCode = 400;" },
      { path: "lib/http/a.ts", text: 'res.status(400).send("a");' },
      { path: "lib/http/routes.ts", text: 'res.setHeader("Vary", "Origin");' },
      { path: "lib/interaction/a.ts", text: 'res.redirect("/");' },
    ],
  },
  {
    law: "verifyRedirectUri alone makes a RedirectTarget",
    files: library,
    offenders: castsTarget,
    bait: [
      { path: "lib/endpoints/a.ts", text: "const a = { uri } as RedirectTarget;" },
      { path: "lib/endpoints/a.ts", text: "const a = uri as unknown as { target: RedirectTarget };" },
      { path: "lib/endpoints/a.ts", text: "const a = <RedirectTarget>uri;" },
      { path: "lib/endpoints/a.ts", text: "answer(uri as never);" },
    ],
  },
  {
    law: "no file is longer than 400 lines",
    files: library,
    offenders: longerThan(400),
    bait: [{ path: "lib/a.ts", text: "\n".repeat(402) }],
  },
  {
    law: "no function is longer than 45 lines",
    files: library,
    offenders: longFunctions,
    bait: [
      { path: "lib/a.ts", text: `function a() {${"\n".repeat(46)}}` },
      { path: "lib/a.ts", text: `const a = () => {${"\n".repeat(46)}};` },
    ],
  },
  {
    law: "there is no any, enum, default export, null type, URL.canParse or class but OAuthError",
    files: library,
    offenders: (file) => offences(file, refusedSyntax),
    bait: [
      { path: "lib/a.ts", text: "let a: any;" },
      { path: "lib/a.ts", text: "enum A { b }" },
      { path: "lib/a.ts", text: "const a = URL.canParse(b);" },
      { path: "lib/a.ts", text: "export default 1;" },
      { path: "lib/a.ts", text: "export default function a() {}" },
      { path: "lib/a.ts", text: "export { a as default };" },
      { path: "lib/a.ts", text: "let a: string | null;" },
      { path: "lib/a.ts", text: "class Store {}" },
      { path: "lib/a.ts", text: "const a = class {};" },
    ],
  },
  {
    law: "no folder is called utils, helpers, shared or common: find the noun",
    files: library,
    offenders: missingNoun,
    bait: [{ path: "lib/http/utils/a.ts", text: "" }],
  },
  {
    law: "every file begins with a doc comment",
    files: library,
    offenders: beginsWithoutDoc,
    bait: [
      { path: "lib/a.ts", text: 'import a from "b";\n' },
      { path: "lib/a.ts", text: "// a\n" },
    ],
  },
  {
    law: "no test file is longer than 600 lines",
    files: tests,
    offenders: longerThan(600),
    bait: [{ path: "__tests__/a.test.ts", text: "\n".repeat(602) }],
  },
  {
    law: "every exported name has a doc comment that says what it is",
    files: library,
    offenders: undocumentedExports,
    bait: [
      { path: "lib/a.ts", text: "export function a() {}" },
      { path: "lib/a.ts", text: "/** @rfc 6749 §4 */\nexport const a = 1;" },
      { path: "lib/a.ts", text: "// not a doc comment\nexport interface A {}" },
    ],
  },
  {
    law: "no test is left out or left alone",
    files: tests,
    offenders: leavesOut,
    bait: [
      { path: "__tests__/a.test.ts", text: 'it.only("a", b);' },
      { path: "__tests__/a.test.ts", text: "describe.skip.each([])();" },
      { path: "__tests__/a.test.ts", text: 'it.todo("a");' },
      { path: "__tests__/a.test.ts", text: 'xit("a", b);' },
      { path: "__tests__/a.test.ts", text: 'fdescribe("a", b);' },
    ],
  },
];

describe("the laws of the house", () => {
  it("are held against every file", () => {
    expect(library.length).toBeGreaterThan(50);
    expect(library.map(({ path }) => path)).toContain("lib/protocol/redirect-uri.ts");
    expect(tests.map(({ path }) => path)).toContain("__tests__/architecture.test.ts");
  });

  it.each(laws)("$law", ({ files, offenders }) => {
    expect(files.flatMap(offenders)).toEqual([]);
  });

  it.each(laws)("would be seen broken: $law", ({ offenders, bait }) => {
    expect(bait.filter((source) => offenders(parse(source)).length === 0)).toEqual([]);
  });

  it("every exception is still needed", () => {
    const needless = Object.entries(worldlyExceptions)
      .flatMap(([path, names]) => [names].flat().map((name) => [path, name] as const))
      .filter(([path, name]) => !library.some((file) => file.path === path && file.text.includes(name)));
    expect(needless).toEqual([]);
  });
});

/** The files of lib/ that a file imports, types too. */
function importsOf({ path, tree }: SourceFile): readonly string[] {
  return [...nodesOf(tree)].flatMap((node) => {
    const name = importedBy(node);
    return name?.startsWith(".") ? [`${posix.join(posix.dirname(path), name)}.ts`] : [];
  });
}

/** The files that lead back to themselves, by whatever they import. */
function filesInCycles(files: readonly SourceFile[]): readonly string[] {
  const imports = new Map(files.map((file) => [file.path, importsOf(file)]));
  function reachable(from: string): ReadonlySet<string> {
    const found = new Set(imports.get(from));
    // a set also gives what is added to it while it is iterated
    for (const path of found) for (const next of imports.get(path) ?? []) found.add(next);
    return found;
  }
  return [...imports.keys()].filter((path) => reachable(path).has(path));
}

describe("imports", () => {
  it("never lead back to the file that they began in, not even by types alone", () => {
    expect(filesInCycles(library)).toEqual([]);
  });

  it("would be seen leading back", () => {
    const bait = [
      { path: "lib/protocol/a.ts", text: 'import type { B } from "./b";' },
      { path: "lib/protocol/b.ts", text: 'export type B = import("./c").C;' },
      { path: "lib/protocol/c.ts", text: 'export { type A } from "./a";' },
      { path: "lib/protocol/d.ts", text: 'import { a } from "./a";' },
    ];
    expect(filesInCycles(bait.map(parse))).toEqual([
      "lib/protocol/a.ts",
      "lib/protocol/b.ts",
      "lib/protocol/c.ts",
    ]);
  });
});

interface ExportedName {
  readonly name: string;
  readonly declarations: readonly ts.Node[];
}

/** The names that lib/index.ts exports, with what they stand for in the files they come from. */
function exportedNames(): readonly ExportedName[] {
  const index = library.find(({ path }) => path === "lib/index.ts");
  return (index?.tree.statements ?? []).flatMap((statement) => {
    if (
      !ts.isExportDeclaration(statement) ||
      !statement.exportClause ||
      !ts.isNamedExports(statement.exportClause)
    )
      return [{ name: statement.getText(), declarations: [] }];
    const from = posix.join("lib", `${importedBy(statement) ?? ""}.ts`);
    const source = library.find(({ path }) => path === from);
    return statement.exportClause.elements.map(({ name, propertyName }) => ({
      name: name.text,
      declarations: (source?.tree.statements ?? []).filter((declared) =>
        declaredNames(declared).includes((propertyName ?? name).text),
      ),
    }));
  });
}

function declaredNames(statement: ts.Statement): readonly string[] {
  if (ts.isVariableStatement(statement))
    return statement.declarationList.declarations.map(({ name }) => name.getText());
  const named =
    ts.isFunctionDeclaration(statement) ||
    ts.isInterfaceDeclaration(statement) ||
    ts.isTypeAliasDeclaration(statement) ||
    ts.isClassDeclaration(statement);
  return named && statement.name ? [statement.name.text] : [];
}

describe("public names", () => {
  const names = exportedNames();

  it("are exported by name from the file that declares them", () => {
    expect(names.length).toBeGreaterThan(30);
    expect(names.filter(({ declarations }) => declarations.length === 0).map(({ name }) => name)).toEqual([]);
  });

  it.each([
    ["function", ts.isFunctionDeclaration],
    ["interface", ts.isInterfaceDeclaration],
    ["constant", ts.isVariableStatement],
    ["type", ts.isTypeAliasDeclaration],
  ] as const)("have a doc comment: every %s", (_, isKind: (node: ts.Node) => boolean) => {
    const ofKind = names.filter(({ declarations }) => declarations.some(isKind));
    expect(ofKind.length).toBeGreaterThan(0);
    const bare = ofKind.filter(({ declarations }) => !declarations.some(isDocumented));
    expect(bare.map(({ name }) => name)).toEqual([]);
  });
});
