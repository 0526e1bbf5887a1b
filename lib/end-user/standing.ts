/** What is in force between an end user and a client at an API, as a request relies on it. RFC 6749 §10.2, 7009 §2.1. */
import type { Consent, ConsentKey } from "../protocol/consent";
import { type EndKeys, endKeysOf, isBornUnder } from "../protocol/end-mark";
import { OAuthError } from "../protocol/oauth-error";
import type { EpochSeconds } from "../protocol/time";
import { findMarks } from "../storage/end-marks";
import type { Storage } from "../storage/port";

/** What reading it needs. */
export interface StandingPorts {
  readonly storage: Pick<Storage, "consents" | "endMarks">;
}

/** `undefined` where nothing has been ended. */
type Mark = string | undefined;

/** The end marks that concern an approval, as they were read at one time. */
export interface ReadMarks {
  /** The end user's, the client's, and that of the two at the API. */
  readonly approval: readonly [subject: Mark, client: Mark, approval: Mark];
  /** That of all consents of the end user, that of the two at the API, that of the context, and that of a consent to less there. */
  readonly consent: readonly [ofSubject: Mark, everyContext: Mark, oneContext: Mark, narrowed: Mark];
  /** That of a no on the consent page. */
  readonly page: Mark;
}

/** What is in force between an end user and a client at an API. */
export interface Standing {
  readonly key: ConsentKey;
  /** The keys of the end marks that concern it. */
  readonly endKeys: EndKeys;
  readonly marks: ReadMarks;
  /** All of these marks: what is approved now is born under them. */
  readonly endMarks: readonly string[];
  /** The remembered consent, unless it was ended or is not looked up. */
  readonly consent: Consent | undefined;
  /** True when it was looked up and there is none, ended or not. */
  readonly isFirstVisit: boolean;
}

/** The refusal of a request whose person or client was ended while it was under way, or who has withdrawn: that is a no. */
export function endedMeanwhile(): OAuthError {
  return new OAuthError("access_denied", {
    description: "The end user did not grant access.",
    reason:
      "while this request was under way, what it relies on was ended (auth.consents.revoke, auth.subjects, auth.clients)",
  });
}

/** The end marks that concern approvals with these keys, as they are now. */
export async function readMarks(
  { storage }: { readonly storage: Pick<Storage, "endMarks"> },
  { endKeys, now }: { endKeys: EndKeys; now: EpochSeconds },
): Promise<ReadMarks> {
  const keys = [...endKeys.approval, ...endKeys.consent, ...endKeys.page];
  const [subject, client, ofApproval, ofSubject, everyContext, oneContext, narrowed, page] = await findMarks(
    storage.endMarks,
    { keys, now },
  );
  return {
    approval: [subject, client, ofApproval],
    consent: [ofSubject, everyContext, oneContext, narrowed],
    page,
  };
}

/**
 * What is in force. To be read before anything that an approval relies on: an end in between is then noticed when the marks are read
 * again.
 */
export async function findStanding(
  ports: StandingPorts,
  {
    key,
    page,
    withConsent,
    clientDigest,
    now,
  }: {
    key: ConsentKey;
    /** Names the consent page that the end user was shown. */
    page?: string | undefined;
    withConsent: boolean;
    /** What a client that nobody registered says of itself now. */
    clientDigest: string | undefined;
    now: EpochSeconds;
  },
): Promise<Standing> {
  const endKeys = endKeysOf({ ...key, page });
  const [marks, found] = await Promise.all([
    readMarks(ports, { endKeys, now }),
    withConsent ? ports.storage.consents.find(key, now) : undefined,
  ]);
  const { approval, consent } = marks;
  const counts = ({ endMarks, clientDigest: digest }: Consent): boolean =>
    isBornUnder(endMarks, [approval[1], ...consent]) && digest === clientDigest;
  return {
    key,
    endKeys,
    marks,
    endMarks: [...approval, ...consent].filter((mark) => mark !== undefined),
    consent: found && counts(found) ? found : undefined,
    isFirstVisit: withConsent && !found,
  };
}
