// @ts-check
/**
 * Which texts an expression may give, read from the source without running it: constants are followed, branches and calls are
 * tried one by one, and what is not known before run time stands as ‹its name›.
 */
const ts = require("typescript");
const { nodesOf } = require("./library");

/**
 * What was assumed on the way: which branch of a condition, which call of a function. Two texts belong together when
 * their assumptions agree.
 *
 * @typedef {ReadonlyMap<string, string>} Facts
 */

/** @typedef {{ text: string, facts: Facts }} PossibleText */

/** @typedef {{ node: ts.Expression, facts: Facts }} PossibleNode */

/** An expression that gives nothing. */
const nothing = new Set(["undefined", "null", "false"]);

/** More than these are not written out one by one. */
const mostChoices = 4;

/** What a value is called: the last name in its expression that is no function's. @param {ts.Expression} expression */
function nameIn(expression) {
  return [...nodesOf(expression)]
    .filter(isName)
    .map((node) => /** @type {ts.Identifier | ts.StringLiteral} */ (node).text)
    .at(-1);
}

/** @param {ts.Node} node */
function isName(node) {
  const { parent } = node;
  if (ts.isStringLiteral(node)) return ts.isElementAccessExpression(parent);
  if (!ts.isIdentifier(node) || node.text === "Object") return false;
  const callee = ts.isPropertyAccessExpression(parent) && parent.name === node ? parent : node;
  return !(ts.isCallExpression(callee.parent) && callee.parent.expression === callee);
}

/** @param {Facts} first @param {Facts} second @returns {Facts | undefined} undefined when they contradict each other */
function agree(first, second) {
  for (const [name, value] of second) if ((first.get(name) ?? value) !== value) return undefined;
  return new Map([...first, ...second]);
}

/** @param {ts.Node} node */
function placeOf(node) {
  return `${node.getSourceFile().fileName}:${node.pos}`;
}

/** @param {ts.Node} node @returns {ts.Node} */
function functionAround(node) {
  return ts.findAncestor(node.parent, ts.isFunctionLike) ?? node.getSourceFile();
}

/** @param {ts.Expression} node @returns {ts.Expression} */
function bare(node) {
  let inner = node;
  while (
    ts.isParenthesizedExpression(inner) ||
    ts.isAsExpression(inner) ||
    ts.isSatisfiesExpression(inner) ||
    ts.isNonNullExpression(inner) ||
    ts.isAwaitExpression(inner)
  ) {
    inner = inner.expression;
  }
  return inner;
}

/** The branches without those that add nothing to a text. @param {Record<string, ts.Expression>} branches */
function fullest(branches) {
  const full = Object.entries(branches).filter(([, branch]) => bare(branch).getText() !== '""');
  return Object.fromEntries(full);
}

/** The expressions that a function may return. @param {ts.Node} declaration @returns {readonly ts.Expression[]} */
function returnsOf(declaration) {
  const { body } = /** @type {{ body?: ts.Node }} */ (/** @type {unknown} */ (declaration));
  if (!body) return [];
  if (!ts.isBlock(body)) return [/** @type {ts.Expression} */ (body)];
  /** @type {ts.Expression[]} */
  const found = [];
  /** @param {ts.Node} node */
  function walk(node) {
    if (ts.isFunctionLike(node)) return;
    if (ts.isReturnStatement(node) && node.expression) found.push(node.expression);
    ts.forEachChild(node, walk);
  }
  ts.forEachChild(body, walk);
  return found;
}

/** @param {ts.Expression} node @param {string} name */
function hasOwn(node, name) {
  return ts.isObjectLiteralExpression(node) && node.properties.some((one) => one.name?.getText() === name);
}

