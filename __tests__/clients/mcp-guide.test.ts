/** docs/mcp.md: the lines that it shows lead from one file of the example to the other, and both run. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import request from "supertest";
import { testHost } from "../hosts/host";
import { codeBelow, runBlock } from "../sources/doc-block";
import { startExampleForAllTests } from "../servers/example";

const before = startExampleForAllTests("mcp-server/before.mjs", /MCP server is .*\n/);

const fileOfExample = (name: string): string =>
  readFileSync(path.resolve(__dirname, "../../examples/mcp-server", name), "utf8");

const [diff = ""] = codeBelow("mcp.md", "The lines that change", "diff");
const lines = diff.split("\n").slice(0, -1);

const lengthOf = (name: string): number => fileOfExample(name).split("\n").length - 1;

/** One side of the diff: its own lines and those of both sides. */
function side(sign: "+" | "-"): string {
  const own = lines.filter((line) => line.startsWith(sign) || line.startsWith(" "));
  return own.map((line) => `${line.slice(1)}\n`).join("");
}

describe("Put OAuth in front of your MCP server", () => {
  it("changes before.mjs to server.mjs, as it stands on the page", () => {
    expect(side("-")).toBe(fileOfExample("before.mjs"));
    expect(side("+")).toBe(fileOfExample("server.mjs"));
  });

  it("prints the authorization server as the example has it", () => {
    expect(codeBelow("mcp.md", "The lines that change")).toEqual([fileOfExample("auth.mjs")]);
  });

  it("counts the lines of every file that server.mjs needs", () => {
    const page = readFileSync(path.resolve(__dirname, "../../docs/mcp.md"), "utf8");
    const counted = [...page.matchAll(/^\| `(\S+\.mjs)` \| (\d+)/gm)].map(([, name, count]) => [
      name,
      Number(count),
    ]);
    const changed = lines.filter((line) => !line.startsWith(" ")).length;
    const added = ["auth.mjs", "clients.mjs", "sign-in.mjs"].map((name) => [name, lengthOf(name)]);
    expect(counted).toEqual([["server.mjs", changed], ...added]);
    const signIn = ["form", "guesses", "page", "people", "sign-in"];
    const borrowed = signIn.reduce((sum, name) => sum + lengthOf(`../own-sign-in/${name}.js`), 0);
    expect(page).toContain(`with ${borrowed} lines of the example [own-sign-in]`);
  });

  it("prints which clients nobody registers as the example has it", () => {
    const [block = ""] = codeBelow("mcp.md", "Clients that nobody registers");
    expect(block).toMatch(/^export const unregistered/);
    expect(fileOfExample("clients.mjs")).toContain(block);
  });

  it("shows OpenAI's text at the root of the origin, also behind auth.wellKnown", async () => {
    process.env["OPENAI_APPS_CHALLENGE"] = "text of the form";
    const { app, auth } = testHost();
    app.use(auth.wellKnown);
    runBlock({ page: "mcp.md", heading: "An app in ChatGPT's directory" }, { app, process });
    const { text, headers } = await request(app).get("/.well-known/openai-apps-challenge");
    delete process.env["OPENAI_APPS_CHALLENGE"];
    expect([text, headers["content-type"]]).toEqual(["text of the form", "text/plain; charset=utf-8"]);
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
