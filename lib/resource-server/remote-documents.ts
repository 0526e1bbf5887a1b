/** Documents of the authorization server: read, checked, remembered, and replaced before they are old. RFC 8414 §3.2, 9728 §3.2, 7517 §5. */
import type { FetchDocument } from "../fetching/fetch-document";
import { failed, fetchTrustedDocument } from "../fetching/fetch-trusted";
import { parseJson } from "../fetching/read-document";
import { rememberedDocuments } from "../fetching/remembered-documents";
import { lateError } from "../protocol/oauth-error";
import type { Clock } from "../protocol/time";

/** What a document says, or what is wrong with it. The text is for the event. */
export type ParsedDocument<T> =
  { readonly kind: "parsed"; readonly value: T } | { readonly kind: "wrong"; readonly reason: string };

/** Says that a document is wrong. */
export function wrong(reason: string): { readonly kind: "wrong"; readonly reason: string } {
  return { kind: "wrong", reason };
}

/** Documents of one kind, by their URLs. */
export interface RemoteDocuments<T> {
  /**
   * The document. A fresh one is answered from memory; one that gets old is fetched again meanwhile, and so is the last good one while
   * the server does not answer.
   *
   * @throws Error that leads to 503 when there is no document that is less than a day old.
   */
  find(url: string): Promise<T>;
  /** Asks again, unless that was done less than 30 seconds ago. @throws as `find` does */
  refresh(url: string): Promise<T>;
  /** The document while it is fresh. Nothing is waited for. */
  fresh(url: string): T | undefined;
}

/** What documents are, for errors, with the ids of the errors about them. */
const unusable = {
  "the metadata of an issuer": "issuer-metadata-unusable",
  "the key set": "key-set-unusable",
  "the metadata of the API": "api-metadata-unusable",
} as const;

/** How documents of one kind are found. */
export interface RemoteDocumentOptions<T> {
  /** For errors: what the documents are. */
  readonly name: keyof typeof unusable;
  readonly clock: Clock;
  readonly parse: (value: object, url: string) => ParsedDocument<T>;
  /** What to do when there is none. */
  readonly fix?: string;
}

function parseText<T>(
  text: string,
  { url, parse }: { url: string; parse: RemoteDocumentOptions<T>["parse"] },
): ParsedDocument<T> {
  const value = parseJson(text);
  return typeof value === "object" && value !== null ? parse(value, url) : wrong("it is no JSON object");
}

/** A good document, and what it says. */
interface ParsedText<T> {
  readonly text: string;
  readonly value: T;
}

/** The last good document of each URL. The URLs come from options and from documents that were checked. */
type Parsed<T> = Map<string, ParsedText<T>>;

/** Fetches documents, and notes what the good ones say. */
function fetchInto<T>(parsed: Parsed<T>, parse: RemoteDocumentOptions<T>["parse"]): FetchDocument {
  return async (url) => {
    const document = await fetchTrustedDocument(url);
    if (document.kind !== "fetched") return document;
    const { text } = document;
    // an unchanged document keeps its value, so that keys stay the same objects
    if (parsed.get(url)?.text === text) return document;
    const outcome = parseText(text, { url, parse });
    if (outcome.kind !== "parsed") return failed(outcome.reason);
    parsed.set(url, { text, value: outcome.value });
    return document;
  };
}

/**
 * Remembers documents as `rememberedDocuments` does. A wrong document is treated like one that did not arrive: the last good one stays in
 * use, for a day at most. What a document says is parsed once.
 */
export function remoteDocuments<T>({
  name,
  clock,
  parse,
  fix,
}: RemoteDocumentOptions<T>): RemoteDocuments<T> {
  const parsed: Parsed<T> = new Map();
  const documents = rememberedDocuments({ clock, fetchDocument: fetchInto(parsed, parse) });

  /** What a document says that is remembered: it was parsed when it came. */
  function valueAt(url: string): T {
    return (parsed.get(url) as ParsedText<T>).value;
  }

  async function ask(how: "find" | "refresh", url: string): Promise<T> {
    const answer = await documents[how](url);
    if (answer.kind === "found") return valueAt(url);
    throw lateError(
      unusable[name],
      `${name} at ${url} can't be used: ${answer.reason}${fix === undefined ? "" : `. ${fix}`}`,
    );
  }

  function fresh(url: string): T | undefined {
    if (!documents.fresh(url)) return undefined;
    // nobody waits for this, and it never rejects
    if (documents.isAgeing(url)) void documents.refresh(url);
    return valueAt(url);
  }

  /** The last good document during an outage, in which nobody should wait again and again. */
  function lastGood(url: string): T | undefined {
    if (!documents.isFailing(url) || !documents.peek(url)) return undefined;
    void documents.refresh(url);
    return valueAt(url);
  }

  return {
    find: async (url) => fresh(url) ?? lastGood(url) ?? ask("find", url),
    refresh: (url) => ask("refresh", url),
    fresh,
  };
}
