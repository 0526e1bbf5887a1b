/** The commands and the program of docs/manage-clients.md, as they stand on the page. RFC 6749 §2, §2.3.1. */
import { clients as clientsOfHost } from "../lib/cli/clients";
import type { Client } from "../lib";
import {
  type Ended,
  type HostFolder,
  hostFolder,
  optionsModule,
  program,
  runProgram,
} from "./servers/command-line";
import { codeBelow, runBlock } from "./sources/doc-block";
import { read } from "./sources/pages-of-docs";

const page = "manage-clients.md";
let host: HostFolder;

beforeAll(async () => {
  host = await hostFolder(["libsql", "better-sqlite3"]);
  const module = `import { sqliteStorage } from "authmount/sqlite";\n${optionsModule('storage: sqliteStorage({ file: "a.sqlite" })')}`;
  await host.write("auth-options.mjs", module);
  await host.run(["migrate", "auth-options.mjs"]);
});
afterAll(() => host.remove());

/** Runs the commands below a heading, in the folder of the host. */
function run(heading: string): Promise<Ended> {
  const [written = "exit 99"] = codeBelow(page, heading, "sh");
  const command = written.replaceAll("npx authmount", `"${process.execPath}" "${program}"`);
  return runProgram("sh", ["-ec", command], { cwd: host.folder });
}

describe("the commands of docs/manage-clients.md", () => {
  it("add and list a client, check the table, and rotate the secret", async () => {
    const added = await run("By command");
    expect(added).toMatchObject({ code: 0 });
    expect(added.stdout).toMatch(/^[\w-]{43}\nshop\tShop\tsecret\torders\tenabled\n/);
    expect(added.stdout).toContain("\nClients: 1 read.\n");
    const rotated = await run("Rotate a client's secret");
    expect(rotated).toMatchObject({ code: 0, stdout: expect.stringMatching(/^[\w-]{43}\n$/) as string });
  });

  it("are all that there are", () => {
    const text = read(`docs/${page}`);
    const names = (clientsOfHost.parts ?? []).map(({ name }) => name.split(" ")[1] ?? "");
    expect(names.filter((name) => !new RegExp(`\`clients ${name} `).test(text))).toEqual([]);
  });
});

describe("the program of docs/manage-clients.md", () => {
  it("registers, rotates, disables and enables", async () => {
    const made = runBlock({ page, heading: "By your own form" }, {}) as Readonly<
      Record<"register" | "newSecret" | "setDisabled", (...given: unknown[]) => Promise<unknown>>
    >;
    const { clientId, secret } = (await made.register("Shop", "https://shop.example/callback")) as {
      clientId: string;
      secret: string;
    };
    expect(secret).toMatch(/^[\w-]{43}$/);
    const second = (await made.newSecret(clientId)) as { secret: string };
    expect(second.secret).not.toBe(secret);
    expect(await made.setDisabled(clientId, true)).toMatchObject({ name: "Shop", disabled: true });
    const enabled = (await made.setDisabled(clientId, false)) as Client;
    expect(enabled).toMatchObject({ disabled: false, secretDigests: { length: 2 } });
    expect(await made.setDisabled("nobody", true)).toBeUndefined();
    await expect(made.register("Shop", "http://shop.example/")).rejects.toHaveProperty(
      "code",
      "wrong-client-record",
    );
  });
});
