/** Who the person of an identity assertion is here, as the host says it. draft-ietf-oauth-identity-assertion-authz-grant-03 §4.4.1. */
import type { ClientRequest } from "../clients/authenticate-client";
import type { ClientLookup } from "../clients/client-lookup";
import { askHost, invalidAnswer } from "../host/ask";
import { type IdentityAssertion, identityRefusal, type VouchedPerson } from "../protocol/identity-assertion";
import { OAuthError } from "../protocol/oauth-error";
import type { Clock } from "../protocol/time";
import { type BasisPorts, findBasis, isClientReplaced } from "./approval-basis";
import { namedEndUser } from "./authenticate-end-user";
import { authenticationKeys, authenticationProblem } from "./check-host-answer";
import type { EndUser, IdentityAnswer, IdentityAssertions } from "./port";

/** What asking needs. */
export interface VouchPorts extends BasisPorts {
  readonly clients: Pick<ClientLookup, "isTaken" | "findCurrent">;
  readonly authMethods: Readonly<Record<string, { readonly identityAssertions?: IdentityAssertions }>>;
  readonly clock: Clock;
}

/** An assertion that was proven. */
interface VouchQuestion {
  readonly assertion: IdentityAssertion;
  readonly request: Pick<ClientRequest, "issuer" | "client" | "endMark" | "now">;
}

const { interaction: _, ...keys } = authenticationKeys;

async function ask(ports: VouchPorts, { assertion, request }: VouchQuestion): Promise<EndUser> {
  const by = "identityAssertions.accept";
  const { identityAssertions } = ports.authMethods[request.issuer.authMethodId] ?? {};
  const question = { ask: () => identityAssertions?.accept(assertion), keys };
  const answer = await askHost<IdentityAnswer>(by, question);
  const problem = authenticationProblem(answer, ports.clock());
  if (problem !== undefined) throw invalidAnswer(by, problem);
  if (answer.kind === "authenticated") return namedEndUser(ports, { answer, by });
  const { code, reason, description } = identityRefusal("identity-denied");
  throw new OAuthError("invalid_grant", { description: answer.description ?? description, code, reason });
}

/**
 * The person, and the marks under which everything is born that they are given now. The marks are read after the host has answered. Where
 * everything of the person was ended before, the host may have looked them up before that, and is asked again, as at an approval.
 *
 * @throws OAuthError `invalid_grant` where the host denies the person, or everything was ended meanwhile
 * @throws TypeError when the host's answer is invalid
 */
export async function vouchedPerson(ports: VouchPorts, question: VouchQuestion): Promise<VouchedPerson> {
  const { request } = question;
  const { issuer, client, now } = request;
  const { apiId, audience } = issuer.api;
  const first = await ask(ports, question);
  const { subject, context } = first;
  const key = { subject, clientId: client.clientId, apiId, contextKey: context?.key ?? "" };
  const basis = await findBasis(ports, { key, audience, withConsent: false, clientDigest: undefined, now });
  const { endKeys, endMarks, marks } = basis;
  const person = marks.subject === undefined ? first : await ask(ports, question);
  const isOther = person.subject !== subject || person.context?.key !== context?.key;
  if (isOther || (await isClientReplaced(ports, { registered: request, issuer, basis })))
    throw identityRefusal("identity-ended-meanwhile");
  return { subject, facts: person.facts, context: person.context, endKeys, endMarks };
}
