// @ts-check
/** events.md: every event of `onEvent`, from the union of its kinds. */
const ts = require("typescript");
const { codeOf, docOf, nodesOf, proseOf } = require("./library");
const { anchor, code, page, prose, table } = require("./markdown");

/** @typedef {{ kind: string, prose: string, properties: { name: string, type: string, prose: string }[] }} EventKind */

/** The comment ahead of a member of a union. @param {ts.Node} node */
function commentAhead(node) {
  const { text } = node.getSourceFile();
  const ahead = text.slice(0, node.getStart());
  const comment = /\/\*\*(?:(?!\*\/)[^])*\*\/[\s|(]*$/.exec(ahead)?.[0] ?? "";
  return proseOf(comment.replace(/[\s|(]*$/, ""));
}

/** @param {ts.TypeElement} member */
function describeProperty(member) {
  const type = ts.isPropertySignature(member) && member.type ? codeOf(member.type) : "";
  return {
    name: `${member.name?.getText() ?? ""}${member.questionToken ? "?" : ""}`,
    type,
    prose: docOf(member).prose,
  };
}

/** The members of a type that a kind is combined with, such as its reason. @param {ts.TypeLiteralNode} node @returns {readonly ts.TypeElement[]} */
function membersBeside({ parent }) {
  if (!ts.isIntersectionTypeNode(parent)) return [];
  const file = parent.getSourceFile();
  return parent.types.flatMap((type) => {
    const found = file.statements.find(
      (one) => ts.isInterfaceDeclaration(one) && one.name.text === type.getText(),
    );
    return found && ts.isInterfaceDeclaration(found) ? [...found.members] : [];
  });
}

/** @param {ts.TypeLiteralNode} node @returns {EventKind | undefined} */
function readKind(node) {
  const members = [...node.members, ...membersBeside(node)].filter(ts.isPropertySignature);
  const kind = members.find(({ name }) => name.getText() === "kind")?.type;
  if (!kind || !ts.isLiteralTypeNode(kind) || !ts.isStringLiteral(kind.literal)) return undefined;
  const properties = members.filter(({ name }) => name.getText() !== "kind").map(describeProperty);
  return { kind: kind.literal.text, prose: commentAhead(node), properties };
}

/** @param {import("./library").Library} library @param {string} name */
function declared({ files }, name) {
  for (const file of files) {
    if (!file.fileName.endsWith("lib/events/port.ts")) continue;
    const found = file.statements.find(
      (node) =>
        (ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node)) && node.name.text === name,
    );
    if (found) return found;
  }
  throw new Error(`lib/events/port.ts has no ${name}`);
}

/** @param {EventKind} event */
function section({ kind, prose: text, properties }) {
  const rows = properties.map(({ name, type, prose: meaning }) => [code(name), code(type), prose(meaning)]);
  const hasReason = properties.some(({ name }) => name === "reason");
  return [
    `### ${kind}`,
    prose(text),
    rows.length > 0
      ? table(["Property", "Type", "Meaning"], rows)
      : "It has only the properties of every event.",
    hasReason ? "Each reason is in [errors](errors.md)." : "",
  ]
    .filter(Boolean)
    .join("\n\n");
}

const intro = `What the option [\`onEvent\`](options.md#onevent) hears. An event is an object; \`kind\` tells the events apart. No event carries
a code, a token, a verifier or a secret. [Logging events](../observability.md#logging-events) shows a handler, and
[deployment](../deployment.md#what-to-monitor) says which events need an alarm.`;

/** @param {import("./library").Library} library */
function eventsPage(library) {
  const union = declared(library, "AuthServerEvent");
  const kinds = [...nodesOf(union)].flatMap((node) =>
    ts.isTypeLiteralNode(node) ? (readKind(node) ?? []) : [],
  );
  const subject = declared(library, "EventSubject");
  const common = ts.isInterfaceDeclaration(subject) ? subject.members.map(describeProperty) : [];
  const at = { name: "at", type: "number", prose: "When it happened, in seconds since 1970." };
  const everywhere = [at, ...common].map(({ name, type, prose: text }) => [
    code(name),
    code(type),
    prose(text),
  ]);
  const list = kinds.map(({ kind, prose: text, properties }) => [
    `[${code(kind)}](#${anchor(kind)})`,
    properties.map(({ name }) => code(name)).join(", "),
    prose(text),
  ]);
  const body = [
    table(["Event", "Its own properties", "Meaning"], list),
    "## What every event has",
    prose(docOf(subject).prose),
    table(["Property", "Type", "Meaning"], everywhere),
    "## Each event",
    ...kinds.map(section),
  ].join("\n\n");
  return { text: page({ title: "Events", intro, body }), names: kinds.map(({ kind }) => kind) };
}

module.exports = { eventsPage };
