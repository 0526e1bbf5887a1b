// @ts-check
/** errors.md: every refusal, warning and mistake that the library has a text for, from the places where they are made. */
const ts = require("typescript");
const { codedTexts } = require("./coded");
const { fileOf, nodesOf } = require("./library");
const { code, page, prose, table } = require("./markdown");
const { textReader } = require("./texts");

/** @typedef {{ code: string, description: string, ids: readonly string[] }} Refusal */

/** Texts in a table, without doubles. @param {readonly (readonly string[])[]} rows */
function distinct(rows) {
  return [...new Map(rows.map((row) => [row.join("\n"), row])).values()];
}

/** @param {import("./library").Library} library @param {string} name @returns {ts.NewExpression[]} */
function constructions({ files }, name) {
  return files
    .flatMap((file) =>
      [...nodesOf(file)].filter((node) => ts.isNewExpression(node) && node.expression.getText() === name),
    )
    .map((node) => /** @type {ts.NewExpression} */ (node));
}

/** The ids of reasons that are written in this expression. @param {ts.Node} node @param {ReadonlySet<string>} known */
function idsIn(node, known) {
  return [...nodesOf(node)].flatMap((part) =>
    ts.isStringLiteral(part) && known.has(part.text) ? [part.text] : [],
  );
}

/** Links to the reasons. @param {readonly string[]} ids */
function links(ids) {
  return [...new Set(ids)].map((id) => `[${id}](#${id})`).join(", ");
}

/** True for a description that is looked up in a list. @param {ts.Expression} details */
function isLookedUp(details) {
  return (
    ts.isObjectLiteralExpression(details) &&
    details.properties.some(
      (one) =>
        ts.isPropertyAssignment(one) &&
        one.name.getText() === "description" &&
        ts.isElementAccessExpression(one.initializer),
    )
  );
}

/**
 * The descriptions of a refusal with the ids of its reasons. A description that is looked up in a list by the id belongs to that id only.
 *
 * @param {readonly string[]} descriptions @param {{ ids: readonly string[], reasons: ReturnType<typeof readCoded> }} said
 */
function describedBy(descriptions, { ids, reasons }) {
  return descriptions.flatMap((description) => {
    const own = reasons.filter(({ text }) => text === description).map(({ code: id }) => id);
    const named = own.length === 0 ? ids : own.filter((id) => ids.includes(id));
    return own.length > 0 && named.length === 0 ? [] : [{ description, ids: named }];
  });
}

/** @param {import("./library").Library} library @param {ReturnType<typeof readCoded>} reasons @returns {{ refusals: Refusal[], unread: string[] }} */
function readRefusals(library, reasons) {
  const { recordsOf, textsOf } = textReader(library);
  const known = new Set(reasons.map((one) => one.code));
  /** @type {string[]} */
  const unread = [];
  const refusals = constructions(library, "OAuthError").flatMap((node) => {
    const [codeNode, details] = node.arguments ?? [];
    if (!codeNode || !details) return [];
    const written = idsIn(details, known);
    const ids = written.length > 0 ? written : idsIn(ts.findAncestor(node, ts.isFunctionLike) ?? node, known);
    // one that is spread into the details is not left out
    const descriptions = recordsOf(details, ["description"]).flatMap(({ description }) => description ?? []);
    const found = textsOf(codeNode).flatMap(({ text }) =>
      describedBy(descriptions, { ids, reasons: isLookedUp(details) ? reasons : [] }).map((one) => ({
        code: text,
        ...one,
      })),
    );
    if (descriptions.length === 0) unread.push(`${fileOf(node)}: ${node.getText()}`);
    return found;
  });
  return { refusals, unread };
}

/** Object literals of a type with this name. @param {import("./library").Library} library @param {string} typeName */
function literalsOf({ checker, files }, typeName) {
  const found = files.flatMap((file) =>
    [...nodesOf(file)].filter((node) => {
      if (!ts.isObjectLiteralExpression(node)) return false;
      const type = checker.getContextualType(node);
      const parts = type?.isUnion() ? type.types : [type];
      return parts.some((part) => (part?.aliasSymbol ?? part?.symbol)?.name === typeName);
    }),
  );
  if (found.length === 0) throw new Error(`lib/ has no object of the type ${typeName}`);
  return found.map((node) => /** @type {ts.ObjectLiteralExpression} */ (node));
}

/** @param {import("./library").Library} library @param {ReadonlySet<string>} known */
function readBearerRefusals(library, known) {
  const { recordsOf } = textReader(library);
  return literalsOf(library, "Refusal").flatMap((node) =>
    recordsOf(node, ["status", "error", "description"]).map(
      ({ status = "", error = "", description = "" }) => [
        status,
        error && code(error),
        prose(description),
        links(idsIn(ts.findAncestor(node, ts.isFunctionLike) ?? node, known)),
      ],
    ),
  );
}

