// @ts-check
/** lib/ as the compiler sees it: its files, the calls in it, and what its doc comments say. */
const { readFileSync } = require("node:fs");
const path = require("node:path");
const ts = require("typescript");

const root = path.join(__dirname, "..", "..");

/**
 * @typedef {object} Library
 * @property {ts.TypeChecker} checker
 * @property {readonly ts.SourceFile[]} files those of lib/
 * @property {(declaration: ts.Node) => readonly ts.CallExpression[]} callsOf the calls of a function
 */

/** @param {ts.Node} node @returns {Iterable<ts.Node>} */
function* nodesOf(node) {
  yield node;
  /** @type {ts.Node[]} */
  const children = [];
  ts.forEachChild(node, (child) => void children.push(child));
  for (const child of children) yield* nodesOf(child);
}

/** Functions that give the text of an id, by the id: `mistake("the-id", …)` calls them with the other arguments. @param {readonly ts.SourceFile[]} files */
function textFunctions(files) {
  const found = files
    .flatMap((file) => [...nodesOf(file)])
    .flatMap((node) => {
      if (!ts.isArrowFunction(node) || !ts.isPropertyAssignment(node.parent)) return [];
      const { name } = node.parent;
      return ts.isStringLiteral(name) ? [/** @type {const} */ ([name.text, node])] : [];
    });
  return new Map(found);
}

/** @param {ts.Program} program @param {readonly ts.SourceFile[]} files */
function indexCalls(program, files) {
  const checker = program.getTypeChecker();
  const byCode = textFunctions(files);
  /** @type {Map<ts.Node, ts.CallExpression[]>} */
  const calls = new Map();
  for (const file of files) {
    for (const node of nodesOf(file)) {
      if (!ts.isCallExpression(node)) continue;
      const declaration = checker.getResolvedSignature(node)?.declaration;
      if (declaration) calls.set(declaration, [...(calls.get(declaration) ?? []), node]);
      const [first] = node.arguments;
      const text = first && ts.isStringLiteral(first) ? byCode.get(first.text) : undefined;
      if (text) calls.set(text, [...(calls.get(text) ?? []), node]);
    }
  }
  return calls;
}

/** @returns {Library} */
function readLibrary() {
  const configPath = path.join(root, "tsconfig.build.json");
  const { config } = ts.readConfigFile(configPath, (file) => readFileSync(file, "utf8"));
  const { options, fileNames } = ts.parseJsonConfigFileContent(config, ts.sys, root);
  const program = ts.createProgram(fileNames, { ...options, noEmit: true });
  const files = fileNames.flatMap((name) => program.getSourceFile(name) ?? []);
  const calls = indexCalls(program, files);
  return {
    checker: program.getTypeChecker(),
    files,
    callsOf: (declaration) => calls.get(declaration) ?? [],
  };
}

/** The path of a node's file, from the root of the repository. @param {ts.Node} node */
function fileOf(node) {
  return path.relative(root, node.getSourceFile().fileName).replaceAll("\\", "/");
}

/** A comment's text in one paragraph per paragraph, without the stars. @param {string} comment */
function proseOf(comment) {
  const lines = comment
    .replace(/^\/\*\*/, "")
    .replace(/\*\/$/, "")
    .split("\n")
    .map((line) => line.replace(/^\s*\* ?/, "").trim());
  const [prose = ""] = lines.join("\n").split(/^@|\s@(?=rfc|throws|param)/m);
  return prose
    .split(/\n\s*\n/)
    .map((paragraph) => paragraph.trim().replaceAll(/\s*\n\s*/g, " "))
    .join("\n\n")
    .trim();
}

/**
 * @typedef {object} Doc
 * @property {string} prose
 * @property {readonly { name: string, text: string }[]} tags such as `rfc` and `throws`
 */

/** The doc comment of a declaration. @param {ts.Node} node @returns {Doc} */
function docOf(node) {
  const comments = ts.getJSDocCommentsAndTags(node).filter(ts.isJSDoc);
  const comment = comments.at(-1);
  if (!comment) return { prose: "", tags: [] };
  const tags = (comment.tags ?? []).map((tag) => ({
    name: tag.tagName.text,
    text: tag
      .getText()
      .replace(/^@\w+\s*/, "")
      .replaceAll(/\s*\n\s*\*?\s*/g, " ")
      .replace(/\s*\*\/$/, "")
      .trim(),
  }));
  return { prose: proseOf(comment.getText()), tags };
}

/** The text of a type as it is written, on one line. @param {ts.Node} node */
function codeOf(node) {
  const printer = ts.createPrinter({ removeComments: true });
  return printer
    .printNode(ts.EmitHint.Unspecified, node, node.getSourceFile())
    .replaceAll(/\s*\n\s*/g, " ")
    .replaceAll(/\breadonly (?=\w+[?:(])/g, "");
}

module.exports = { codeOf, docOf, fileOf, nodesOf, proseOf, readLibrary, root };
