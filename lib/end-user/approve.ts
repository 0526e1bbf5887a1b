/** Turns an approval into a code, unless something that it relies on is ended while it is stored. RFC 6749 §4.1.2, 7009 §2.1. */
import type { EmitEvent } from "../events/port";
import type { AuthorizationRequest } from "../protocol/authorization-request";
import type { Consent } from "../protocol/consent";
import { type AuthorizationAnswer, authorizationAnswer } from "../protocol/authorization-response";
import { type CurrentMark, type CurrentMarks, endedKey, isBornUnder } from "../protocol/end-mark";
import { because, OAuthError } from "../protocol/oauth-error";
import { isSubset } from "../protocol/scope";
import { clockDriftSeconds, type EpochSeconds } from "../protocol/time";
import { allStored } from "../storage/calls";
import { checkBirth, eraseAfter, findMarks } from "../storage/end-marks";
import type { Storage } from "../storage/port";
import {
  type Approval,
  authorizationLifeSeconds,
  type CodeIssuePorts,
  issueAuthorizationCode,
  issueDeviceCode,
} from "../tokens/issue-code";
import { closeDevice } from "./close-device";
import type { ConsentResult } from "./obtain-consent";
import { answeredBefore } from "./page-answers";
import type { EndUser } from "./port";
import { endedMeanwhile } from "./approval-basis";
import { endUserReasons } from "./refusals";

/** What an approval needs. */
export interface ApprovalPorts extends CodeIssuePorts {
  /** Returns 128 random bits as base64url: the id of an authorization, or an end mark. */
  readonly randomId: () => string;
  readonly storage: Pick<
    Storage,
    | "authorizations"
    | "authorizationCodes"
    | "consents"
    | "endMarks"
    | "clientRegistrations"
    | "parkedRequests"
  >;
  readonly emit: EmitEvent;
}

/** A request that the end user allowed, or that the host allowed for them. */
export interface Approved {
  readonly request: AuthorizationRequest;
  readonly endUser: EndUser;
  /** The granted scopes, what to remember of them, and the end marks that the approval is born under. */
  readonly consent: Extract<ConsentResult, { kind: "granted" }>;
  /** Names the page that was answered; `undefined` where none was shown. */
  readonly page: string | undefined;
  readonly now: EpochSeconds;
}

/**
 * Stores a mark that ends the consents of this key which were given until now, also one that is only being saved. Nobody has withdrawn, so
 * nothing else ends.
 */
async function endEarlierConsents(
  { storage, randomId }: ApprovalPorts,
  { approved: { consent, now }, remember }: { approved: Approved; remember: Omit<Consent, "endMarks"> },
): Promise<string> {
  const mark = randomId();
  const { narrowed: key } = consent.basis.endKeys;
  await storage.endMarks.save({ key, mark, expiresAt: remember.expiresAt + clockDriftSeconds }, now);
  return mark;
}

/**
 * Forgets the consent that this request has stored. A withdrawal that has not ended yet deletes it itself; if it fails, the consent
 * must stay listed, so that it can be withdrawn again.
 */
async function forgetConsent(
  { storage }: Pick<ApprovalPorts, "storage">,
  { approved, marks }: { approved: Approved; marks: CurrentMarks },
): Promise<void> {
  const { consent, now } = approved;
  const { remember, basis } = consent;
  if (!remember) return;
  const isNew = (mark: CurrentMark): mark is string => !isBornUnder(basis.endMarks, { mark });
  const { subject, client, api, approval, consents, everyContext, oneContext, narrowed, lessened } = marks;
  const withdrawals = [everyContext, oneContext].filter(isNew);
  const { consents: key } = basis.endKeys;
  const keys = Object.fromEntries(withdrawals.map((mark) => [mark, endedKey({ key, mark })]));
  const ended = Object.values(await findMarks(storage.endMarks, { keys, now }));
  // the mark for approvals is stored first, so without the other one the withdrawal has just begun. Of a person whose consents were all
  // ended nothing may stay
  const isUnderWay =
    !isNew(consents) && (ended.includes(undefined) || (isNew(approval) && withdrawals.length === 0));
  const [exceptEndMark] = [...withdrawals, consents, subject, client, api, narrowed, lessened].filter(isNew);
  if (isUnderWay || exceptEndMark === undefined) return;
  await storage.consents.delete({ selection: basis.key, exceptEndMark }, now);
}

/** True when the person does not allow something that is remembered, or that they were asked about: another page may just remember it. */
function narrows({ request, consent: { basis } }: Approved, { scopes }: Pick<Consent, "scopes">): boolean {
  return !isSubset([...(basis.consent?.scopes ?? []), ...request.grantableScopes], scopes);
}

/**
 * Stores what to remember. Returns the end marks that the approval is born under from now on. A consent that allows less than was asked, or
 * than the one before, ends that one, and with it what another page of the person is about to remember of it.
 */
async function rememberConsent(
  ports: ApprovalPorts,
  { approved, remember }: { approved: Approved; remember: Omit<Consent, "endMarks"> },
): Promise<readonly string[]> {
  const { consent, now } = approved;
  const ended = narrows(approved, remember) ? [await endEarlierConsents(ports, { approved, remember })] : [];
  const endMarks = [...consent.basis.endMarks, ...ended];
  await ports.storage.consents.save({ ...remember, endMarks }, now);
  return endMarks;
}

