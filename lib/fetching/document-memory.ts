/** What is remembered of the documents of other servers, and for how long it counts. RFC 9111 §4.2 (freshness), §4.2.4 (stale answers). */
import { LRUCache } from "lru-cache";
import { ownText } from "../protocol/parameters";
import type { Clock } from "../protocol/time";
import { type Moment, momentsOf, mostSecondsBetween, secondsBetween } from "../recall/moment";
import type { FetchedDocument } from "./fetch-document";

/** A good document, as text: its objects could take twenty times as much memory. */
export type Fetched = Extract<FetchedDocument, { readonly kind: "fetched" }>;

/** Why an attempt gave no document. */
export type NotFetched = Exclude<FetchedDocument, Fetched>;

/** What is known of a URL. */
interface Entry {
  /** The last good document, with the moment at which its fetch began. */
  readonly good: { readonly document: Fetched; readonly at: Moment } | undefined;
  /** When the URL was last asked, and why in vain. */
  readonly attempt: { readonly at: Moment; readonly failure: NotFetched | undefined };
}

/** A memory of documents and of attempts, by URL. It reads the clock itself. */
export interface DocumentMemory {
  /** The current moment. */
  readonly now: () => Moment;
  /** The last good document, unless it is a day old. */
  usable(url: string): Fetched | undefined;
  /** The same, but only as long as it need not be asked for again. */
  fresh(url: string): Fetched | undefined;
  /** True when three quarters of the time for which the document is fresh have passed. */
  isAgeing(url: string): boolean;
  /** True when the last attempt was in vain, and less than a minute ago. */
  isFailing(url: string): boolean;
  /** What to answer without asking again, because the last attempt was less than 30 seconds ago. */
  tooEarlyToAsk(url: string): FetchedDocument | undefined;
  /** True while a document is remembered for which `keep` was called. */
  isKept(url: string): boolean;
  /** Keeps the document, if there is one, apart from those of strangers, and also those that come later from this URL. */
  keep(url: string): void;
  /** Notes what came of an attempt that began at this moment. */
  note(url: string, attempt: { readonly at: Moment; readonly outcome: FetchedDocument }): void;
}

/** The limit for kept documents, and again for the others: anyone can have these fetched, and they must not push out kept ones. */
const maxDocuments = 1_000;
/** URLs without a document. They have their own memory, so that a flood of them pushes no document out. */
const maxFailures = 1_000;

/** The time between two attempts for one URL. */
const floorSeconds = 30;
/** An attempt in vain that is older says nothing of how it is now. */
const failingSeconds = 60;
const freshness = { least: 60, unstated: 300, most: 3_600 };
/** For how long a document is used, counted from its fetch. */
const usableSeconds = 86_400;

function freshSeconds({ maxAgeSeconds = freshness.unstated }: Fetched): number {
  return Math.min(Math.max(maxAgeSeconds, freshness.least), freshness.most);
}

/** What is known of URLs: those whose document is kept, those with another document, and those without one. */
function entriesByUrl(): Pick<DocumentMemory, "isKept" | "keep"> & {
  readonly get: (url: string) => Entry | undefined;
  readonly set: (url: string, entry: Entry) => void;
} {
  const kept = new LRUCache<string, Entry>({ max: maxDocuments });
  const others = new LRUCache<string, Entry>({ max: maxDocuments });
  const failures = new LRUCache<string, Entry>({ max: maxFailures });
  return {
    get: (url) => kept.get(url) ?? others.get(url) ?? failures.get(url),
    isKept: (url) => kept.has(url),
    keep(url) {
      const entry = others.get(url);
      // a URL that is part of a request must not keep all of the request in memory
      if (entry) kept.set(ownText(url), entry);
      others.delete(url);
    },
    set(url, entry) {
      const documents = kept.has(url) ? kept : others;
      for (const entries of [kept, others, failures]) entries.delete(url);
      (entry.good ? documents : failures).set(url, entry);
    },
  };
}

/**
 * A memory of at most 1,000 documents that are kept, 1,000 others and 1,000 failures; of each kind those that were used longest ago are
 * forgotten first. A clock that is set back makes every document stale, because nobody knows how much time has passed.
 *
 * @rfc 9111 §4.2.1, §4.2.4
 */
export function documentMemory(clock: Clock): DocumentMemory {
  const entries = entriesByUrl();
  const now = momentsOf(clock);
  const ageOf = ({ at }: { readonly at: Moment }): number => secondsBetween(at, now());

  function goodOf(url: string): Entry["good"] {
    const good = entries.get(url)?.good;
    return good && ageOf(good) < usableSeconds ? good : undefined;
  }

  return {
    now,
    usable: (url) => goodOf(url)?.document,
    fresh(url) {
      const good = goodOf(url);
      return good && mostSecondsBetween(good.at, now()) < freshSeconds(good.document)
        ? good.document
        : undefined;
    },
    isAgeing(url) {
      const good = goodOf(url);
      return good !== undefined && ageOf(good) >= freshSeconds(good.document) * 0.75;
    },
    isFailing(url) {
      const attempt = entries.get(url)?.attempt;
      return attempt?.failure !== undefined && ageOf(attempt) < failingSeconds;
    },
    isKept: entries.isKept,
    keep: entries.keep,
    tooEarlyToAsk(url) {
      const attempt = entries.get(url)?.attempt;
      if (!attempt || ageOf(attempt) >= floorSeconds) return undefined;
      return goodOf(url)?.document ?? attempt.failure;
    },
    note(url, { at, outcome }) {
      const isGood = outcome.kind === "fetched";
      const good = isGood ? { document: outcome, at } : goodOf(url);
      entries.set(url, { good, attempt: { at, failure: isGood ? undefined : outcome } });
    },
  };
}
