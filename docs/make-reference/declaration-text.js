// @ts-check
/** A declaration as a section of the reference: its signature or members, its doc comment, and the types that only it names. */
const ts = require("typescript");
const { codeOf, docOf, fileOf, nodesOf } = require("./library");
const { code, prose, table } = require("./markdown");

/** @param {ts.Node} node */
function tagLines(node) {
  return docOf(node).tags.flatMap(({ name, text }) => {
    if (name === "throws") return [`Throws: ${prose(text)}`];
    if (name === "param") return [`Parameter ${prose(text.replace(/^(\w+)/, "`$1`:"))}`];
    return name === "rfc" ? [`RFC ${prose(text)}`.replace("RFC OpenID", "OpenID")] : [];
  });
}

/** The doc comment with its tags. @param {ts.Node} node */
function docText(node) {
  return [prose(docOf(node).prose), ...tagLines(node)].filter(Boolean).join("\n\n");
}

/** @param {string} text */
function block(text) {
  // not "ts": that would be an example, which tests compile
  return `\`\`\`typescript\n${text}\n\`\`\``;
}

/** @param {ts.ParameterDeclaration} parameter */
function parameterText(parameter) {
  if (!ts.isObjectBindingPattern(parameter.name)) return codeOf(parameter);
  return `options${parameter.type ? `: ${codeOf(parameter.type)}` : ""}`;
}

/** @param {ts.SignatureDeclarationBase} node @param {string} name */
function signature({ typeParameters, parameters, type }, name) {
  const generics = typeParameters ? `<${typeParameters.map(codeOf).join(", ")}>` : "";
  const given = parameters.map(parameterText).join(", ");
  return `${name}${generics}(${given})${type ? `: ${codeOf(type)}` : ""}`;
}

/** @param {ts.TypeElement} member */
function memberName(member) {
  if (ts.isCallSignatureDeclaration(member)) return "(call)";
  if (ts.isIndexSignatureDeclaration(member)) return `[${member.parameters.map(codeOf).join(", ")}]`;
  return `${member.name?.getText() ?? ""}${member.questionToken ? "?" : ""}`;
}

/** @param {ts.TypeElement} member */
function memberType(member) {
  if (ts.isMethodSignature(member) || ts.isCallSignatureDeclaration(member)) return signature(member, "");
  if (ts.isPropertySignature(member) || ts.isIndexSignatureDeclaration(member)) {
    return member.type ? codeOf(member.type) : "";
  }
  return "";
}

/** @param {readonly ts.TypeElement[]} members */
function memberTable(members) {
  if (members.length === 0) return "";
  const rows = members.map((member) => [
    code(memberName(member)),
    code(memberType(member)),
    docText(member).replaceAll("\n\n", " "),
  ]);
  return table(["Member", "Type", "Meaning"], rows);
}

/** @param {ts.Node} node */
function isOptions(node) {
  return ts.isInterfaceDeclaration(node) && fileOf(node) === "lib/options/options.ts";
}

/** @param {import("./library").Library} library @param {ReadonlySet<ts.Node>} publicNodes what has a section somewhere */
function describer({ checker }, publicNodes) {
  /** What a type's name stands for, when it is in lib/. @param {ts.Node} name */
  function declared(name) {
    let symbol = checker.getSymbolAtLocation(name);
    if (symbol && symbol.flags & ts.SymbolFlags.Alias) symbol = checker.getAliasedSymbol(symbol);
    const node = symbol?.declarations?.[0];
    return node && fileOf(node).startsWith("lib/") ? node : undefined;
  }

  /**
   * Interfaces that it extends and that nobody else can look up, and the names of the others.
   *
   * @param {ts.InterfaceDeclaration} node
   * @returns {{ own: readonly ts.InterfaceDeclaration[]; named: readonly string[] }}
   */
  function basesOf({ heritageClauses = ts.factory.createNodeArray() }) {
    const all = heritageClauses.flatMap(({ types }) => types);
    const own = all.flatMap(({ expression }) => {
      const base = declared(expression);
      return base && !publicNodes.has(base) && ts.isInterfaceDeclaration(base) ? [base] : [];
    });
    const named = all.filter(({ expression, typeArguments: [of] = [] }) => {
      // the parts of a `Required` are those of what it is of
      const base = declared(of && ts.isTypeReferenceNode(of) ? of.typeName : expression);
      return base && publicNodes.has(base);
    });
    // what such a base extends in its turn
    return { own, named: [...named.map(codeOf), ...own.flatMap((base) => basesOf(base).named)] };
  }

  /** The members, with those of such a base. @param {ts.InterfaceDeclaration} node @returns {ts.TypeElement[]} */
  function membersOf(node) {
    return [...node.members, ...basesOf(node).own.flatMap(membersOf)];
  }

  /** @param {ts.InterfaceDeclaration} node */
  function heritage(node) {
    const { named } = basesOf(node);
    return named.length > 0 ? `It also has what ${named.map(code).join(" and ")} has.` : "";
  }

  /** Types that it names and that have no section. @param {ts.Node} node */
  function unlisted(node) {
    /** @type {Set<ts.TypeAliasDeclaration>} */
    const found = new Set();
    /** @param {ts.Node} at */
    function look(at) {
      for (const inner of nodesOf(at)) {
        const target = ts.isTypeReferenceNode(inner) ? declared(inner.typeName) : undefined;
        if (!target || publicNodes.has(target) || !ts.isTypeAliasDeclaration(target) || found.has(target))
          continue;
        found.add(target);
        look(target.type);
      }
    }
    if (!ts.isFunctionDeclaration(node)) look(node);
    return [...found].map(({ name, type }) => `${code(name.text)} is ${code(codeOf(type))}.`).join("\n\n");
  }

  /** @param {string} name @param {ts.Node} node @returns {string[]} the paragraphs of its section */
  function describe(name, node) {
    if (ts.isFunctionDeclaration(node)) return [block(signature(node, name)), docText(node)];
    if (ts.isVariableDeclaration(node)) {
      return [block(`const ${name}: ${node.type ? codeOf(node.type) : ""}`), docText(node)];
    }
    if (isOptions(node)) return [docText(node), "Its properties are in [options](options.md)."];
    if (ts.isInterfaceDeclaration(node)) {
      return [docText(node), heritage(node), memberTable(membersOf(node)), unlisted(node)];
    }
    if (ts.isTypeAliasDeclaration(node)) {
      return [docText(node), block(`type ${name} = ${codeOf(node.type)}`), unlisted(node)];
    }
    throw new Error(`${name} is neither a function, a constant nor a type`);
  }

  return { describe, heritage };
}

module.exports = { block, describer, docText, memberType, signature };
