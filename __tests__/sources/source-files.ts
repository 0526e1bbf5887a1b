/** Reads source files into trees, for tests that hold laws about them. */
import { readdirSync, readFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import ts from "typescript";

const root = join(__dirname, "../..");

export interface SourceText {
  /** From the root of the repository, with slashes. */
  readonly path: string;
  readonly text: string;
}

export interface SourceFile extends SourceText {
  readonly tree: ts.SourceFile;
}

export function parse({ path, text }: SourceText): SourceFile {
  return { path, text, tree: ts.createSourceFile(path, text, ts.ScriptTarget.ESNext, true) };
}

export function filesUnder(folder: string): readonly SourceFile[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.[cm]?[jt]sx?$/.test(entry.name))
    .map(({ parentPath, name }) => relative(root, join(parentPath, name)).split(sep).join("/"))
    .filter((path) => !path.includes("/node_modules/"))
    .map((path) => parse({ path, text: readFileSync(join(root, path), "utf8") }));
}

/** The folder below lib/, or `""` for a root file. */
export function folderOf(path: string): string {
  return path.split("/").slice(1, -1).join("/");
}

export function* nodesOf(node: ts.Node): Iterable<ts.Node> {
  yield node;
  for (const child of childrenOf(node)) yield* nodesOf(child);
}

function childrenOf(node: ts.Node): readonly ts.Node[] {
  const children: ts.Node[] = [];
  ts.forEachChild(node, (child) => void children.push(child));
  return children;
}

export function lineOf({ tree }: SourceFile, position: number): number {
  return tree.getLineAndCharacterOfPosition(position).line + 1;
}

/** `lib/http/router.ts:12 what is wrong there`, for every node that `describe` has something to say about. */
export function offences(
  file: SourceFile,
  describe: (node: ts.Node) => string | undefined,
): readonly string[] {
  return [...nodesOf(file.tree)].flatMap((node) => {
    const offence = describe(node);
    return offence === undefined ? [] : [`${file.path}:${lineOf(file, node.getStart())} ${offence}`];
  });
}

export const unreadable: string = "a module that only the run will tell";

/** The module that a node imports, by a statement, a call or a type. */
export function importedBy(node: ts.Node): string | undefined {
  const specifier =
    ts.isImportDeclaration(node) || ts.isExportDeclaration(node)
      ? node.moduleSpecifier
      : ts.isExternalModuleReference(node)
        ? node.expression
        : ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)
          ? node.argument.literal
          : ts.isCallExpression(node) && /^(?:import|require)$/.test(node.expression.getText())
            ? node.arguments[0]
            : undefined;
  if (!specifier) return undefined;
  return ts.isStringLiteralLike(specifier) ? specifier.text : unreadable;
}

/** Where the test file of this name is: in `__tests__`, or in the laboratory, whose names begin with `lab/`. */
export function testFile(name: string): string {
  return join(root, name.startsWith("lab/") ? "" : "__tests__", `${name}.test.ts`);
}
