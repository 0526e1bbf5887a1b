/** Yes and no to a consent page: at most one of the two takes effect, whatever the browser knows of the other. RFC 6749 §4.1.2.1, §10.2. */
import { answerKey, type EndMark } from "../protocol/end-mark";
import type { Issuer } from "../protocol/issuer";
import { because, OAuthError } from "../protocol/oauth-error";
import { clockDriftSeconds, type EpochSeconds } from "../protocol/time";
import { findMarks } from "../storage/end-marks";
import type { Storage } from "../storage/port";
import type { ConsentPage } from "./port";
import { endUserReasons } from "./refusals";

// Each answer first stores its mark and then looks for that of the other one, so they never both take effect. Both give way if they meet.

/** An answer to a page, by the end user who was shown it. */
export interface PageAnswered {
  readonly subject: string;
  readonly page: string;
  readonly issuer: Issuer;
  readonly now: EpochSeconds;
}

interface AnswerPorts {
  readonly storage: Pick<Storage, "endMarks">;
}

/** The refusal of an answer to a page that has the other answer. The client is told nothing: what it was told before stays true. */
export function answeredBefore(): OAuthError {
  return new OAuthError("invalid_request", {
    description: "This sign-in was already finished.",
    ...because(endUserReasons, "page-answered-before"),
    situation: "lost",
  });
}

/** The mark of an answer, for as long as the page can be answered. Only whether there is one matters, not its value. */
function markOf(answered: PageAnswered, answer: "yes" | "no"): EndMark {
  const { issuer, now } = answered;
  const key = answerKey(answered, answer);
  const expiresAt = now + issuer.api.lifetimes.interactionSeconds + clockDriftSeconds;
  return { key, mark: key.slice(-22), expiresAt };
}

/** Stores the mark of a yes, which takes effect if no mark of a no is found afterwards. */
export async function noteYes({ storage }: AnswerPorts, answered: PageAnswered): Promise<void> {
  await storage.endMarks.save(markOf(answered, "yes"), answered.now);
}

/**
 * Stores the mark of a no, before the client is told. After a yes it stores nothing, so that the yes can be repeated.
 *
 * @throws OAuthError when there is a yes, also one that is under way
 */
export async function noteNo({ storage }: AnswerPorts, answered: PageAnswered): Promise<void> {
  const { now } = answered;
  const keys = { yes: answerKey(answered, "yes") };
  const checkNoYes = async (): Promise<void> => {
    const { yes } = await findMarks(storage.endMarks, { keys, now });
    if (yes !== undefined) throw answeredBefore();
  };
  await checkNoYes();
  await storage.endMarks.save(markOf(answered, "no"), now);
  await checkNoYes();
}

/** A no on behalf of the person who was shown the page. Before it was shown there is no yes, and strangers must not store anything. */
export async function closePage(
  ports: AnswerPorts,
  { page, ...at }: { page: ConsentPage } & Pick<PageAnswered, "issuer" | "now">,
): Promise<void> {
  if (page.shownTo !== undefined) await noteNo(ports, { ...at, page: page.name, subject: page.shownTo });
}