/**
 * A table of what has ids, with an anchor at the first row of each.
 *
 * @param {readonly string[]} head @param {readonly { code: string, cells: readonly string[] }[]} rows
 */
function codedTable(head, rows) {
  /** @type {Set<string>} */
  const seen = new Set();
  const cells = distinct(rows.map((row) => [row.code, ...row.cells])).map(([id = "", ...others]) => {
    const anchor = id === "" || seen.has(id) ? "" : `<a id="${id}"></a>`;
    seen.add(id);
    return [`${anchor}${id && code(id)}`, ...others];
  });
  return table(["Id", ...head], cells);
}

/** Every text with an id. @param {import("./library").Library} library */
function readCoded(library) {
  const { textsOf } = textReader(library);
  return codedTexts(library).flatMap(({ code: id, file, text, isReason, beginning = "" }) =>
    textsOf(text)
      .filter((possible) => possible.text.startsWith(beginning))
      .map((possible) => ({ code: id, file, text: possible.text, isReason })),
  );
}

/** @param {import("./library").Library} library @param {ReturnType<typeof readCoded>} coded */
function readOptionProblems(library, coded) {
  const { recordsOf } = textReader(library);
  const places = literalsOf(library, "OptionProblem")
    .flatMap((node) => recordsOf(node, ["path", "code", "fix"]))
    // what follows from the schema is in options.md
    .filter(({ fix = "" }) => fix !== "" && !/‹(?:description|properties)›/.test(fix));
  const problems = coded.filter(({ file }) => file === "lib/options/problem.ts");
  return problems.flatMap(({ code: id, text }) => {
    const found = places.filter((place) => place["code"] === id);
    return (found.length > 0 ? found : [{}]).map(({ path = "", fix = "" }) => ({
      code: id,
      cells: [path && code(path), prose(text), prose(fix)],
    }));
  });
}

/** The rules about weak options, by their ids. @param {import("./library").Library} library */
function readWeaknesses(library) {
  const { recordsOf } = textReader(library);
  return literalsOf(library, "StandardRule").flatMap((node) => {
    const { parent } = node;
    if (!ts.isPropertyAssignment(parent)) return [];
    const id = parent.name.getText().replaceAll('"', "");
    return recordsOf(node, ["level", "problem", "why", "fix"]).map(
      ({ level = "standard", problem = "", why = "", fix = "" }) => ({
        code: id,
        cells: [level, prose(problem), prose(why), prose(fix)],
      }),
    );
  });
}

/**
 * Every warning: its id and its text. Some warn with the id of a reason, which has a place already.
 *
 * @param {import("./library").Library} library @param {ReadonlySet<string>} known
 */
function readWarnings(library, known) {
  const { recordsOf, textsOf } = textReader(library);
  const lines = literalsOf(library, "Line").flatMap((node) => recordsOf(node, ["code", "message"]));
  const printed = lines.flatMap(({ code: id = "", message = "" }) =>
    id.startsWith("AUTHMOUNT_") ? [{ code: id, cells: [prose(message)] }] : [],
  );
  const warned = library.files.flatMap((file) =>
    [...nodesOf(file)].flatMap((node) => {
      if (
        !ts.isCallExpression(node) ||
        !/^(?:warn|mountMistake|(?:\w+\.)?advise)$/.test(node.expression.getText())
      )
        return [];
      const [id, message] = node.arguments;
      if (!id || !message || !ts.isStringLiteral(id) || known.has(id.text)) return [];
      return textsOf(message).map(({ text }) => ({ code: id.text, cells: [prose(text)] }));
    }),
  );
  return [...warned, ...printed];
}

/** What migrate() warns of. @param {import("./library").Library} library */
function readRisks(library) {
  const { recordsOf } = textReader(library);
  return literalsOf(library, "Risk").flatMap((node) =>
    recordsOf(node, ["code", "problem", "fix"]).map(({ code: id = "", problem = "", fix = "" }) => ({
      code: id,
      cells: [prose(problem), prose(fix)],
    })),
  );
}

