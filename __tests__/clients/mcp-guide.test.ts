/** docs/mcp.md: the lines that it shows lead from one file of the example to the other, and both run. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { codeBelow } from "../fixture/doc-block";
import { startExampleForAllTests } from "../fixture/example";

const before = startExampleForAllTests("mcp-server/before.js", /MCP server is .*\n/);

const fileOfExample = (name: string): string =>
  readFileSync(path.resolve(__dirname, "../../examples/mcp-server", name), "utf8");

const [diff = ""] = codeBelow("mcp.md", "The lines that change", "diff");
const lines = diff.split("\n").slice(0, -1);

/** One side of the diff: its own lines and those of both sides. */
function side(sign: "+" | "-"): string {
  const own = lines.filter((line) => line.startsWith(sign) || line.startsWith(" "));
  return own.map((line) => `${line.slice(1)}\n`).join("");
}

describe("Put OAuth in front of your MCP server", () => {
  it("changes before.js to server.js, as it stands on the page", () => {
    expect(side("-")).toBe(fileOfExample("before.js"));
    expect(side("+")).toBe(fileOfExample("server.js"));
  });

  it("changes at most 25 lines", () => {
    expect(lines.filter((line) => !line.startsWith(" ")).length).toBeLessThanOrEqual(25);
  });

  it("prints the scopes of the tools as the example has them", () => {
    const [block = ""] = codeBelow("mcp.md", "A scope for each tool");
    const withoutComments = fileOfExample("notes.js").replaceAll(/^ *\/\/.*\n/gm, "");
    expect(withoutComments).toContain(block);
  });

  it("prints which clients nobody registers as the example has it", () => {
    const [block = ""] = codeBelow("mcp.md", "Clients that nobody registers");
    expect(block).toMatch(/^const unregistered/);
    expect(fileOfExample("clients.js")).toContain(block);
  });

  it("begins with an MCP server that answers everybody", async () => {
    const client = new Client({ name: "test", version: "1.0.0" });
    await client.connect(new StreamableHTTPClientTransport(new URL(`${before.origin}/mcp`)));
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(["list_notes", "add_note", "delete_notes"]);
    expect(await client.callTool({ name: "list_notes" })).toMatchObject({ content: [{ text: "[]" }] });
    await client.close();
  });
});
