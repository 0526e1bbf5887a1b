// @ts-check
/** errors.md: every refusal, warning and mistake that the library has a text for, from the places where they are made. */
const ts = require("typescript");
const { fileOf, nodesOf } = require("./library");
const { code, page, prose, table } = require("./markdown");
const { textReader } = require("./texts");

/** @typedef {{ code: string, description: string, reason: string, file: string }} Refusal */

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

/** @param {import("./library").Library} library @returns {{ refusals: Refusal[], unread: string[] }} */
function readRefusals(library) {
  const { recordsOf, textsOf } = textReader(library);
  /** @type {string[]} */
  const unread = [];
  const refusals = constructions(library, "OAuthError").flatMap((node) => {
    const [codeNode, details] = node.arguments ?? [];
    const found =
      codeNode && details
        ? recordsOf(details, ["description", "reason"]).flatMap(({ description = "", reason = "" }) =>
            textsOf(codeNode).map(({ text }) => ({ code: text, description, reason, file: fileOf(node) })),
          )
        : [];
    if (found.length === 0) unread.push(`${fileOf(node)}: ${node.getText()}`);
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

/** What is said of a token that is not good: `{ kind: "invalid", reason }` in lib/tokens/. @param {import("./library").Library} library */
function invalidTokenReasons(library) {
  const { recordsOf } = textReader(library);
  return library.files
    .filter((file) => fileOf(file).startsWith("lib/tokens/"))
    .flatMap((file) => [...nodesOf(file)])
    .flatMap((node) => (ts.isObjectLiteralExpression(node) ? recordsOf(node, ["kind", "reason"]) : []))
    .flatMap(({ kind, reason = "" }) => (kind === "invalid" && !reason.startsWith("‹") ? [reason] : []));
}

/** @param {import("./library").Library} library */
function readBearerRefusals(library) {
  const { recordsOf } = textReader(library);
  const ofTokens = invalidTokenReasons(library);
  return literalsOf(library, "Refusal").flatMap((node) =>
    recordsOf(node, ["status", "error", "description", "reason"]).flatMap((record) => {
      const { status = "", error = "", description = "", reason = "" } = record;
      const reasons = reason.startsWith("‹") ? ofTokens : [reason];
      return reasons.map((text) => [status, error && code(error), prose(description), prose(text)]);
    }),
  );
}

/** @param {import("./library").Library} library */
function readOptionProblems(library) {
  const { recordsOf } = textReader(library);
  return (
    literalsOf(library, "OptionProblem")
      .flatMap((node) => recordsOf(node, ["path", "problem", "fix"]))
      // what follows from the schema is in options.md
      .filter(({ fix = "" }) => fix !== "" && !/‹(?:description|properties)›/.test(fix))
      .map(({ path = "", problem = "", fix = "" }) => [code(path), prose(problem), prose(fix)])
  );
}

/** @param {string} text */
const isCode = (text) => /^AUTHMOUNT_[A-Z_]+$/.test(text);

/** Every warning: a call, or an object, that has its code beside its text. @param {import("./library").Library} library */
function readWarnings(library) {
  const { textsOf } = textReader(library);
  return library.files.flatMap((file) =>
    [...nodesOf(file)].flatMap((node) => {
      if (!ts.isStringLiteral(node) || !isCode(node.text)) return [];
      const beside = besideOf(node);
      return beside.flatMap((expression) =>
        textsOf(expression)
          .filter(({ text }) => text.includes(" "))
          .map(({ text }) => [code(node.text), prose(text)]),
      );
    }),
  );
}

/** @param {ts.Node} node @returns {readonly ts.Expression[]} */
function besideOf({ parent, ...node }) {
  if (ts.isCallExpression(parent)) return parent.arguments.filter((one) => one.pos !== node.pos);
  if (!ts.isPropertyAssignment(parent)) return [];
  return parent.parent.properties.flatMap((one) =>
    one === parent
      ? []
      : ts.isPropertyAssignment(one)
        ? [one.initializer]
        : ts.isShorthandPropertyAssignment(one)
          ? [one.name]
          : [],
  );
}

/** What is thrown to the host, with its text. @param {import("./library").Library} library */
function readThrown(library) {
  const { textsOf } = textReader(library);
  return ["TypeError", "Error"].flatMap((name) =>
    constructions(library, name).flatMap((node) => {
      const [message] = node.arguments ?? [];
      // tools for tests say what is wrong with a test; the command line is on a page of its own
      if (!message || /^lib\/(?:storage\/contract\/|testing\/|cli\b)/.test(fileOf(node))) return [];
      return textsOf(message).map(({ text }) => ({ name, text, file: fileOf(node) }));
    }),
  );
}

/** Where a text belongs that is thrown to the host. @type {readonly [string, RegExp][]} */
const rooms = [
  ["Signing keys", /^lib\/(options\/signing-keys|signing\/)/],
  ["Protected routes", /^lib\/http\//],
  ["Client records and secrets", /^lib\/clients\//],
  ["Adapters for sign-in and consent, and calls of the host's pages", /^lib\/(end-user|interaction|pages)\//],
  ["Memory storage", /^lib\/storage\/memory\//],
  ["PostgreSQL storage", /^lib\/storage\/postgres\//],
  ["Redis storage", /^lib\/storage\/redis\//],
  ["Others", /./],
];

const intro = `The texts that the library has for what goes wrong. A client gets the code (\`error\`) and the description (\`error_description\`).
The *reason* goes to the event (\`onEvent\`) and, outside production, to the built-in error page: it names the rule and the fix. ‹Words like
this› stand for what is known only when it happens. For symptoms rather than texts, see [troubleshooting](../troubleshooting.md).`;

/** @param {readonly Refusal[]} refusals */
function refusalSections(refusals) {
  const codes = [...new Set(refusals.map((refusal) => refusal.code))].toSorted();
  return codes.map((name) => {
    const ofCode = refusals.filter((refusal) => refusal.code === name);
    const descriptions = [...new Set(ofCode.map(({ description }) => description))];
    const groups = descriptions.map((description) => {
      const ofDescription = ofCode.filter((refusal) => refusal.description === description);
      const reasons = [...new Set(ofDescription.map(({ reason }) => reason))].filter(Boolean);
      return [`**${prose(description)}**`, reasons.map((reason) => `- ${prose(reason)}`).join("\n")];
    });
    return [`### ${name}`, ...groups.flat().filter(Boolean)].join("\n\n");
  });
}

/** @param {ReturnType<typeof readThrown>} thrown */
function thrownSections(thrown) {
  /** @param {{ file: string }} of */
  const roomOf = ({ file }) => rooms.find(([, pattern]) => pattern.test(file))?.[0];
  return rooms.flatMap(([title]) => {
    const rows = thrown
      // the texts of options have a table of their own
      .filter((one) => roomOf(one) === title && !one.file.endsWith("options/check.ts"))
      .map(({ name, text }) => [code(name), prose(text)]);
    return rows.length === 0 ? [] : [`### ${title}\n\n${table(["Error", "Text"], distinct(rows))}`];
  });
}

/** @param {import("./library").Library} library */
function errorsPage(library) {
  const { refusals, unread } = readRefusals(library);
  const warnings = distinct(readWarnings(library));
  const body = [
    "## Refusals",
    "Answers of the authorization, token, revocation, introspection and registration endpoints, by code. In bold: the description. Below it: the reasons. Where there is none, the reason is the description.",
    ...refusalSections(refusals),
    "## Refused access tokens",
    "Answers of `requireBearer` and `auth.challenge`, and the reasons of `bearer-refused`.",
    table(
      ["Status", "Code", "Description, for the client", "Reason, for you"],
      distinct(readBearerRefusals(library)),
    ),
    "## Warnings",
    'Node prints them to stderr as `AuthmountWarning`, with a code; `process.on("warning", …)` hears them.',
    table(["Code", "Text"], warnings),
    "## Wrong options",
    "`createAuthServer` throws a `TypeError`: “createAuthServer: ‹path› ‹problem›. ‹fix›”. For a value of the wrong type or shape, ‹fix› is what [options](options.md) says after “If it is wrong”. An unknown option “is not an option”, and the fix lists the known ones. These are the other texts:",
    table(["Path", "Problem", "Fix"], distinct(readOptionProblems(library))),
    "## Other errors that the host sees",
    "Thrown where the host calls, or the `cause` of a `server-error` event.",
    ...thrownSections(readThrown(library)),
  ].join("\n\n");
  return { text: page({ title: "Errors, reasons and warnings", intro, body }), refusals, unread, warnings };
}

module.exports = { errorsPage };
