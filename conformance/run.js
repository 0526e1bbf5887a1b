// @ts-check
/**
 * Runs the scenarios for authorization servers of the MCP conformance tests against this server. `npm run conformance` builds the package
 * and runs this; it installs the tests if they are not there yet, and Node 22 for them, which they need.
 */
"use strict";
const { execFileSync, spawn } = require("node:child_process");
const events = require("node:events");
const { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } = require("node:fs");
const { createServer } = require("node:net");
const { tmpdir } = require("node:os");
const path = require("node:path");
const express = require("express");
const { createAuthServer, memoryStorage } = require("..");

const tests = path.join(__dirname, "node_modules/@modelcontextprotocol/conformance/dist/index.js");
const clientId = "conformance";

/** The tests need to know beforehand where they listen for the answer. */
async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await events.once(server, "listening");
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  server.close();
  return port;
}

/** A host where Alice is always signed in. Gives the issuer, and how to end it. */
async function startHost() {
  const app = express();
  const server = app.listen(0, "localhost");
  await events.once(server, "listening");
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  const origin = `http://localhost:${port}`;
  const auth = createAuthServer({
    baseUrl: `${origin}/login`,
    storage: memoryStorage({
      clients: [
        {
          clientId,
          name: "MCP conformance tests",
          confidential: false,
          platform: "native",
          redirectUris: ["http://127.0.0.1/callback"],
          subscriptions: { mcp: {} },
        },
      ],
    }),
    onEvent: ({ kind, ...event }) => console.log(`event ${kind}`, JSON.stringify(event)),
    authMethods: { password: { authenticate: () => ({ kind: "authenticated", subject: "alice" }) } },
    apis: {
      mcp: {
        audience: `${origin}/mcp`,
        authMethods: ["password"],
        scopes: { "notes:read": "Read your notes" },
        // the tests ask for no scope
        defaultScopes: ["notes:read"],
        clientMetadataDocuments: { accept: () => ({ kind: "accepted" }) },
        clientRegistration: { approve: () => ({ kind: "approved" }) },
      },
    },
  });
  app.use("/login", auth.router).use(auth.wellKnown);
  return { issuer: `${origin}/login/auth/password/api/mcp`, close: () => server.close() };
}

/** @type {(tag: string, name: string) => string} */
const attribute = (tag, name) =>
  (new RegExp(` ${name}="([^"]*)"`).exec(tag)?.[1] ?? "").replaceAll("&amp;", "&");

/** Alice opens the printed address, allows what it asks for, and her browser goes back to the tests. @param {string} url */
async function allow(url) {
  const page = await fetch(url);
  const html = await page.text();
  const [form = ""] = /<form[^>]*>/.exec(html) ?? [];
  const inputs = html.match(/<input[^>]*>/g) ?? [];
  const fields = inputs.map((tag) => [attribute(tag, "name"), attribute(tag, "value")]);
  const cookie = page.headers.getSetCookie().map((line) => line.split(";")[0]);
  const answered = await fetch(new URL(attribute(form, "action"), url), {
    method: "POST",
    redirect: "manual",
    headers: { cookie: cookie.join("; "), origin: new URL(url).origin },
    // the page has two forms with the same hidden fields
    body: new URLSearchParams({ ...Object.fromEntries(fields), decision: "approve" }),
  });
  await fetch(answered.headers.get("location") ?? "");
}

/** What the tests have found: only a success is good enough, and a warning is none. @param {string} results */
function allSucceeded(results) {
  const files = readdirSync(results, { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith("checks.json"),
  );
  /** @type {{ name: string, status: string, errorMessage?: string }[]} */
  const checks = files.flatMap((name) => JSON.parse(readFileSync(path.join(results, name), "utf8")));
  const others = checks.filter(({ status }) => status !== "SUCCESS");
  for (const { name, status, errorMessage = "" } of others)
    console.error(`${status}: ${name} ${errorMessage}`);
  return checks.length > 0 && others.length === 0;
}

/** Runs the tests; gives their exit code. @param {{ issuer: string, results: string }} where */
async function runTests({ issuer, results }) {
  const [major = "0"] = process.versions.node.split(".");
  const node = Number(major) >= 22 ? ["node"] : ["npx", "-y", "-p", "node@22", "node"];
  const [command = "", ...first] = node;
  const parameters = [...first, tests, "authorization", "--url", issuer, "--output-dir", results];
  const child = spawn(command, [...parameters, "--client-id", clientId, "--port", String(await freePort())], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let printed = "";
  let asked = false;
  child.stdout.on("data", (/** @type {Buffer} */ chunk) => {
    process.stdout.write(chunk);
    printed += chunk.toString();
    const [url] = new RegExp(`^${issuer}/authorize\\?\\S+$`, "m").exec(printed) ?? [];
    if (!url || asked) return;
    asked = true;
    allow(url).catch((error) => {
      console.error(error);
      // otherwise the tests would wait for five minutes
      if (child.pid) process.kill(-child.pid);
    });
  });
  const [code] = await events.once(child, "close");
  return asked && code !== null && allSucceeded(results) ? Number(code) : 1;
}

async function start() {
  if (!existsSync(tests))
    execFileSync("npm", ["ci", "--no-audit", "--no-fund", "--ignore-scripts"], {
      cwd: __dirname,
      stdio: "inherit",
    });
  const { issuer, close } = await startHost();
  const results = mkdtempSync(path.join(tmpdir(), "conformance-"));
  try {
    process.exitCode = await runTests({ issuer, results });
  } finally {
    close();
    rmSync(results, { recursive: true });
  }
}

void start();
