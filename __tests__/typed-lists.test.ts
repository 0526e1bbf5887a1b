/** The lists of the house stand once. Whoever adds an item to one is told by the compiler of each place that must know of it. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";

const root = join(__dirname, "..");
const { config } = ts.readConfigFile(join(root, "tsconfig.build.json"), (path) => readFileSync(path, "utf8"));
const { options, fileNames } = ts.parseJsonConfigFileContent(config, ts.sys, root);

let before: ts.Program | undefined;

/** A change to one file: the text that is there, and the text in its place. */
interface Edit {
  readonly path: string;
  readonly from: string;
  readonly to: string;
}

function edited({ path, from, to }: Edit, text: string): string {
  if (!text.includes(from)) throw new Error(`${path} does not have: ${from}`);
  return text.replace(from, to);
}

/** The files of a scratch copy of lib/, with the edits, that the compiler refuses. */
function refusedFiles(edits: readonly Edit[]): readonly string[] {
  const host = ts.createCompilerHost(options);
  const original = host.getSourceFile.bind(host);
  host.getSourceFile = (name, ...others) => {
    const ofFile = edits.filter(({ path }) => join(root, path) === name);
    if (ofFile.length === 0) return before?.getSourceFile(name) ?? original(name, ...others);
    const text = ofFile.reduce((changed, edit) => edited(edit, changed), readFileSync(name, "utf8"));
    return ts.createSourceFile(name, text, others[0]);
  };
  const program = ts.createProgram({
    rootNames: fileNames,
    options: { ...options, noEmit: true },
    host,
    ...(before && { oldProgram: before }),
  });
  before ??= program;
  const refused = ts.getPreEmitDiagnostics(program).flatMap(({ file }) => (file ? [file.fileName] : []));
  return [...new Set(refused)].map((name) => name.slice(root.length + 1)).toSorted();
}

const portMethod: Edit = {
  path: "lib/storage/port.ts",
  from: "export interface EndMarkStore {",
  to: "export interface EndMarkStore {\n  count(now: EpochSeconds): Promise<number>;",
};
const grant: Edit = {
  path: "lib/protocol/client.ts",
  from: '  "client_credentials",\n',
  to: '  "client_credentials",\n  "password",\n',
};
const authenticationMethod: Edit = {
  path: "lib/protocol/client-authentication.ts",
  from: '  "none",\n] as const',
  to: '  "none",\n  "tls_client_auth",\n] as const',
};
const endpoint: Edit = {
  path: "lib/protocol/issuer.ts",
  from: '| "introspection";',
  to: '| "introspection" | "backchannel_authentication";',
};

describe("the compiler", () => {
  it("accepts lib/ as it is", () => {
    expect(refusedFiles([])).toEqual([]);
  });

  it.each([
    [
      "a port method: the list that the time limit and the check of options go through, and every adapter",
      [portMethod],
      [
        "lib/adapters/memory/storage.ts",
        "lib/adapters/mysql/authorizations.ts",
        "lib/adapters/postgres/authorizations.ts",
        "lib/adapters/redis/authorizations.ts",
        "lib/adapters/sqlite/authorizations.ts",
        "lib/storage/port.ts",
      ],
    ],
    [
      "a grant: the kinds of client that it is open to, and its exchange",
      [grant],
      ["lib/grants/index.ts", "lib/protocol/client.ts"],
    ],
    [
      "a client authentication method: what it presents, and how it is proved",
      [authenticationMethod],
      [
        "lib/clients/authenticate-client.ts",
        "lib/protocol/client-authentication.ts",
        "lib/strangers/new-registration.ts",
      ],
    ],
    ["an endpoint: its path and its route", [endpoint], ["lib/http/routes.ts", "lib/protocol/issuer.ts"]],
  ])("asks whoever adds %s", (_, edits, places) => {
    expect(refusedFiles(edits)).toEqual(places);
  });
});
