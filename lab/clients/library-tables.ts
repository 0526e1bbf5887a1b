/** What a run of the tests sees of libraries, and whether the page says the same. */
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { linesOf, pageOf, programsIn, table, tableIn, withPrograms } from "./make-clients-table";

const repository = path.resolve(__dirname, "../..");

/** A table of the docs that is made by a run. */
export type TableName = "clients" | "verifiers" | "relying parties";

const page = (name: TableName): string => readFileSync(path.join(repository, pageOf(name)), "utf8");

/** A row of the table, while it is filled. */
export interface SeenLibrary {
  readonly library: string;
  readonly version: string;
  readonly cells: Record<string, string>;
  readonly notes: readonly string[];
}

/** Rows that this run has begun, in the order of the table. A test that is skipped begins none. */
export function newTable(): {
  row(library: Omit<SeenLibrary, "cells">): SeenLibrary["cells"];
  readonly seen: readonly SeenLibrary[];
} {
  const seen: SeenLibrary[] = [];
  return {
    seen,
    row(library) {
      const cells = {};
      beforeAll(() => void seen.push({ ...library, cells }));
      return cells;
    },
  };
}

/** The page has what the run has seen. Where a library is missing on this machine, its row is left out of the comparison. */
export function expectPage(
  name: TableName,
  { seen, all }: { seen: readonly SeenLibrary[]; all: number },
): void {
  const { AUTHMOUNT_TABLE: file } = process.env;
  if (file !== undefined) writeFileSync(file, JSON.stringify(seen));
  const shown = tableIn(name, page(name));
  if (seen.length === all) return expect(shown).toBe(table(name, seen));
  const lines = seen.flatMap((each) => linesOf(name, each));
  expect(shown.split("\n")).toEqual(expect.arrayContaining(lines));
}

/** What the page of a table shows of programs is as it is. */
export function expectShownPrograms(name: TableName): string {
  const text = page(name);
  expect(programsIn(text)).not.toEqual([]);
  expect(withPrograms(text)).toBe(text);
  return text;
}

/** docs/clients.md shows or names every program of the folder, and what it shows is as it is. */
export function expectPrograms(folder: string): void {
  const text = expectShownPrograms("clients");
  const files = readdirSync(path.join(repository, folder)).filter((name) => !name.startsWith("_"));
  const named = [...text.matchAll(/`(lab\/clients\/\S+)`/g)].map(([, file = ""]) => file);
  const told = [...programsIn(text), ...named].filter((file) => file.startsWith(`${folder}/`));
  expect(told.toSorted()).toEqual(files.map((name) => `${folder}/${name}`).toSorted());
}
