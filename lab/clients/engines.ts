/**
 * Firefox and WebKit, which get the commands of W3C WebDriver: WebKit over HTTP from its driver, Firefox from itself over Marionette, the
 * socket behind geckodriver, which Debian does not have.
 */
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { freePort, newFolder, startServer } from "../../__tests__/servers/server-process";

const firefoxPath = "/usr/bin/firefox-esr";
const webKitDriver = "/usr/bin/WebKitWebDriver";
const webKit = "/usr/lib/x86_64-linux-gnu/webkit2gtk-4.1/MiniBrowser";
const display = "/usr/bin/Xvfb";

/** A script may take as long as a test. */
const timeouts = { script: 100_000 };

/** Each as its place below the URL of the session, and as Marionette calls it. */
const commands = {
  goTo: ["POST", "/url", "Navigate"],
  url: ["GET", "/url", "GetCurrentURL"],
  find: ["POST", "/element", "FindElement"],
  click: ["POST", "/element/{id}/click", "ElementClick"],
  type: ["POST", "/element/{id}/value", "ElementSendKeys"],
  run: ["POST", "/execute/async", "ExecuteAsyncScript"],
  forget: ["DELETE", "/cookie", "DeleteAllCookies"],
} as const;

type Send = (
  command: keyof typeof commands,
  parameters?: Readonly<Record<string, unknown>>,
) => Promise<unknown>;

/** The one window of a browser. */
export interface Window {
  readonly goTo: (url: string) => Promise<void>;
  readonly url: () => Promise<string>;
  /** Waits for an element, by XPath. */
  readonly find: (xpath: string) => Promise<string>;
  readonly click: (xpath: string) => Promise<void>;
  readonly type: (xpath: string, text: string) => Promise<void>;
  /** What the script gives to `done`. */
  readonly run: (script: string) => Promise<unknown>;
  /** Removes the cookies of a site. */
  readonly forget: (url: string) => Promise<void>;
  readonly close: () => Promise<void>;
}

/** A browser engine, and whether it is here. */
export interface Engine {
  readonly name: string;
  readonly found: boolean;
  readonly open: (settings?: { readonly hasScripts: boolean }) => Promise<Window>;
}

function windowOf(send: Send, close: () => Promise<void>): Window {
  async function find(value: string): Promise<string> {
    for (let attempt = 1; ; attempt += 1)
      try {
        const found = await send("find", { using: "xpath", value });
        return Object.values(found as Record<string, string>)[0] ?? "";
      } catch (error) {
        // it also fails while one page makes place for another
        if (attempt === 300)
          throw new Error(`${value} is not at ${String(await send("url"))}`, { cause: error });
        await delay(100);
      }
  }
  const goTo = async (url: string) => void (await send("goTo", { url }));
  return {
    goTo,
    url: async () => String(await send("url")),
    find,
    click: async (xpath) => void (await send("click", { id: await find(xpath) })),
    type: async (xpath, text) => void (await send("type", { id: await find(xpath), text })),
    run: (script) => send("run", { script: `const done = arguments[0]; ${script}`, args: [] }),
    async forget(url) {
      await goTo(url);
      await send("forget");
    },
    close,
  };
}

interface Alone {
  readonly command: readonly [string, ...string[]];
  readonly env?: Readonly<Record<string, string>>;
  readonly isReady: () => Promise<boolean>;
}

/** Starts a program that finds nothing of the person who runs the tests. */
async function startAlone(
  folder: string,
  { command, env = {}, isReady }: Alone,
): Promise<() => Promise<void>> {
  const variables = Object.entries({ HOME: folder, XDG_RUNTIME_DIR: folder, ...env });
  const args = [...variables.map(([name, value]) => `${name}=${value}`), ...command];
  const server = await startServer({ command: "/usr/bin/env", args, folder, isReady });
  return async () => {
    await server.stop("SIGTERM");
    await server.close();
  };
}

