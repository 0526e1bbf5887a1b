/** What this Node.js may lack: `node:sqlite`, by which the storage and the examples need no package. */
import { spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { formOf } from "../../__tests__/clients/host-example";
import { type Example, newWebBrowser, startExample } from "../../__tests__/servers/example";
import { findNode, newerNodes } from "./newer-node";
import { describeWith, freePort } from "../../__tests__/servers/server-process";

const repository = path.resolve(__dirname, "../..");

interface JestReport {
  readonly testResults: readonly {
    readonly message: string;
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
}

/** Runs these test files by Jest in another Node.js. */
function runTests(node: string, files: readonly string[]): JestReport {
  const jest = path.join(repository, "node_modules", "jest", "bin", "jest.js");
  const args = [jest, "--json", "--maxWorkers=1", ...files];
  const { stdout, stderr } = spawnSync(node, args, { cwd: repository, encoding: "utf8", timeout: 500_000 });
  if (!stdout.startsWith("{")) throw new Error(`Jest did not run: ${stdout}${stderr}`);
  return JSON.parse(stdout) as JestReport;
}

const lastPrinted = /Confidential clients[^]*machine .*\n/;

/** What sam does to the client "machine" on the page for staff. A new secret ends the old one. */
async function changeMachine({ origin, printed }: Example, does: string): Promise<void> {
  const [, password = ""] = /^ {2}sam +(.+)$/m.exec(printed.out) ?? [];
  const sam = newWebBrowser();
  await sam.submit(await sam.open(`${origin}/signin/password`), { name: "sam", password });
  const form = formOf(await sam.open(`${origin}/staff/clients?client=machine`), `value="${does}"`);
  const { status } = await sam.submit(form, { do: does, old: "ends", id: "machine" });
  expect(status).toBe(200);
}

/** An opaque token that the client "machine" of the demo gets for itself: it is stored. None when it is refused. */
async function ownTokenOf({ origin, printed }: Example): Promise<string | undefined> {
  const [, secret = ""] = /^ {2}machine +(.+)$/m.exec(printed.out) ?? [];
  const answer = await fetch(`${origin}/login/auth/otp/api/reports/token`, {
    method: "POST",
    headers: { authorization: `Basic ${btoa(`machine:${secret}`)}` },
    body: new URLSearchParams({ grant_type: "client_credentials", scope: "reports:read" }),
  });
  const { access_token: accessToken } = (await answer.json()) as { access_token?: string };
  return accessToken;
}

for (const version of newerNodes) {
  const node = findNode(version);
  describeWith(
    { name: `Node.js ${version}`, found: node !== undefined },
    {
      name: `SQLite in Node.js ${version}`,
      tests() {
        it("passes the contract and all other tests, by node:sqlite, and those of diagnostics channels", () => {
          const { testResults } = runTests(node ?? "", [
            "adapters/sqlite-contract",
            "adapters/sqlite.test",
            "adapters/sqlite-transaction",
            "getting-started",
            "channels.test",
          ]);
          const results = testResults.flatMap(({ assertionResults }) => assertionResults);
          expect(results.filter(({ status }) => status !== "passed")).toEqual([]);
          expect(testResults.map(({ message }) => message).filter(Boolean)).toEqual([]);
          const byNode = results.filter(({ fullName }) => fullName.includes("SQLite by node:sqlite"));
          expect(byNode.length).toBeGreaterThan(80);
        });

        it("the demo loses nothing in a restart", async () => {
          const folder = await mkdtemp(path.join(tmpdir(), "authmount-demo-"));
          const given = { folder, port: await freePort(), ...(node !== undefined && { node }) };
          const before = await startExample("demo/server.js", lastPrinted, given);
          const accessToken = await ownTokenOf(before);
          await before.stop();
          const after = await startExample("demo/server.js", lastPrinted, given);
          const headers = { authorization: `Bearer ${accessToken}` };
          const { status } = await fetch(`${after.origin}/api/reports`, { headers });
          await after.stop();
          await rm(folder, { recursive: true });
          expect(status).toBe(200);
        });

        it.each(["disable", "newSecret", "delete"])(
          "the demo starts with its clients as new ones after staff did %s",
          async (does) => {
            const folder = await mkdtemp(path.join(tmpdir(), "authmount-demo-"));
            const given = { folder, port: await freePort(), ...(node !== undefined && { node }) };
            const before = await startExample("demo/server.js", lastPrinted, given);
            expect(await ownTokenOf(before)).toEqual(expect.any(String));
            await changeMachine(before, does);
            expect(await ownTokenOf(before)).toBeUndefined();
            await before.stop();
            const after = await startExample("demo/server.js", lastPrinted, given);
            const accessToken = await ownTokenOf(after);
            const headers = { authorization: `Bearer ${accessToken}` };
            const { status } = await fetch(`${after.origin}/api/reports`, { headers });
            await after.stop();
            await rm(folder, { recursive: true });
            expect(status).toBe(200);
          },
        );
      },
    },
  );
}
