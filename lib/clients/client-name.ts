/** The name that a client gives itself. RFC 7591 §2 (`client_name`). */

const maxLength = 100;

/** Marks on one letter, such as accents. More of them would be drawn over the lines above and below, and hide what these say. */
const surplusMarks = /(?<=\p{M}{4})\p{M}+/gu;

/**
 * The name as people may read it, or `undefined` when it is none. Control characters and those that change the direction of text are
 * removed, and so are those that nobody sees: with them a name could hide a part of itself, or look like a part of the page.
 */
export function readClientName(value: unknown): string | undefined {
  if (typeof value !== "string") return undefined;
  const name = value
    .slice(0, 10 * maxLength)
    .normalize("NFC")
    .replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gu, "")
    .replaceAll(surplusMarks, "")
    .replaceAll(/\s+/g, " ")
    .trim();
  return name === "" ? undefined : Array.from(name).slice(0, maxLength).join("");
}
