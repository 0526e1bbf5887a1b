// @ts-check
/**
 * Makes the pictures in docs/screenshots/ a third as big, because the package carries some of them: each gets a palette of its 256 most
 * frequent colours, and the few other dots get the nearest of these. make-screenshots.js calls it; it also runs alone:
 *
 *     node lab/pictures/shrink-pictures.js
 */
const { readdirSync, readFileSync, writeFileSync } = require("node:fs");
const path = require("node:path");
const { crc32, deflateSync, inflateSync } = require("node:zlib");

const signature = Buffer.from("89504e470d0a1a0a", "hex");
/** Red, green and blue, as Chromium writes a screenshot (PNG 11.2.1: colour type 2). */
const dotBytes = 3;

/** @param {Buffer} file */
function chunksOf(file) {
  const chunks = [];
  for (let at = signature.length; at < file.length;) {
    const end = at + 8 + file.readUInt32BE(at);
    chunks.push({ type: file.toString("latin1", at + 4, at + 8), data: file.subarray(at + 8, end) });
    at = end + 4;
  }
  return chunks;
}

/** @type {(left: number, above: number, corner: number) => number} The nearest to their sum (PNG 9.4). */
function paeth(left, above, corner) {
  const [fromLeft, fromAbove] = [Math.abs(above - corner), Math.abs(left - corner)];
  const fromCorner = Math.abs(left + above - 2 * corner);
  if (fromLeft <= fromAbove && fromLeft <= fromCorner) return left;
  return fromAbove <= fromCorner ? above : corner;
}

/** @type {readonly ((left: number, above: number, corner: number) => number)[]} What a filter has taken away (PNG 9.2). */
const filters = [() => 0, (left) => left, (_, above) => above, (left, above) => (left + above) >> 1, paeth];

/** The colours of all dots. @type {(data: Buffer, width: number) => number[]} */
function coloursOf(data, width) {
  const rowBytes = width * dotBytes;
  const colours = [];
  let above = Buffer.alloc(rowBytes);
  for (let start = 0; start < data.length; start += rowBytes + 1) {
    const filter = filters[data[start] ?? 0] ?? paeth;
    const row = Buffer.from(data.subarray(start + 1, start + 1 + rowBytes));
    for (let at = 0; at < rowBytes; at += 1) {
      const [left, corner] = [row[at - dotBytes] ?? 0, above[at - dotBytes] ?? 0];
      row[at] = ((row[at] ?? 0) + filter(left, above[at] ?? 0, corner)) & 255;
    }
    for (let at = 0; at < rowBytes; at += dotBytes) colours.push(row.readUIntBE(at, dotBytes));
    above = row;
  }
  return colours;
}

/** @type {(one: number, other: number) => number} */
function distance(one, other) {
  const parts = [16, 8, 0].map((shift) => ((one >> shift) & 255) - ((other >> shift) & 255));
  return parts.reduce((sum, part) => sum + part * part, 0);
}

/** @param {readonly number[]} colours */
function paletteOf(colours) {
  /** @type {Map<number, number>} */
  const counts = new Map();
  for (const colour of colours) counts.set(colour, (counts.get(colour) ?? 0) + 1);
  const byCount = [...counts].toSorted(([, one], [, other]) => other - one).map(([colour]) => colour);
  const palette = byCount.slice(0, 256);
  const places = new Map(palette.map((colour, place) => [colour, place]));
  for (const colour of byCount.slice(256)) {
    const distances = palette.map((known) => distance(known, colour));
    places.set(colour, distances.indexOf(Math.min(...distances)));
  }
  return { palette, places };
}

/** @type {(type: string, data: Buffer) => Buffer} */
function chunk(type, data) {
  const named = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const [length, checksum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  checksum.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, checksum]);
}

/** The same picture with a palette; `undefined` if it has one. @param {Buffer} file */
function shrunk(file) {
  const chunks = chunksOf(file);
  const header = Buffer.from(chunks[0]?.data ?? "");
  if (header[9] !== 2) return undefined;
  const width = header.readUInt32BE(0);
  const compressed = chunks.filter(({ type }) => type === "IDAT").map(({ data }) => data);
  const colours = coloursOf(inflateSync(Buffer.concat(compressed)), width);
  const { palette, places } = paletteOf(colours);
  const rows = [];
  for (let start = 0; start < colours.length; start += width) {
    rows.push(0, ...colours.slice(start, start + width).map((colour) => places.get(colour) ?? 0));
  }
  header[9] = 3;
  return Buffer.concat([
    signature,
    chunk("IHDR", header),
    chunk(
      "PLTE",
      Buffer.from(palette.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255])),
    ),
    chunk("IDAT", deflateSync(Buffer.from(rows), { level: 9 })),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

/** @param {string} folder */
function shrinkPictures(folder) {
  for (const name of readdirSync(folder).filter((each) => each.endsWith(".png"))) {
    const file = path.join(folder, name);
    const smaller = shrunk(readFileSync(file));
    if (smaller) writeFileSync(file, smaller);
  }
}

module.exports = { shrinkPictures };

if (require.main === module) shrinkPictures(path.join(__dirname, "../../docs/screenshots"));