/** @param {import("./library").Library} library */
function textReader({ checker, callsOf }) {
  /** Objects whose spread parts are looked through now. @type {Set<ts.Node>} */
  const spreading = new Set();

  /** @param {ts.Node} node @returns {ts.Declaration | undefined} */
  function declarationOf(node) {
    let symbol = checker.getSymbolAtLocation(node);
    if (symbol && ts.isShorthandPropertyAssignment(node.parent)) {
      symbol = checker.getShorthandAssignmentValueSymbol(node.parent);
    }
    if (symbol && symbol.flags & ts.SymbolFlags.Alias) symbol = checker.getAliasedSymbol(symbol);
    return symbol?.valueDeclaration;
  }

  /** What a call gives to a parameter. @param {ts.ParameterDeclaration} parameter @param {Facts} facts @returns {PossibleNode[]} */
  function argumentsFor(parameter, facts) {
    const owner = parameter.parent;
    // a function in a list is called by its id, which comes first
    const before = ts.isPropertyAssignment(owner.parent) && ts.isStringLiteral(owner.parent.name) ? 1 : 0;
    const index = owner.parameters.indexOf(parameter) + before;
    return callsOf(owner).flatMap((call) => {
      const together = agree(facts, new Map([[`call of ${placeOf(owner)}`, placeOf(call)]]));
      const argument = call.arguments[index];
      return argument && together ? valuesOf(argument, together) : [];
    });
  }

  /** The expression of a property, looked for in what is spread into the object too. @param {PossibleNode} value @param {string} name @returns {PossibleNode[]} */
  function propertyOf({ node, facts }, name) {
    // a function that calls itself may pass on the object that it was given
    if (!ts.isObjectLiteralExpression(node) || spreading.has(node)) return [];
    return node.properties.flatMap((property) => {
      if (ts.isSpreadAssignment(property)) {
        spreading.add(node);
        const found = valuesOf(property.expression, facts).flatMap((value) => propertyOf(value, name));
        spreading.delete(node);
        return found;
      }
      if (property.name?.getText().replaceAll(/^["']|["']$/g, "") !== name) return [];
      if (ts.isPropertyAssignment(property)) return [{ node: property.initializer, facts }];
      return ts.isShorthandPropertyAssignment(property) ? [{ node: property.name, facts }] : [];
    });
  }

  /** What is found by a name in a value. @param {PossibleNode} value @param {string} name @returns {PossibleNode[]} */
  function memberOf(value, name) {
    return propertyOf(value, name).flatMap(({ node, facts }) => valuesOf(node, facts));
  }

  /** @param {ts.BindingElement} element @param {Facts} facts @returns {PossibleNode[]} */
  function boundValues(element, facts) {
    const pattern = element.parent;
    const owner = pattern.parent;
    const whole = ts.isParameter(owner)
      ? argumentsFor(owner, facts)
      : ts.isVariableDeclaration(owner) && owner.initializer
        ? valuesOf(owner.initializer, facts)
        : [];
    if (ts.isObjectBindingPattern(pattern)) {
      const name = (element.propertyName ?? element.name).getText();
      return whole.flatMap((value) => memberOf(value, name));
    }
    const index = pattern.elements.indexOf(element);
    return whole.flatMap(({ node, facts: known }) => {
      const item = ts.isArrayLiteralExpression(node) ? node.elements[index] : undefined;
      return item ? valuesOf(item, known) : [];
    });
  }

  /** @param {ts.Identifier} node @param {Facts} facts @returns {PossibleNode[]} */
  function namedValues(node, facts) {
    const declaration = declarationOf(node);
    if (!declaration) return [];
    if (ts.isParameter(declaration)) return argumentsFor(declaration, facts);
    if (ts.isBindingElement(declaration)) return boundValues(declaration, facts);
    if (!ts.isVariableDeclaration(declaration) || !declaration.initializer) return [];
    return ts.isForOfStatement(declaration.parent.parent) ? [] : valuesOf(declaration.initializer, facts);
  }

  /** @param {ts.Expression} node @param {{ name: string, branches: Record<string, ts.Expression>, facts: Facts }} choice */
  function branched(node, { name, branches, facts }) {
    const at = `${name} in ${placeOf(functionAround(node))}`;
    return Object.entries(branches).flatMap(([branch, expression]) => {
      const together = agree(facts, new Map([[at, branch]]));
      return together ? valuesOf(expression, together) : [];
    });
  }

  /** The values of a record that is asked by a key. @param {ts.ElementAccessExpression} node @param {Facts} facts */
  function lookedUp(node, facts) {
    const key = node.argumentExpression;
    return valuesOf(node.expression, facts).flatMap((value) => {
      if (!ts.isObjectLiteralExpression(value.node)) return [];
      // a function in a list gives no text by itself
      const texts = value.node.properties.filter(
        (property) => ts.isPropertyAssignment(property) && !ts.isFunctionLike(property.initializer),
      );
      const asked = texts.filter(
        (property) => ts.isStringLiteral(key) && property.name?.getText() === key.getText(),
      );
      const entries = (asked.length > 0 ? asked : texts).map((property) => [
        property.name?.getText(),
        /** @type {ts.PropertyAssignment} */ (property).initializer,
      ]);
      return branched(node, {
        name: node.getText(),
        branches: Object.fromEntries(entries),
        facts: value.facts,
      });
    });
  }

  /** @param {ts.CallExpression} node @param {Facts} facts @returns {PossibleNode[]} */
  function called(node, facts) {
    const declaration = checker.getResolvedSignature(node)?.declaration;
    if (!declaration) return [];
    const together = agree(facts, new Map([[`call of ${placeOf(declaration)}`, placeOf(node)]]));
    return together ? returnsOf(declaration).flatMap((returned) => valuesOf(returned, together)) : [];
  }

  const either = new Set([
    ts.SyntaxKind.QuestionQuestionToken,
    ts.SyntaxKind.BarBarToken,
    ts.SyntaxKind.AmpersandAmpersandToken,
  ]);

  /** @param {ts.Expression} node @param {Facts} facts @returns {PossibleNode[] | undefined} undefined where nothing can be followed */
  function followed(node, facts) {
    if (ts.isIdentifier(node) && node.text !== "undefined") return namedValues(node, facts);
    if (ts.isConditionalExpression(node)) {
      const branches = fullest({ yes: node.whenTrue, no: node.whenFalse });
      return branched(node, { name: node.condition.getText(), branches, facts });
    }
    if (ts.isBinaryExpression(node) && either.has(node.operatorToken.kind)) {
      const isAnd = node.operatorToken.kind === ts.SyntaxKind.AmpersandAmpersandToken;
      const left = isAnd ? [] : valuesOf(node.left, facts);
      // of `path || "/"`, the path says enough
      const right = bare(node.right);
      const isSmall = ts.isStringLiteral(right) && !right.text.includes(" ");
      return left.length > 0 && isSmall ? left : [...left, ...valuesOf(right, facts)];
    }
    if (ts.isPropertyAccessExpression(node)) {
      return valuesOf(node.expression, facts).flatMap((value) => memberOf(value, node.name.text));
    }
    if (ts.isElementAccessExpression(node)) return lookedUp(node, facts);
    return ts.isCallExpression(node) ? called(node, facts) : undefined;
  }

  /** What an expression may be, followed as far as it can be. @param {ts.Expression} expression @param {Facts} facts @returns {PossibleNode[]} */
  function valuesOf(expression, facts = new Map()) {
    const node = bare(expression);
    if (nothing.has(node.getText())) return [];
    const found = followed(node, facts);
    return found && found.length > 0 ? found : [{ node, facts }];
  }

  /** What stands for a value that is not known. @param {ts.Expression} node @param {ts.Expression} asked as it was written where the text is */
  function placeholder(node, asked) {
    const type = checker.getTypeAtLocation(node);
    const literals = type.isUnion() ? type.types : [type];
    const isChoice = literals.length <= mostChoices && literals.every((one) => one.isStringLiteral());
    if (isChoice) return literals.map((one) => (one.isStringLiteral() ? one.value : ""));
    if (ts.isTypeOfExpression(node)) return ["‹type›"];
    const isOpen = ts.isBinaryExpression(asked) || ts.isConditionalExpression(asked);
    return [`‹${nameIn(isOpen ? node : asked) ?? "value"}›`];
  }

  /** @param {PossibleNode} value @param {ts.Expression} asked @returns {PossibleText[]} */
  function textsOfNode({ node, facts }, asked) {
    if (ts.isStringLiteralLike(node)) return [{ text: node.text, facts }];
    if (ts.isNumericLiteral(node)) return [{ text: Number(node.text).toLocaleString("en"), facts }];
    if (ts.isTemplateExpression(node)) {
      const start = [{ text: node.head.text, facts }];
      return node.templateSpans.reduce(
        (texts, { expression, literal }) =>
          texts.flatMap(({ text, facts: known }) =>
            textsOf(expression, known).map((next) => ({
              text: text + next.text + literal.text,
              facts: next.facts,
            })),
          ),
        start,
      );
    }
    if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.PlusToken) {
      return textsOf(node.left, facts).flatMap((left) =>
        textsOf(node.right, left.facts).map((right) => ({
          text: left.text + right.text,
          facts: right.facts,
        })),
      );
    }
    return placeholder(node, asked).map((text) => ({ text, facts }));
  }

  /** Every text that an expression may give. @param {ts.Expression} expression @param {Facts} [facts] @returns {PossibleText[]} */
  function textsOf(expression, facts = new Map()) {
    const declaration = ts.isIdentifier(expression) ? declarationOf(expression) : undefined;
    return valuesOf(expression, facts)
      .flatMap((value) => textsOfNode(value, expression))
      .flatMap((possible) => {
        if (!declaration) return [possible];
        // a name that comes twice in a text stands for the same thing
        const together = agree(
          possible.facts,
          new Map([[`value of ${placeOf(declaration)}`, possible.text]]),
        );
        return together ? [{ text: possible.text, facts: together }] : [];
      });
  }

  /**
   * The objects that an expression may give, each with the texts of some of its properties, by all ways in which these go together.
   *
   * @param {ts.Expression} expression @param {readonly string[]} names @param {Facts} [facts]
   * @returns {Record<string, string>[]}
   */
  function recordsOf(expression, names, facts = new Map()) {
    return valuesOf(expression, facts).flatMap((value) => {
      if (!ts.isObjectLiteralExpression(value.node)) return [];
      /** @type {{ fields: Record<string, string>, known: Facts }[]} */
      const start = [{ fields: {}, known: value.facts }];
      return names
        .reduce((records, name) => records.flatMap((record) => withField(record, { value, name })), start)
        .map(({ fields }) => fields);
    });
  }

  /** @param {{ fields: Record<string, string>, known: Facts }} record @param {{ value: PossibleNode, name: string }} field */
  function withField({ fields, known }, { value, name }) {
    const found = propertyOf({ node: value.node, facts: known }, name).flatMap(({ node, facts }) =>
      textsOf(node, facts).map((one) => ({ fields: { ...fields, [name]: one.text }, known: one.facts })),
    );
    // what is spread into the object may be left out
    return hasOwn(value.node, name) ? found : [{ fields, known }, ...found];
  }

  return { recordsOf, textsOf };
}

module.exports = { textReader };
