/** docs/reference/ is made from the code: it must be current, and leave nothing out. */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { reference } from "../docs/make-reference";
import * as authmount from "../lib";
import { optionSchema } from "../lib/options/schema";
import * as postgres from "../lib/postgres";
import * as redis from "../lib/redis";
import { storageMethods } from "../lib/storage/port";
import * as testing from "../lib/testing";

const repository = path.resolve(__dirname, "..");
const made = reference();

function read(file: string): string {
  return readFileSync(path.join(repository, file), "utf8");
}

const library = readdirSync(path.join(repository, "lib"), { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".ts"))
  .map((file) => read(path.join("lib", file)));

function inLibrary(pattern: RegExp): string[] {
  const found = library.flatMap((text) => [...text.matchAll(pattern)].map(([, name]) => name ?? ""));
  return [...new Set(found)].toSorted();
}

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly then?: Schema;
}

/** The names of all options, at any depth. */
function optionNames(schema: Schema): string[] {
  const { properties = {}, additionalProperties: each, then } = schema;
  const named = Object.entries(properties).flatMap(([name, inner]) =>
    // what they hold is in ports.md
    name === "storage" || name === "authMethods" ? [name] : [name, ...optionNames(inner)],
  );
  const inner = [typeof each === "object" ? each : undefined, then].flatMap((one) => one ?? []);
  return [...named, ...inner.flatMap(optionNames)];
}

/** A text of the reference as a reader sees it. */
function shown(markdown: string): string {
  return markdown.replaceAll("&lt;", "<").replaceAll("\\|", "|");
}

/** A quotation, in which … stands for anything. */
function quotation(quoted: string): RegExp {
  const parts = quoted.split("…").map((part) => part.trim().replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(parts.join(".*"));
}

describe("docs/troubleshooting.md", () => {
  it("quotes the library's own words: what stands in italics in a first column is in errors.md", () => {
    const texts = shown(made.errors.text).split(/\n|\| /);
    const firstColumns = [...read("docs/troubleshooting.md").matchAll(/^\| ([^|]+) \|/gm)];
    const quoted = firstColumns.flatMap(([, cell = ""]) =>
      [...cell.matchAll(/(?<!\*)\*([^*]+)\*/g)].map(([, text = ""]) => text),
    );
    expect(quoted.length).toBeGreaterThan(30);
    expect(quoted.filter((text) => !texts.some((line) => quotation(text).test(line)))).toEqual([]);
  });
});

describe("docs/reference", () => {
  it.each(Object.entries(made))(
    "%s.md is as the code has it: npm run docs makes it again",
    (name, { text }) => {
      expect(read(`docs/reference/${name}.md`)).toBe(text);
    },
  );

  it("has every option", () => {
    const known = new Set(made.options.names.map((name) => name.split(".").at(-1)));
    expect(optionNames(optionSchema as Schema).filter((name) => !known.has(name))).toEqual([]);
  });

  it("has every event", () => {
    const kinds = [...read("lib/events/port.ts").matchAll(/kind: "([\w-]+)"/g)].map(([, kind]) => kind);
    expect(kinds.length).toBeGreaterThan(10);
    expect(made.events.names).toEqual([...new Set(kinds)]);
  });

  it("can read the texts of every refusal", () => {
    expect(made.errors.unread).toEqual([]);
    const blank = made.errors.refusals.filter(({ description, code }) =>
      [description, code].some((text) => text === "" || text.includes("‹value›")),
    );
    expect(blank).toEqual([]);
  });

  it("has every text that is written where a refusal is made", () => {
    const descriptions = inLibrary(/new OAuthError\(\s*"\w+",\s*\{\s*description:\s*"([^"]+)"/g);
    expect(descriptions.length).toBeGreaterThan(10);
    expect(descriptions.filter((text) => !made.errors.text.includes(`**${text}**`))).toEqual([]);
  });

  it("has every warning", () => {
    const codes = inLibrary(/\b(?:warn|mountMistake|advise)(?:\?\.)?\(\s*"([\w-]+)"/g);
    expect(codes.length).toBeGreaterThan(5);
    expect(codes.filter((code) => !made.errors.text.includes(`<a id="${code}"></a>`))).toEqual([]);
  });

  it("has an anchor for every id, and only one", () => {
    const anchors = [...made.errors.text.matchAll(/<a id="([^"]+)"><\/a>/g)].map(([, id]) => id);
    expect(new Set(anchors).size).toBe(anchors.length);
    expect(made.errors.ids.length).toBeGreaterThan(100);
    expect(made.errors.ids.filter((id) => !anchors.includes(id))).toEqual([]);
  });

  it("has no id twice, but where several places warn of one thing", () => {
    const { ids, warnings } = made.errors;
    const others = ids.filter((id) => !warnings.some(({ code }) => code === id));
    expect(others.filter((id, place) => others.indexOf(id) < place)).toEqual([]);
    expect(others.filter((id) => !/^[a-z]+(?:-[a-z\d]+)*$/.test(id))).toEqual([]);
  });

  it("has an id for every error that the host meets", () => {
    const files = readdirSync(path.join(repository, "lib"), { recursive: true, encoding: "utf8" });
    const plain = files.filter(
      (file) => file.endsWith(".ts") && /\bnew (?:Type|Range)?Error\(/.test(read(path.join("lib", file))),
    );
    expect(plain.toSorted()).toEqual([
      "adapters/redis/client.ts", // caught, and sent again
      "cli.ts", // becomes part of another error
      "cli/command.ts", // wrong usage has an exit code
      "http/request.ts", // the client has gone, so nobody is told
      "protocol/mistake.ts",
      "protocol/oauth-error.ts",
      "signing/remote-signer.ts", // caught: a problem of the options says it
      "signing/signing-key.ts", // caught: a problem of the options says it
      "tokens/refresh-successor.ts", // cannot happen
    ]);
  });

  it("has every public function", () => {
    const names = [authmount, postgres, redis, testing].flatMap(Object.keys);
    expect(names.filter((name) => !made.functions.names.includes(name))).toEqual([]);
  });

  it("has every method of the storage ports", () => {
    const methods = Object.values(storageMethods).flatMap(Object.keys);
    expect(methods.filter((name) => !new RegExp(`^### \\w+\\.${name}$`, "m").test(made.ports.text))).toEqual(
      [],
    );
  });
});
