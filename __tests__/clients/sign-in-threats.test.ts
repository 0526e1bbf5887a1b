/** What an attacker tries at the sign-in of the examples, which hosts copy. */
import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { connect } from "node:net";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { generateSigningKey } from "../../lib";
import { buildOnce } from "../servers/build-once";
import { type Example, newWebBrowser, startExample } from "../servers/example";
import { freePort } from "../servers/server-process";

const repository = path.resolve(__dirname, "../..");
const running: { stop(): Promise<void> }[] = [];

afterEach(async () => {
  await Promise.all(running.splice(0).map((each) => each.stop()));
});

async function start(file: string, lastPrinted: RegExp): Promise<Example> {
  const example = await startExample(file, lastPrinted);
  running.push(example);
  return example;
}

/** Answers when the port takes connections, or when there is no hope that it will. */
async function serves(port: number, host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, host, () => resolve(true)).once("error", () => resolve(false));
    socket.once("connect", () => socket.destroy());
  });
}

interface Worker {
  readonly origin: string;
  /** Whether it serves; otherwise it has ended by itself. */
  readonly serving: boolean;
  readonly exitCode: number | null;
  readonly err: string;
}

/** `node examples/cluster/host.js`, as somebody starts it who leaves server.js out. Nothing here needs the database. */
async function startWorker(env: Readonly<Record<string, string | undefined>>): Promise<Worker> {
  buildOnce();
  const port = await freePort();
  const settings = {
    PORT: String(port),
    NODE_ENV: "development",
    DATABASE_URL: "postgres://127.0.0.1:1/none",
    SECRETS: "s".repeat(32),
    SESSION_SECRET: "t".repeat(32),
    SIGNING_KEYS: JSON.stringify([generateSigningKey()]),
  };
  const child: ChildProcess = spawn(process.execPath, ["examples/cluster/host.js"], {
    cwd: repository,
    env: { ...process.env, ...settings, ...env },
  });
  let err = "";
  child.stderr?.on("data", (chunk: Buffer) => (err += chunk.toString()));
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  running.push({ stop: () => (child.kill("SIGKILL"), ended) });
  let serving = false;
  while (!serving && child.exitCode === null) {
    await delay(20);
    serving = await serves(port, "127.0.0.1");
  }
  if (!serving) await ended;
  return { origin: `http://localhost:${port}`, serving, exitCode: child.exitCode, err };
}

/** Sends the sign-in form by itself, as a page at `from` makes a browser do it. */
function sendForm(url: URL | string, form: Record<string, string>, from?: string): Promise<Response> {
  const headers = from === undefined ? {} : { origin: from };
  return fetch(url, { method: "POST", redirect: "manual", headers, body: new URLSearchParams(form) });
}

function sessionOf(response: Response): readonly string[] {
  return response.headers.getSetCookie().filter((line) => line.startsWith("session="));
}

/** Alice's password, as an example has printed it. */
function passwordIn(out: string): string {
  return /(?:Sign in with|alice is|^ {2}alice) (\S+)/m.exec(out)?.[1] ?? "";
}

describe("examples/cluster without a password", () => {
  it.each([
    ["PASSWORD", undefined],
    ["PASSWORD", ""],
    ["SESSION_SECRET", undefined],
    ["SESSION_SECRET", ""],
    ["SESSION_SECRET", "too short"],
  ])("a worker does not start with %s=%j, and says why", async (name, value) => {
    const worker = await startWorker({ PASSWORD: "the password", [name]: value });
    expect(worker.serving).toBe(false);
    expect(worker.exitCode).toBe(1);
    expect(worker.err).toContain(`Set ${name}`);
  });

  it("a worker that has one takes it and no other", async () => {
    const worker = await startWorker({ PASSWORD: "the password" });
    const url = `${worker.origin}/signin`;
    const statuses = new Map<string, number>();
    for (const password of ["the password", "the passwore", "", "undefined"]) {
      statuses.set(password, sessionOf(await sendForm(url, { password }, worker.origin)).length);
    }
    const none = sessionOf(await sendForm(url, {}, worker.origin));
    expect(worker.serving).toBe(true);
    expect(Object.fromEntries(statuses)).toEqual({
      "the password": 1,
      "the passwore": 0,
      "": 0,
      undefined: 0,
    });
    expect(none).toEqual([]);
  });
});