/** Stores what to remember, and looks whether everything that the approval relies on still stands. */
async function rememberWhatStands(
  ports: ApprovalPorts,
  { approved, authorizationId }: { approved: Approved; authorizationId: string },
): Promise<void> {
  const { consent, endUser, now } = approved;
  const { remember, basis } = consent;
  const { endKeys, endMarks } = basis;
  const forget = (marks: CurrentMarks): Promise<void> => forgetConsent(ports, { approved, marks });
  const { subject } = endUser;
  const birth = { subject, authorizationId, endKeys, endMarks, now, forget, refusal: endedMeanwhile };
  if (!remember) return checkBirth(ports, birth);
  try {
    const bornUnder = await rememberConsent(ports, { approved, remember });
    await checkBirth(ports, { ...birth, endMarks: bornUnder });
  } catch (failure) {
    // it may be saved all the same, or only later, and the person is about to be asked again: the next answer may be a no
    if (!(failure instanceof OAuthError))
      await endEarlierConsents(ports, { approved, remember }).catch(() => undefined);
    throw failure;
  }
}

/** For how long a client that registered itself stays known after its last authorization has ended: 30 days. */
const registrationRestSeconds = 2_592_000;

/** A client that has registered itself stays known while somebody uses it. The approval succeeds only if it still is. */
async function keepRegistration(
  { storage }: Pick<ApprovalPorts, "storage">,
  { request: { client, issuer }, now }: Approved,
): Promise<void> {
  if (client.selfDescription?.by !== "registration") return;
  const { clientId } = client;
  const expiresAt = now + authorizationLifeSeconds(issuer) + registrationRestSeconds;
  if (await storage.clientRegistrations.extend({ clientId, expiresAt }, now)) return;
  throw new OAuthError("access_denied", {
    description: "The registration of the client has expired.",
    ...because(endUserReasons, "registration-expired"),
  });
}

/**
 * Uses a pushed request up: of several approvals one does. The page that has done so may do it again, for the second click of an impatient
 * person. A page that was opened in time may be answered later, so it is remembered for longer than the `request_uri` lives. It is the first
 * step, so that those who are refused store nothing.
 *
 * @throws OAuthError `invalid_request_uri` when another approval has used it up
 * @rfc 9126 §4, 9101 §6.3
 */
async function useUp(
  { storage: { parkedRequests } }: ApprovalPorts,
  { approved, by }: { approved: Approved; by: string },
): Promise<void> {
  const { request, now } = approved;
  const { pushed, client, issuer } = request;
  if (!pushed) return;
  const expiresAt = pushed.expiresAt + issuer.api.lifetimes.interactionSeconds + clockDriftSeconds;
  const parked = { key: pushed.key, owner: client.clientId, state: "approved", by, expiresAt } as const;
  if ((await parkedRequests?.create(parked, { now })) === "created") return;
  if ((await parkedRequests?.find(pushed.key, now))?.by === by) return;
  throw new OAuthError("invalid_request_uri", {
    description: "The request_uri was used before.",
    ...because(endUserReasons, "request-uri-used-before"),
  });
}

/**
 * Stores the code, unless the page was answered with a no. That is looked for here, after the yes has left its mark, because from the
 * moment a consent is stored other requests rely on it.
 */
async function storeCode(
  ports: ApprovalPorts,
  approval: Approval & { noKey: string | undefined },
): Promise<string | undefined> {
  const { noKey, subject, authorizationId, now } = approval;
  const [code, found] = await allStored([
    issueAuthorizationCode(ports, approval),
    noKey === undefined ? undefined : findMarks(ports.storage.endMarks, { keys: { no: noKey }, now }),
  ]);
  if (found?.no === undefined) return code;
  await ports.storage.authorizations.erase({ subject, authorizationId }, now);
  throw answeredBefore();
}

/**
 * Stores what was approved and returns the answer: with the code, or the last page of who has answered a device. The consent is stored after
 * the code: if storage fails before that, no consent is remembered for a request that failed.
 *
 * @throws OAuthError `access_denied` when something that the approval relies on was ended meanwhile, `invalid_request` when the page was
 * answered with a no or the request of the device is over, `invalid_request_uri` when the pushed request is used up
 * @rfc 6749 §4.1.2
 */
export async function approve(ports: ApprovalPorts, approved: Approved): Promise<AuthorizationAnswer> {
  const { request, endUser, consent, page, now } = approved;
  const { subject, facts } = endUser;
  const { issuer, client, target, state, responseMode: mode } = request;
  const { scopes, context } = consent;
  const { endMarks, noKey } = consent.basis;
  const { device } = target;
  const authorizationId = device?.code.authorizationId ?? ports.randomId();
  const by = page ?? authorizationId;
  const iss = issuer.identifier;
  if (device && (await closeDevice(ports, { device, as: "approved", by, subject, now })) === "repeated")
    return authorizationAnswer(target, { mode, parameters: { code: "", state, iss } });
  await useUp(ports, { approved, by });
  await keepRegistration(ports, approved);
  const allowed = { request, subject, facts, context, grantedScopes: scopes, endMarks, now };
  try {
    const code = (await storeCode(ports, { ...allowed, authorizationId, noKey })) ?? "";
    await rememberWhatStands(ports, { approved, authorizationId });
    // now, and no earlier: what was ended meanwhile must give the device nothing
    if (device) await issueDeviceCode(ports, { ...allowed, authorizationId, device });
    ports.emit({ kind: "authorization-granted", issuer: iss, clientId: client.clientId, subject, scopes });
    return authorizationAnswer(target, { mode, parameters: { code, state, iss } });
  } catch (failure) {
    await eraseAfter(failure, { ...ports, birth: { subject, authorizationId, now } });
    throw failure;
  }
}
