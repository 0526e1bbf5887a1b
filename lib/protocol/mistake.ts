/** Texts for the host developer with stable ids, and the errors that carry them. RFC 6749 §10. */

/** Id in kebab case → the text, or a function that gives it. An id never changes its meaning; the text may be improved. */
export type CodedTexts = Readonly<Record<string, string | ((...parts: never[]) => string)>>;

/** What the text of an id is made of. */
export type TextParts<Text> = Text extends (...parts: infer Parts) => string ? Parts : [];

/** The text of an id of this list. */
export function codedText<Texts extends CodedTexts, Code extends keyof Texts>(
  texts: Texts,
  { code, parts }: { readonly code: Code; readonly parts: TextParts<Texts[Code]> },
): string {
  const text: unknown = texts[code];
  return typeof text === "function" ? (text as (...parts: unknown[]) => string)(...parts) : String(text);
}

/** A mistake of the host. */
export type HostMistake = TypeError & { readonly code: string };

/** A `TypeError` with the id of the mistake. */
export function hostMistake(
  code: string,
  message: string,
  options?: { readonly cause: unknown },
): HostMistake {
  return Object.assign(new TypeError(message, options), { code });
}

/** The id of an error of this library. Codes of drivers are not in kebab case. */
export function idOf(error: unknown): string | undefined {
  try {
    const { code } = error as { readonly code?: unknown };
    return typeof code === "string" && /^[a-z]+(?:-[a-z\d]+)+$/.test(code) ? code : undefined;
  } catch {
    // undefined, null, or a property that throws
    return undefined;
  }
}

/** Makes the errors of a list. */
export function mistakesOf<Texts extends CodedTexts>(
  texts: Texts,
): <Code extends keyof Texts & string>(code: Code, ...parts: TextParts<Texts[Code]>) => HostMistake {
  return (code, ...parts) => hostMistake(code, codedText(texts, { code, parts }));
}
