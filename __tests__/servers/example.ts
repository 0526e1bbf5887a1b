/** An example started as a user starts it, and a scripted browser that visits it over HTTP. */
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { formFields } from "../browser/browser";
import { buildOnce } from "./build-once";
import { freePort } from "./server-process";

const repository = path.resolve(__dirname, "../..");

/** An example that runs. */
export interface Example {
  readonly origin: string;
  /** What it has printed so far. */
  readonly printed: { out: string; err: string };
  stop(): Promise<void>;
}

/** Runs `node examples/…` on a free port, in a folder of its own, until it has printed what it prints last. */
export async function startExample(
  file: string,
  lastPrinted: RegExp,
  given: {
    readonly node?: string;
    readonly args?: readonly string[];
    readonly folder?: string;
    readonly port?: number;
  } = {},
): Promise<Example> {
  buildOnce();
  const { node = process.execPath, args = [], folder, port = await freePort() } = given;
  const cwd = folder ?? (await mkdtemp(path.join(tmpdir(), "authmount-example-")));
  const env = { ...process.env, NODE_ENV: "development", PORT: String(port) };
  const child = spawn(node, [path.join(repository, "examples", file), ...args], { cwd, env });
  const printed = { out: "", err: "" };
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  await new Promise<void>((resolve, reject) => {
    child.once("close", () => reject(new Error(`${file} ended: ${printed.out}${printed.err}`)));
    child.stderr.on("data", (chunk: Buffer) => (printed.err += chunk.toString()));
    child.stdout.on("data", (chunk: Buffer) => {
      printed.out += chunk.toString();
      if (lastPrinted.test(printed.out)) resolve();
    });
  });
  return {
    origin: `http://localhost:${port}`,
    printed,
    async stop() {
      child.kill();
      await ended;
      if (folder === undefined) await rm(cwd, { recursive: true, force: true });
    },
  };
}

/** The same for all tests of a file, and ends it after them. */
export function startExampleForAllTests(
  file: string,
  lastPrinted: RegExp,
): Pick<Example, "origin" | "printed"> {
  let example: Example | undefined;
  const started = (): Example => {
    if (!example) throw new Error(`${file} has not started`);
    return example;
  };
  beforeAll(async () => {
    example = await startExample(file, lastPrinted);
  });
  afterAll(() => example?.stop());
  return {
    get origin() {
      return started().origin;
    },
    get printed() {
      return started().printed;
    },
  };
}

/** What the browser has loaded. */
export interface Page {
  readonly url: URL;
  /** 0 when the browser has stopped before loading the page. */
  readonly status: number;
  readonly text: string;
}

/** Keeps cookies and follows redirects, up to the URL that `stopAt` begins. */
export interface WebBrowser {
  open(url: URL | string, stopAt?: string): Promise<Page>;
  /** Posts the form of a page as it stands, with these fields filled in. */
  submit(page: Page, fields: Readonly<Record<string, string>>, stopAt?: string): Promise<Page>;
  /** Posts JSON from a script of the page. */
  post(url: URL | string, body?: object): Promise<{ status: number; body: unknown }>;
}

/** A browser that nobody has used. `send` sends its requests. */
export function newWebBrowser(send: (url: URL, init: RequestInit) => Promise<Response> = fetch): WebBrowser {
  const cookies = new Map<string, string>();

  async function request(url: URL, init: RequestInit): Promise<Response> {
    // cookies belong to a host, whatever its port; all of them here are those of localhost
    const cookie = url.hostname === "localhost" ? [...cookies].map((pair) => pair.join("=")).join("; ") : "";
    const headers = { accept: "text/html", cookie, ...(init.headers as Record<string, string>) };
    const response = await send(url, { ...init, headers, redirect: "manual" });
    for (const line of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (/Max-Age=0/.test(line)) cookies.delete(name);
      else cookies.set(name, value);
    }
    return response;
  }

  async function load(
    url: URL,
    { init, stopAt }: { init: RequestInit; stopAt: string | undefined },
  ): Promise<Page> {
    if (stopAt !== undefined && url.href.startsWith(stopAt)) return { url, status: 0, text: "" };
    const response = await request(url, init);
    const location = response.headers.get("location");
    const text = await response.text();
    return location === null
      ? { url, status: response.status, text }
      : load(new URL(location, url), { init: {}, stopAt });
  }

  return {
    open: (url, stopAt) => load(new URL(url), { init: {}, stopAt }),
    submit({ url, text }, fields, stopAt) {
      const form = /<form[^>]*>/.exec(text)?.[0] ?? "";
      const action = /action="([^"]*)"/.exec(form)?.[1]?.replaceAll("&amp;", "&");
      const body = new URLSearchParams({ ...formFields(text), ...fields });
      const init = { method: "POST", body, headers: { origin: url.origin } };
      return load(new URL(action ?? "", url), { init, stopAt });
    },
    async post(url, body = {}) {
      const headers = { "content-type": "application/json", origin: new URL(url).origin };
      const response = await request(new URL(url), { method: "POST", headers, body: JSON.stringify(body) });
      const text = await response.text();
      return {
        status: response.status,
        body: text.startsWith("{") || text.startsWith("[") ? JSON.parse(text) : text,
      };
    },
  };
}
