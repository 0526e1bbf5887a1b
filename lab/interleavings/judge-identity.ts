/** What must hold of all that is told of the person, by ID tokens and userinfo. OpenID Connect Core §2, §5.3; RFC 7009 §2.1, 9700 §4.14.2. */
import { authorizationOf, type Held } from "./family";
import { client } from "./host";
import { type Case, isAcknowledged, isFaulty, type Ran } from "./loot";
import type { OperationName } from "./operations";
import { idTokenSigner } from "../../lib/signing/jwt-signer";

type Claims = Readonly<Record<string, unknown>>;

/** Something that was told of the person. */
interface Told {
  readonly by: Ran;
  readonly what: "an ID token" | "a userinfo answer";
  readonly claims: Claims;
  /** What was presented for it. */
  readonly held: Held;
}

const changing: OperationName = "client changed";

/** What the operation presents that may tell of the person. */
function presentedBy({ family }: Case, { name, operation: { presents } }: Ran): Held | undefined {
  const [ofTokens] = family.authorizationIds;
  if (name === "ask userinfo") {
    const [, , text = ""] = family.accessTokens;
    return { kind: "access token", text, owner: "family", authorizationId: ofTokens };
  }
  const text = presents?.(family);
  if (text === undefined) return undefined;
  const kind = text === family.code ? "code" : "refresh token";
  return { kind, text, owner: "family", authorizationId: authorizationOf(text) };
}

function toldBy(all: Case, by: Ran): Told | undefined {
  const { kind, body } = by.outcome ?? {};
  const held = presentedBy(all, by);
  if (!held || !body || kind !== "done") return undefined;
  if (held.kind === "access token") return { by, what: "a userinfo answer", claims: body, held };
  const { host } = all;
  const idToken = body["id_token"];
  if (typeof idToken !== "string") return undefined;
  const claims = idTokenSigner(host.ring, host.now).verify(idToken) ?? {};
  return { by, what: "an ID token", claims, held };
}

/** True for an operation that has ended what this needs, as far as whoever asked for that knows. */
function hasEnded({ family }: Case, { end, held }: { end: Ran; held: Held }): boolean {
  const { operation, name, events } = end;
  const isReplay = events.some(
    (event) => event.kind === "replay-detected" && event.authorizationId === held.authorizationId,
  );
  if (isReplay) return true;
  const isMeant =
    name === "disable the client" ||
    operation.ends?.(held, family) === true ||
    // what is left has no openid
    operation.takesWriting?.includes(held.owner) === true;
  return isMeant && isAcknowledged(end);
}

/** The calls by which something is ended, and the look that sees it. */
const endings: readonly { readonly by: readonly string[]; readonly look: string }[] = [
  {
    by: [
      "authorizations.revoke",
      "authorizations.revokeAll",
      "authorizations.erase",
      "authorizations.narrowAll",
    ],
    look: "authorizations.find",
  },
  { by: ["accessTokens.revoke"], look: "accessTokens.isRevoked" },
  { by: ["clients.save"], look: "clients.find" },
];

const marking = { by: ["endMarks.save"], look: "endMarks.find" };

/** The ends that are marks. Others save marks of consents, which authorizations do not look at. */
const byMarks: readonly OperationName[] = ["revoke the client", "delete the client", "end the API"];

/** True when the end was stored before the host had told the claims, or before storage was looked at afterwards. */
function isTooLate({ stepOf }: Ran, end: Ran): boolean {
  const toldAt = stepOf("host.claims") ?? 0;
  const all = byMarks.includes(end.name) ? [...endings, marking] : endings;
  return all.some(({ by, look }) => {
    const stored = Math.min(...by.map((call) => end.stepOf(call) ?? Infinity));
    return stored < Math.max(toldAt, stepOf(look) ?? 0);
  });
}

/** Nothing is told of an authorization, or by a token, that was ended before the last look at storage. */
function afterEnds(all: Case, { by, what, held }: Told): readonly string[] {
  return all.ran
    .filter((end) => end !== by && hasEnded(all, { end, held }) && isTooLate(by, end))
    .map(({ name }) => `"${name}" had ended it, and "${by.name}" gave ${what}`);
}

/** A client that may no longer ask for sign-ins gets no ID token for what it asks since then. */
function afterChange({ ran }: Case, { by, what }: Told): readonly string[] {
  if (what !== "an ID token") return [];
  const asked = by.stepOf("clients.find", by.stepOf("host.claims")) ?? -1;
  const isChanged = ran.some(
    ({ name, stepOf, outcome }) =>
      name === changing && outcome?.kind === "done" && (stepOf("clients.save") ?? Infinity) < asked,
  );
  return isChanged ? [`the client may no longer ask for openid, and "${by.name}" gave ${what}`] : [];
}

/** It is about the person of the authorization, for its client, by its issuer, and only where a sign-in was granted. */
function aboutOthers({ host }: Case, { by, what, claims }: Told): readonly string[] {
  const { sub, aud, iss } = claims;
  const isToken = what === "an ID token";
  const isRight =
    sub === "alice" && (!isToken || (aud === client.clientId && iss === host.issuer.identifier));
  const scopes = String(by.outcome?.body?.["scope"]).split(" ");
  return [
    ...(isRight ? [] : [`"${by.name}" gave ${what} about somebody or for somebody else`]),
    ...(isToken && !scopes.includes("openid") ? [`"${by.name}" gave ${what} without openid`] : []),
  ];
}

/** Who uses something up a second time is told nothing. */
function byReplays(all: readonly Told[]): readonly string[] {
  const replays = all.filter(
    ({ by }) => by.name === "replay" || by.events.some(({ kind }) => kind === "replay-detected"),
  );
  const byCode = all.filter(({ held }) => held.kind === "code");
  return [
    ...replays.map(({ by, what }) => `"${by.name}" was a replay, and gave ${what}`),
    ...(byCode.length > 1 ? ["a code has given an ID token twice"] : []),
  ];
}

/** Where nothing has ended or changed, a client that gets tokens for a sign-in is told who has signed in. */
function untold(all: Case, told: readonly Told[]): readonly string[] {
  const mayLack = (held: Held): boolean =>
    isFaulty(all) || all.ran.some((end) => end.name === changing || hasEnded(all, { end, held }));
  return all.ran.flatMap((one) => {
    const held = presentedBy(all, one);
    const isDone = one.outcome?.kind === "done" && one.operation.word === undefined;
    if (!held || !isDone || mayLack(held) || told.some(({ by }) => by === one)) return [];
    return [`"${one.name}" was answered without a word about the person`];
  });
}

/** What is wrong with what was told of the person, or nothing. */
export function identities(all: Case): readonly string[] {
  if (all.family.format !== "openid") return [];
  const told = all.ran.flatMap((one) => toldBy(all, one) ?? []);
  return [
    ...told.flatMap((one) => [...afterEnds(all, one), ...afterChange(all, one), ...aboutOthers(all, one)]),
    ...byReplays(told),
    ...untold(all, told),
  ];
}
