/** Finds documents of other servers, and limits how often and how many are fetched. RFC 9111 §4.2.4 (stale answers), RFC 9728 §7.7, §7.10. */
import { because } from "../protocol/oauth-error";
import type { Clock } from "../protocol/time";
import { documentMemory, type DocumentMemory, type Fetched } from "./document-memory";
import type { FetchDocument, FetchedDocument } from "./fetch-document";
import { fetchReasons, type FetchRefusal, parseJson } from "./read-document";
import { ownText } from "../protocol/parameters";
import { type Flight, type Flights, flights } from "../recall/single-flight";

/**
 * Who asks for a document. `anyone`: the request is one that strangers can send. `known`: somebody has approved or registered whose
 * document it is.
 */
export type Asker = "anyone" | "known";

/** The fetches that are under way. */
export interface FetchesUnderWay {
  /** The fetch of this URL, whichever caller began it. */
  begun(url: string): Promise<FetchedDocument> | undefined;
  /** Begins a fetch, unless there is no room for it. */
  begin(url: string, asker: Asker): Promise<FetchedDocument> | undefined;
}

/** For each asker: those of strangers leave room for the others. */
const maxUnderWay = 32;
/** Of those that anyone can cause, from one host: it may be slow on purpose. */
const maxOfHost = 8;

/** By their URLs. */
type Fetches = Flights<Flight<FetchedDocument>>;

function hasRoom(fetches: Fetches, { url, asker }: { url: string; asker: Asker }): boolean {
  const others = fetches.keys();
  if (others.length >= maxUnderWay) return false;
  const { host } = new URL(url);
  return asker === "known" || others.filter((other) => new URL(other).host === host).length < maxOfHost;
}

/** At most 32 fetches at a time for each kind of asker; of those that anyone can cause, at most eight from one host. */
export function fetchesUnderWay(fetchDocument: FetchDocument): FetchesUnderWay {
  const byAsker: Readonly<Record<Asker, Fetches>> = { anyone: flights(), known: flights() };
  return {
    begun: (url) => (byAsker.known.get(url) ?? byAsker.anyone.get(url))?.answer,
    begin(url, asker) {
      const fetches = byAsker[asker];
      if (!hasRoom(fetches, { url, asker })) return undefined;
      // a URL that is part of a request must not keep all of the request in memory
      const key = ownText(url);
      return fetches.show(key, { answer: fetchDocument(key) }).answer;
    },
  };
}

/** A good document. */
export interface FoundDocument {
  readonly kind: "found";
  /** JSON, as its server wrote it. */
  readonly text: string;
  /** True when this question has made it be fetched, so that its server has nothing newer. */
  readonly isNew: boolean;
  /** What the JSON says. It is parsed at each reading, so each reader gets a separate copy. */
  readonly value: unknown;
}

/** A document, or why there is none. */
export type DocumentAnswer =
  | FoundDocument
  | (FetchRefusal & {
      /** `refused` and `failed`: what came of the last attempt. `too-many`: nothing was asked, and the same request may succeed soon. */
      readonly kind: "refused" | "failed" | "too-many";
    });

/**
 * Documents of other servers by their URLs. What was found for a `known` asker is kept: no document that `anyone` can have fetched
 * pushes it out. Left out, the asker is `known`.
 */
export interface RememberedDocuments {
  /** The document that is remembered while it is fresh, otherwise a new one, or the last good one if there is no new one. Never rejects. */
  find(url: string, asker?: Asker): Promise<DocumentAnswer>;
  /**
   * The same for `known`, but asks again even while the document is fresh, unless that was done less than 30 seconds ago: then, and where
   * there is no room, the last good one is given, and it is not new. Never rejects.
   */
  refresh(url: string): Promise<DocumentAnswer>;
  /** The document if it is remembered and fresh, and for `known` if it is kept. Nothing is fetched. */
  fresh(url: string, asker?: Asker): FoundDocument | undefined;
  /** The last good document, if it is remembered, fresh or not. Nothing is fetched. */
  peek(url: string): FoundDocument | undefined;
  /** True when most of the time for which the document is fresh has passed. Nothing is fetched. */
  isAgeing(url: string): boolean;
  /** True when the last attempt was in vain, and less than a minute ago. Nothing is fetched. */
  isFailing(url: string): boolean;
}

/** What documents are fetched with. */
export interface RememberOptions {
  readonly fetchDocument: FetchDocument;
  readonly clock: Clock;
}

function toAnswer(document: Fetched, isNew?: boolean): FoundDocument;
function toAnswer(document: FetchedDocument, isNew?: boolean): DocumentAnswer;
function toAnswer(document: FetchedDocument, isNew = false): DocumentAnswer {
  if (document.kind !== "fetched") return document;
  const { text } = document;
  return {
    kind: "found",
    text,
    isNew,
    // parsed only for those who read it
    get value() {
      return parseJson(text);
    },
  };
}

function foundIn(document: Fetched | undefined): FoundDocument | undefined {
  return document && toAnswer(document);
}

/** Asks for a document, unless that was done lately or there is no room for a fetch: then the last good one is given. */
function askingFor(
  memory: DocumentMemory,
  fetchDocument: FetchDocument,
): (url: string, asker: Asker) => Promise<DocumentAnswer> {
  const underWay = fetchesUnderWay(async (url) => {
    const at = memory.now();
    const outcome = await fetchDocument(url);
    memory.note(url, { at, outcome });
    return outcome;
  });
  const lastGoodOr = (url: string, outcome: FetchedDocument): FetchedDocument =>
    memory.usable(url) ?? outcome;

  return async (url, asker) => {
    const begun = underWay.begun(url);
    // it may have been answered before this question: what it brings is not new
    if (begun) return toAnswer(lastGoodOr(url, await begun));
    const lately = memory.tooEarlyToAsk(url);
    if (lately) return toAnswer(lately);
    const begins = underWay.begin(url, asker);
    if (begins) {
      const outcome = await begins;
      return toAnswer(lastGoodOr(url, outcome), outcome.kind === "fetched");
    }
    const last = memory.usable(url);
    return last ? toAnswer(last) : { kind: "too-many", ...because(fetchReasons, "too-many-fetches") };
  };
}

/**
 * A memory of documents. A good one is used for as long as its headers say, but at least a minute and at most an hour; without headers
 * for five minutes. Then it is asked for again, and if that fails, the last good one is used until it is a day old. A failure is not
 * kept as an answer, but 30 seconds lie between two attempts for one URL. All who wait for a URL share one fetch, and there are
 * only so many at a time (see `fetchesUnderWay`).
 *
 * @rfc 9111 §4.2.4
 */
export function rememberedDocuments({ fetchDocument, clock }: RememberOptions): RememberedDocuments {
  const memory = documentMemory(clock);
  const ask = askingFor(memory, fetchDocument);
  return {
    async find(url, asker = "known") {
      const fresh = memory.fresh(url);
      const answer = fresh ? toAnswer(fresh) : await ask(url, asker);
      if (asker === "known") memory.keep(url);
      return answer;
    },
    async refresh(url) {
      const answer = await ask(url, "known");
      memory.keep(url);
      return answer;
    },
    fresh(url, asker = "known") {
      return asker === "anyone" || memory.isKept(url) ? foundIn(memory.fresh(url)) : undefined;
    },
    peek: (url) => foundIn(memory.usable(url)),
    isAgeing: (url) => memory.isAgeing(url),
    isFailing: (url) => memory.isFailing(url),
  };
}
