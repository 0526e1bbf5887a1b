// @ts-check
/** Lists of texts with stable ids: `{ "the-id": text }`, where the text may be a function that gives it. */
const ts = require("typescript");
const { fileOf, nodesOf } = require("./library");

/**
 * A text of a list, or what a function gives as one. Lists of reasons belong to refusals.
 *
 * @typedef {{ code: string, file: string, text: ts.Expression, isReason: boolean, beginning?: string }} Coded
 */

/** What lists are called that are not written where their errors are made. */
const listName = /(?:problems|mistakes|reasons|refusals|warnings)$/i;

/** @param {ts.Node} node @returns {node is ts.ObjectLiteralExpression} */
function isList(node) {
  if (!ts.isObjectLiteralExpression(node)) return false;
  const { parent } = node;
  if (!hasIds(node)) return false;
  if (ts.isCallExpression(parent)) return parent.expression.getText() === "mistakesOf";
  const owner = ts.isAsExpression(parent) ? parent.parent : parent;
  return ts.isVariableDeclaration(owner) && listName.test(owner.name.getText());
}

/** @param {ts.ObjectLiteralExpression} node */
function hasIds({ properties }) {
  return properties.every((one) => one.name && /^"[a-z]+(?:-[a-z\d]+)+"$/.test(one.name.getText()));
}

/** The texts of a list. @param {ts.ObjectLiteralExpression} list @returns {Coded[]} */
function textsIn(list) {
  const owner = ts.findAncestor(list, ts.isVariableDeclaration);
  const isReason = owner !== undefined && /reasons$/i.test(owner.name.getText());
  return list.properties.flatMap((property) => {
    if (!ts.isPropertyAssignment(property)) return [];
    const { initializer } = property;
    const text = ts.isArrowFunction(initializer) ? initializer.body : initializer;
    const code = property.name.getText().replaceAll('"', "");
    return ts.isBlock(text) ? [] : [{ code, file: fileOf(list), text, isReason }];
  });
}

/**
 * The ids that this expression gives: itself, or the values of a table of its file, whose texts begin with the key.
 *
 * @param {ts.Expression} code @returns {{ id: string, beginning: string }[]}
 */
function idsOf(code) {
  if (ts.isStringLiteral(code)) return [{ id: code.text, beginning: "" }];
  if (!ts.isElementAccessExpression(code)) return [];
  const tables = [...nodesOf(code.getSourceFile())].filter(
    (node) => ts.isVariableDeclaration(node) && node.name.getText() === code.expression.getText(),
  );
  return tables.flatMap((table) =>
    [...nodesOf(table)].flatMap((node) =>
      ts.isPropertyAssignment(node) && ts.isStringLiteral(node.initializer)
        ? [{ id: node.initializer.text, beginning: node.name.getText().replaceAll('"', "") }]
        : [],
    ),
  );
}

/** An error that is alone in its file: `hostMistake("the-id", text)` or `lateError("the-id", text)`. @param {ts.Node} node @returns {Coded[]} */
function singleText(node) {
  if (!ts.isCallExpression(node) || !/^(?:hostMistake|lateError)$/.test(node.expression.getText())) return [];
  const [code, text] = node.arguments;
  if (!code || !text) return [];
  return idsOf(code).map(({ id, beginning }) => ({
    code: id,
    file: fileOf(node),
    text,
    isReason: false,
    beginning,
  }));
}

/** Every text with an id, in the order of the files. @param {import("./library").Library} library @returns {Coded[]} */
function codedTexts({ files }) {
  return files.flatMap((file) =>
    [...nodesOf(file)].flatMap((node) => (isList(node) ? textsIn(node) : singleText(node))),
  );
}

module.exports = { codedTexts };