/** Where a text belongs that is thrown to the host. @type {readonly [string, RegExp][]} */
const rooms = [
  ["Protected routes", /^lib\/bearer\//],
  ["Client records and secrets", /^lib\/clients\//],
  ["Adapters for sign-in and consent, and calls of the host's pages", /^lib\/(end-user|interaction|pages)\//],
  ["Memory storage", /^lib\/adapters\/memory\//],
  ["MySQL storage", /^lib\/adapters\/mysql\//],
  ["PostgreSQL storage", /^lib\/adapters\/postgres\//],
  ["Redis storage", /^lib\/adapters\/redis\//],
  ["SQLite storage", /^lib\/adapters\/sqlite\//],
  ["Tools for tests", /^lib\/testing\//],
  ["Account and staff pages", /^lib\/portal\//],
  ["APIs in another process", /^lib\/resource-server\//],
  ["Command line", /^lib\/cli\b/],
  ["Others", /./],
];

const intro = `The texts that the library has for what goes wrong. A client gets the code (\`error\`) and the description (\`error_description\`).
The *reason* and its id (\`code\`) go to the event (\`onEvent\`) and, outside production, to the built-in error page: it names the rule and the fix. ‹Words like
this› stand for what is known only when it happens. For symptoms rather than texts, see [troubleshooting](../troubleshooting.md).`;

/** @param {readonly Refusal[]} refusals */
function refusalSections(refusals) {
  const codes = [...new Set(refusals.map((refusal) => refusal.code))].toSorted();
  return codes.map((name) => {
    const ofCode = refusals.filter((refusal) => refusal.code === name);
    const descriptions = [...new Set(ofCode.map(({ description }) => description))];
    const groups = descriptions.map((description) => {
      const ofDescription = ofCode.filter((refusal) => refusal.description === description);
      return [`**${prose(description)}**`, links(ofDescription.flatMap(({ ids }) => ids))];
    });
    return [`### ${name}`, ...groups.flat().filter(Boolean)].join("\n\n");
  });
}

/** @param {ReturnType<typeof readCoded>} thrown */
function thrownSections(thrown) {
  return rooms.flatMap(([title], place) => {
    const rows = thrown
      .filter(({ file }) => rooms.findIndex(([, pattern]) => pattern.test(file)) === place)
      .map(({ code: id, text }) => ({ code: id, cells: [prose(text)] }));
    return rows.length === 0 ? [] : [`### ${title}\n\n${codedTable(["Text"], rows)}`];
  });
}

/** @param {import("./library").Library} library */
function errorsPage(library) {
  const coded = readCoded(library);
  const reasons = coded.filter(({ isReason }) => isReason);
  const known = new Set(reasons.map((one) => one.code));
  const { refusals, unread } = readRefusals(library, reasons);
  const mistakes = coded.filter(({ file, isReason }) => !isReason && file !== "lib/options/problem.ts");
  const warnings = readWarnings(library, known);
  const body = [
    "## Refusals",
    "Answers of the authorization, token, revocation, introspection and registration endpoints, by OAuth error. In bold: the description. Below it: ids of [reasons](#reasons-of-refusals).",
    ...refusalSections(refusals),
    "## Refused access tokens",
    "Answers of `requireBearer` and `auth.challenge`, and the reasons of `bearer-refused`.",
    table(
      ["Status", "Error", "Description, for the client", "Reasons"],
      distinct(readBearerRefusals(library, known)),
    ),
    "## Reasons of refusals",
    "Events have the id as `code` and the text as `reason`. The text may change with any version, the id does not.",
    codedTable(
      ["Text"],
      reasons
        .map(({ code: id, text }) => ({ code: id, cells: [prose(text)] }))
        .toSorted((one, other) => (one.code < other.code ? -1 : Number(one.code > other.code))),
    ),
    "## Warnings",
    'Node prints them to stderr as `AuthmountWarning`, with the id as `code`; `process.on("warning", …)` hears them. Without `onEvent`, what would be an event is a warning too: outside production a refusal, with the id of its [reason](#reasons-of-refusals); and everywhere a failure, with the id of the [error](#other-errors-that-the-host-sees), or <a id="storage-or-callback-failed"></a>`storage-or-callback-failed` where the error is not one of this library.',
    codedTable(["Text"], warnings),
    "## Wrong options",
    "`createAuthServer` throws a `TypeError`: “createAuthServer: ‹path› ‹problem›. ‹fix›”, with the id as `code`. For a value of the wrong type or shape, ‹fix› is what [options](options.md) says after “If it is wrong”. An unknown option “is not an option”, and the fix lists the known ones.",
    codedTable(["Path", "Problem", "Fix"], readOptionProblems(library, coded)),
    "## Weak options",
    "`npx authmount check` lists what is weak or worth a note. `auth.assessment()` names each by its id; what has the level *standard* only matters to a standard.",
    codedTable(["Level", "Problem", "Why", "Fix"], readWeaknesses(library)),
    "## Risks of a database",
    "`storage.migrate()` returns a sentence for each, with the id in brackets. `auth.assessment()` has them as [storage-may-lose-records](#storage-may-lose-records).",
    codedTable(["Problem", "Fix"], readRisks(library)),
    "## Other errors that the host sees",
    "Thrown where the host calls, or the `cause` of a `server-error` event. The id is the error's `code`.",
    ...thrownSections(mistakes),
  ].join("\n\n");
  const ids = [...codedTexts(library), ...readWeaknesses(library), ...readRisks(library), ...warnings].map(
    (one) => one.code,
  );
  return {
    text: page({ title: "Errors, reasons and warnings", intro, body }),
    refusals,
    unread,
    warnings,
    ids,
  };
}

module.exports = { errorsPage };
