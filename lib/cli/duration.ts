/** Durations as they are written on the command line. */

const unitSeconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };

/** The seconds of a duration such as `7d` or `0`; `undefined` for another text. */
export function parseDuration(text: string): number | undefined {
  if (text === "0") return 0;
  const unit = unitSeconds[text.slice(-1)];
  return unit !== undefined && /^\d{1,6}\D$/.test(text) ? Number.parseInt(text, 10) * unit : undefined;
}

/** A time as people read it. */
export function timeInWords(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace(".000Z", "Z");
}
