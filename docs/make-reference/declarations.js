// @ts-check
/** ports.md and functions.md: the public names of the entry points, with their doc comments. */
const ts = require("typescript");
const { block, describer, docText, memberType, signature } = require("./declaration-text");
const { docOf, fileOf } = require("./library");
const { anchor, anchorsIn, code, page, prose, table } = require("./markdown");

const entryPoints = [
  ["authmount", "lib/index.ts"],
  ["authmount/portal", "lib/portal.ts"],
  ["authmount/mysql", "lib/mysql.ts"],
  ["authmount/postgres", "lib/postgres.ts"],
  ["authmount/redis", "lib/redis.ts"],
  ["authmount/sqlite", "lib/sqlite.ts"],
  ["authmount/testing", "lib/testing.ts"],
];

/** @typedef {{ name: string, entry: string, node: ts.Declaration }} PublicName */

/** @param {import("./library").Library} library @returns {PublicName[]} */
function publicNames({ checker, files }) {
  return entryPoints.flatMap(([entry = "", file]) => {
    const source = files.find((one) => fileOf(one) === file);
    const module = source && checker.getSymbolAtLocation(source);
    if (!module) throw new Error(`${file} exports nothing`);
    return checker.getExportsOfModule(module).flatMap((symbol) => {
      const own = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
      const node = own.declarations?.[0];
      return node ? [{ name: symbol.name, entry, node }] : [];
    });
  });
}

/** @param {ts.InterfaceDeclaration} node */
function hasMethods(node) {
  return node.members.some((member) => ts.isMethodSignature(member));
}

/** @param {PublicName} name */
function isValue({ node }) {
  return ts.isFunctionDeclaration(node) || ts.isVariableDeclaration(node);
}

/** @param {readonly (readonly string[])[]} sections */
function join(sections) {
  return sections.map((parts) => parts.filter(Boolean).join("\n\n")).join("\n\n");
}

/** True for a bundle of ports, such as `Storage`. @param {ts.InterfaceDeclaration} node */
function isBundle({ members, heritageClauses }) {
  const isNamed = members.every(
    (member) => ts.isPropertySignature(member) && member.type && ts.isTypeReferenceNode(member.type),
  );
  return isNamed && !heritageClauses;
}

/** @param {PublicName} name */
function isPort({ node }) {
  if (!/(?:\/port|-ports)\.ts$/.test(fileOf(node))) return false;
  if (ts.isInterfaceDeclaration(node)) return hasMethods(node) || isBundle(node);
  return ts.isTypeAliasDeclaration(node) && ts.isFunctionTypeNode(node.type);
}

/** @param {import("./library").Library} library */
function describerOf(library) {
  return describer(library, new Set(publicNames(library).map(({ node }) => node)));
}

/** @param {PublicName} name @param {ReturnType<typeof describer>} by */
function portSection({ name, node }, { describe, heritage }) {
  if (!ts.isInterfaceDeclaration(node) || isBundle(node)) return [`## ${name}`, ...describe(name, node)];
  const methods = node.members.flatMap((member) => {
    const memberName = member.name?.getText() ?? "";
    const written = ts.isMethodSignature(member)
      ? signature(member, memberName)
      : `${memberName}: ${memberType(member)}`;
    return [`### ${name}.${memberName}`, block(written), docText(member)];
  });
  return [`## ${name}`, docText(node), heritage(node), ...methods];
}

/** @param {import("./library").Library} library */
function portsPage(library) {
  const by = describerOf(library);
  const names = publicNames(library).filter(isPort);
  const ports = names.filter(({ name }, place) => names.findIndex((one) => one.name === name) === place);
  const list = ports.map(({ name, entry, node }) => [
    `[${code(name)}](#${anchor(name)})`,
    code(entry),
    prose(docOf(node).prose.split("\n\n")[0] ?? ""),
  ]);
  const intro = `What you implement, or take from an adapter: each port with its methods and the rules that they keep. The types that they
speak of are in [functions and types](functions.md). How to write a storage adapter, and the contract tests that it must pass:
[storage](../storage.md#your-own-adapter).`;
  const body = [
    table(["Port", "From", "What it is"], list),
    join(ports.map((port) => portSection(port, by))),
  ].join("\n\n");
  return { text: page({ title: "Ports", intro, body }), names: ports.map(({ name }) => name) };
}

/** Members of what `createAuthServer` gives. @param {PublicName} server */
function serverSections({ node }) {
  if (!ts.isInterfaceDeclaration(node)) throw new Error("AuthServer is not an interface");
  return node.members.map((member) => {
    const name = member.name?.getText() ?? "";
    const type = ts.isPropertySignature(member) ? member.type : undefined;
    if (type && ts.isTypeLiteralNode(type)) {
      const inner = type.members.flatMap((one) => {
        const innerName = `auth.${name}.${one.name?.getText() ?? ""}`;
        return [`#### ${innerName}`, block(`${innerName}: ${memberType(one)}`), docText(one)];
      });
      return [`### auth.${name}`, docText(member), ...inner];
    }
    return [`### auth.${name}`, block(`auth.${name}: ${memberType(member)}`), docText(member)];
  });
}

const intro = `Every public function and type, by entry point. What you give \`createAuthServer\` is in [options](options.md), what you
implement in [ports](ports.md).`;

/** @param {import("./library").Library} library */
function functionsPage(library) {
  const names = publicNames(library);
  const { describe } = describerOf(library);
  /** @param {PublicName} one */
  const section = ({ name, node }) => [`### ${name}`, ...describe(name, node)];
  const server = names.find(({ name }) => name === "AuthServer");
  if (!server) throw new Error("lib/index.ts has no AuthServer");
  /** @param {PublicName} one */
  const isType = (one) => !isValue(one) && !isPort(one) && one !== server;
  const sections = entryPoints.flatMap(([entry]) => {
    const here = names.filter((one) => one.entry === entry);
    const elsewhere = here.filter(isPort).map(({ name }) => `[${code(name)}](ports.md#${anchor(name)})`);
    return [
      [`## ${entry}`],
      ...here.filter(isValue).map(section),
      ...(here.includes(server) ? serverSections(server) : []),
      ...here.filter(isType).map(section),
      elsewhere.length > 0
        ? [`Also exported, and described under [ports](ports.md): ${elsewhere.join(", ")}.`]
        : [],
    ];
  });
  const text = join(sections.filter((parts) => parts.length > 0));
  const anchors = anchorsIn(text);
  /** @param {PublicName} one */
  const row = (one) => {
    const own = one === server ? "auth.router" : one.name;
    const at = isPort(one) ? `ports.md#${anchor(one.name)}` : `#${anchors.get(own)}`;
    const [meaning = ""] = docOf(one.node).prose.split(/(?<=\.)\s/);
    return [`[${code(one.name)}](${at})`, code(one.entry), prose(meaning)];
  };
  const body = [
    table(["Function", "From", "What it is"], names.filter(isValue).map(row)),
    table(["Type", "From", "What it is"], names.filter((one) => !isValue(one)).map(row)),
    text,
  ].join("\n\n");
  return { text: page({ title: "Functions and types", intro, body }), names: names.map(({ name }) => name) };
}

module.exports = { functionsPage, portsPage };
