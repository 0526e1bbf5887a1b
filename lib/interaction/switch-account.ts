/** "Not you?" on the consent page: the person asks for another account. OpenID Connect Core §3.1.2.1 (`select_account`). */
import { parsePrompt } from "../protocol/authorization-request";
import type { Parameters } from "../protocol/parameters";
import { consentFormTokenMatches } from "./consent-form";
import type { PendingRequest } from "./pending-request";

/** True when the consent page's form asks for another account. */
export function asksForAccount(form: Parameters): boolean {
  return form.get("decision") === "switch";
}

/** True when the form is the one that this pending request has shown last, so no other site can send the person to sign in again. */
export function isShownForm(
  form: Parameters,
  { pending, secrets }: { pending: PendingRequest; secrets: readonly string[] },
): boolean {
  const { interactionId, consentSubject: subject, contextKey = "", endMarks = [] } = pending;
  if (subject === undefined) return false;
  const binding = { interactionId, subject, contextKey, endMarks };
  return consentFormTokenMatches(form.get("form_token"), { binding, secrets });
}

/** The pending request as if the client had asked with `prompt=select_account`: that is how the host's page hears of the wish. */
export function choosingAccount(pending: PendingRequest): PendingRequest {
  const { parameters, switches = 0 } = pending;
  const prompt = new Set([...(parsePrompt(parameters["prompt"]) ?? []), "select_account"]);
  return { ...pending, switches: switches + 1, parameters: { ...parameters, prompt: [...prompt].join(" ") } };
}