describe("the sign-in form is sent by another site (login CSRF, RFC 9700 §4.7)", () => {
  const attacker = "https://attacker.example";

  interface Started {
    readonly url: string;
    readonly password: string;
  }

  const hosts: Readonly<Record<string, () => Promise<Started>>> = {
    async minimal() {
      const { origin, printed } = await start("minimal/server.mjs", /\/shop\n/);
      return { url: `${origin}/sign-in`, password: passwordIn(printed.out) };
    },
    async cluster() {
      const { origin } = await startWorker({ PASSWORD: "the password" });
      return { url: `${origin}/signin`, password: "the password" };
    },
    async "authorization-server"() {
      const { origin, printed } = await start("web-app/start.js", /Open http.*\n/);
      const page = await newWebBrowser().open(`${origin}/signin`);
      return { url: `${page.url.origin}/signin`, password: passwordIn(printed.out) };
    },
  };

  it.each(Object.entries(hosts))("examples/%s signs nobody in by it", async (_, startHost) => {
    const { url, password } = await startHost();
    const own = await sendForm(url, { password }, new URL(url).origin);
    const foreign = await sendForm(url, { password }, attacker);
    const unsaid = await sendForm(url, { password });
    expect([own, foreign, unsaid].map((response) => sessionOf(response).length)).toEqual([1, 0, 0]);
  });
});

/** The JavaScript that a person copies: the examples, and the `js` blocks of README and docs. */
function copied(): readonly (readonly [string, string])[] {
  const files = readdirSync(path.join(repository, "examples"), { recursive: true, encoding: "utf8" })
    .filter((file) => /\.m?js$/.test(file))
    .map(
      (file) => [`examples/${file}`, readFileSync(path.join(repository, "examples", file), "utf8")] as const,
    );
  const pages = ["README.md", "docs/getting-started.md"].map(
    (page) => [page, readFileSync(path.join(repository, page), "utf8")] as const,
  );
  const blocks = pages.map(
    ([page, text]) =>
      [page, [...text.matchAll(/^```js\n([^]*?)^```$/gm)].map(([block]) => block).join("")] as const,
  );
  return [...files, ...blocks];
}

describe("what is printed or published here must not be open to the network", () => {
  const listening = copied().filter(([, code]) => /\.listen\(/.test(code));

  it.each(listening)("%s listens on this machine alone", (_, code) => {
    const calls = code.match(/\.listen\([^\n]*/g) ?? [];
    expect(calls.filter((call) => !/\.listen\([^,]+, "(?:127\.0\.0\.1|localhost)"/.test(call))).toEqual([]);
  });

  it("examples/minimal answers at no other address", async () => {
    const { origin } = await start("minimal/server.mjs", /\/shop\n/);
    const port = Number(new URL(origin).port);
    // belongs to this machine too, so whoever listens everywhere answers there
    const reached = [await serves(port, "127.0.0.1"), await serves(port, "127.0.0.2")];
    expect(reached).toEqual([true, false]);
  });

  it("databases that a README starts with a published password are not either", () => {
    const readMe = readFileSync(path.join(repository, "examples/cluster/README.md"), "utf8");
    const published = readMe.match(/ -p \S+/g) ?? [];
    expect(published.filter((option) => !option.startsWith(" -p 127.0.0.1:"))).toEqual([]);
  });
});

/** Signs in from a browser of its own, and gives the status of the answer. */
async function signIn(origin: string, fields: Record<string, string>): Promise<number> {
  const browser = newWebBrowser();
  const page = await browser.open(`${origin}/sign-in`);
  return (await browser.submit(page, fields)).status;
}

describe("passwords are guessed at examples/own-sign-in", () => {
  it("does not count right passwords, however many come at the same moment", async () => {
    const { origin, printed } = await start("own-sign-in/server.js", /\/orders\n/);
    const right = { name: "alice", password: passwordIn(printed.out) };
    const statuses = await Promise.all(Array.from({ length: 16 }, () => signIn(origin, right)));
    expect(statuses).toEqual(Array.from({ length: 16 }, () => 200));
  });

  it("checks ten of many wrong ones that come at the same moment, and then none, right or wrong", async () => {
    const { origin, printed } = await start("own-sign-in/server.js", /\/orders\n/);
    const right = { name: "alice", password: passwordIn(printed.out) };
    const wrong = { name: "alice", password: "a guess" };
    const statuses = await Promise.all(Array.from({ length: 24 }, () => signIn(origin, wrong)));
    const afterwards = await signIn(origin, right);
    expect(statuses.filter((status) => status === 403)).toHaveLength(10);
    expect(statuses.filter((status) => status === 429)).toHaveLength(14);
    expect(afterwards).toBe(429);
  });
});