/** What comes in is `length:[1, id, error, result]`. */
async function marionette(port: number): Promise<Send & { end(): void }> {
  const socket = connect(port, "127.0.0.1");
  const waiting: Record<number, (error: unknown, value: unknown) => void> = {};
  let received = Buffer.alloc(0);
  let last = 0;
  socket.on("data", (chunk) => {
    received = Buffer.concat([received, chunk]);
    for (;;) {
      const begin = received.indexOf(":") + 1;
      const end = begin + Number(received.subarray(0, begin - 1).toString());
      if (begin === 0 || received.length < end) return;
      const message = JSON.parse(received.subarray(begin, end).toString()) as unknown;
      received = received.subarray(end);
      // the first one says which protocol it is
      if (Array.isArray(message)) waiting[message[1] as number]?.(message[2], message[3]);
    }
  });
  function call(name: string, parameters: object): Promise<unknown> {
    const id = (last += 1);
    const text = JSON.stringify([0, id, `WebDriver:${name}`, parameters]);
    return new Promise((resolve, reject) => {
      waiting[id] = (error, value) =>
        error === null ? resolve(value) : reject(new Error(JSON.stringify(error)));
      socket.write(`${Buffer.byteLength(text)}:${text}`);
    });
  }
  await call("NewSession", { capabilities: { alwaysMatch: { timeouts } } });
  const send: Send = async (command, parameters = {}) => {
    const answer = await call(commands[command][2], parameters);
    return (answer as { value: unknown }).value;
  };
  return Object.assign(send, { end: () => void socket.destroy() });
}

/** Firefox as Debian has it: Gecko. */
export const firefox: Engine = {
  name: "firefox-esr",
  found: existsSync(firefoxPath),
  async open({ hasScripts } = { hasScripts: true }) {
    const folder = await newFolder("firefox");
    const preferences = {
      "marionette.port": 0,
      "javascript.enabled": hasScripts,
      "dom.disable_open_during_load": false,
    };
    const lines = Object.entries(preferences).map(
      (preference) => `user_pref(${JSON.stringify(preference).slice(1, -1)});`,
    );
    await writeFile(path.join(folder, "user.js"), lines.join("\n"));
    const portFile = path.join(folder, "MarionetteActivePort");
    const stop = await startAlone(folder, {
      command: [firefoxPath, "--headless", "--marionette", "--profile", folder],
      isReady: async () => existsSync(portFile),
    });
    const send = await marionette(Number(await readFile(portFile, "utf8")));
    return windowOf(send, () => {
      send.end();
      return stop();
    });
  },
};

async function ask(url: string, method: string, body?: object): Promise<unknown> {
  const response = await fetch(url, { method, ...(method === "POST" && { body: JSON.stringify(body) }) });
  const { value } = (await response.json()) as { value: unknown };
  if (!response.ok) throw new Error(JSON.stringify(value));
  return value;
}

/** WebKitGTK's own small browser, on a screen that nobody sees. */
export const webkit: Engine = {
  name: "webkit2gtk-driver with xvfb",
  found: [webKitDriver, webKit, display].every((file) => existsSync(file)),
  async open({ hasScripts } = { hasScripts: true }) {
    const port = await freePort();
    const screen = `:${port}`;
    const closeScreen = await startAlone(await newFolder("xvfb"), {
      command: [display, screen, "-nolisten", "tcp"],
      isReady: async () => existsSync(`/tmp/.X11-unix/X${port}`),
    });
    const driver = `http://127.0.0.1:${port}`;
    const stop = await startAlone(await newFolder("webkit"), {
      command: [webKitDriver, `--port=${port}`],
      env: { DISPLAY: screen },
      isReady: async () => (await fetch(`${driver}/status`)).ok,
    });
    const settings = [
      `--enable-javascript=${hasScripts}`,
      "--javascript-can-open-windows-automatically=true",
    ];
    const browserOptions = { binary: webKit, args: ["--automation", ...settings] };
    const capabilities = { alwaysMatch: { timeouts, "webkitgtk:browserOptions": browserOptions } };
    const { sessionId } = (await ask(`${driver}/session`, "POST", { capabilities })) as { sessionId: string };
    const session = `${driver}/session/${sessionId}`;
    const send: Send = (command, { id = "", ...parameters } = {}) => {
      const [method, place] = commands[command];
      return ask(session + place.replace("{id}", String(id)), method, parameters);
    };
    return windowOf(send, async () => {
      await ask(session, "DELETE");
      await stop();
      await closeScreen();
    });
  },
};
