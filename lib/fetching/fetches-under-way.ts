/** Fetches that are under way: one for each URL, and no more than there is room for. RFC 9728 §7.7, §7.10. */
import { ownText } from "../protocol/own";
import type { FetchDocument, FetchedDocument } from "./fetch-document";

/**
 * Who asks for a document. `anyone`: the request is one that strangers can send. `known`: somebody has approved or registered whose
 * document it is.
 */
export type Asker = "anyone" | "known";

/** The fetches that are under way. */
export interface FetchesUnderWay {
  /** The fetch of this URL, whoever has begun it. */
  begun(url: string): Promise<FetchedDocument> | undefined;
  /** Begins a fetch, unless there is no room for it. */
  begin(url: string, asker: Asker): Promise<FetchedDocument> | undefined;
}

/** For each asker: those of strangers leave room for the others. */
const maxUnderWay = 32;
/** Of those that anyone can cause, from one host: it may be slow on purpose. */
const maxOfHost = 8;

/** By their URLs. */
type Fetches = Map<string, Promise<FetchedDocument>>;

function isHostBusy(fetches: Fetches, url: string): boolean {
  const { host } = new URL(url);
  return [...fetches.keys()].filter((other) => new URL(other).host === host).length >= maxOfHost;
}

function hasRoom(fetches: Fetches, { url, asker }: { url: string; asker: Asker }): boolean {
  return fetches.size < maxUnderWay && (asker === "known" || !isHostBusy(fetches, url));
}

/** At most 32 fetches at a time for each kind of asker; of those that anyone can cause, at most eight from one host. */
export function fetchesUnderWay(fetchDocument: FetchDocument): FetchesUnderWay {
  const byAsker: Readonly<Record<Asker, Fetches>> = { anyone: new Map(), known: new Map() };
  return {
    begun: (url) => byAsker.known.get(url) ?? byAsker.anyone.get(url),
    begin(url, asker) {
      const fetches = byAsker[asker];
      if (!hasRoom(fetches, { url, asker })) return undefined;
      // a URL that is part of a request must not keep all of the request in memory
      const key = ownText(url);
      const fetching = fetchDocument(key).finally(() => fetches.delete(key));
      fetches.set(key, fetching);
      return fetching;
    },
  };
}
