/** Code of the documentation, taken from its page and run. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { compileFunction } from "node:vm";
import { transformSync } from "@swc/core";
import * as authmount from "../../lib";

const docs = path.resolve(__dirname, "../../docs");

/** The code blocks of a page below one of its headings, those in these languages. */
export function codeBelow(page: string, heading: string, languages = "ts|js"): readonly string[] {
  const text = readFileSync(path.join(docs, page), "utf8");
  const [, chapter] = text.split(`\n## ${heading}\n`);
  const [, part] = text.split(`\n### ${heading}\n`);
  const section = chapter?.split(/^## /m)[0] ?? part?.split(/^###? /m)[0];
  if (section === undefined) throw new Error(`${page} has no heading "${heading}"`);
  const blocks = new RegExp(`^\`\`\`(?:${languages})\n([^]*?)^\`\`\`$`, "gm");
  return [...section.matchAll(blocks)].map(([, code]) => code ?? "");
}

/** Where a block of code stands, and what it is given when it runs. */
export interface Block {
  readonly page?: string;
  readonly heading: string;
  /** Which of the blocks below the heading; otherwise the first. */
  readonly index?: number;
  /** Instead of the packages of these names. */
  readonly modules?: Readonly<Record<string, unknown>>;
}

type Exported = Readonly<Record<string, unknown>>;

/** Runs a block with what it declares as given; `around` makes a function body of its code. */
function run(
  { page = "recipes.md", heading, index = 0, modules = {} }: Block,
  { given, around }: { given: object; around: (code: string) => string },
): { exported: Exported; answer: unknown } {
  const requireByName = (name: string): unknown =>
    name === "authmount" ? authmount : (modules[name] ?? jest.requireActual(name));
  const printed = codeBelow(page, heading)[index] ?? "";
  // the hosts of the tests are at /login, and the parts of hosts in the recipes go into them
  const code =
    page === "recipes.md" ? printed.replaceAll(/(?<!\.well-known)\/oauth(?![\w-])/g, "/login") : printed;
  const compiled = transformSync(code, {
    swcrc: false,
    jsc: {
      target: "es2023",
      parser: { syntax: "typescript", decorators: true },
      transform: { legacyDecorator: true },
    },
    module: { type: "commonjs" },
  });
  const exported: Record<string, unknown> = {};
  const names = ["require", "exports", ...Object.keys(given)];
  const block = compileFunction(around(compiled.code), names) as (...values: unknown[]) => unknown;
  return { exported, answer: block(requireByName, exported, ...Object.values(given)) };
}

/** What a block exports. */
export function runBlock(block: Block, given: object): Exported {
  return run(block, { given, around: (code) => code }).exported;
}

/** What a block exports that waits for something, once it is done. */
export async function runWaitingBlock(block: Block, given: object): Promise<Exported> {
  const { exported, answer } = run(block, {
    given,
    around: (code) => `return (async () => {${code}\n})()`,
  });
  await answer;
  return exported;
}
