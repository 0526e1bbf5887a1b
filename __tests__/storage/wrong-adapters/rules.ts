/** The rules of the storage contract, by the names that it gives them. */
export const rule = {
  clientFind: "clients.find returns a registered client with every property",
  clientNone: "clients.find returns nothing for an id that is not exactly a registered one",
  clientDelete:
    "clients.delete leaves an end mark with which nobody has found the client, and none when there was no client",
  clientSave: "clients.save replaces the whole record: nothing stays of what is left out",
  clientList:
    "clients.list has every client once, in pages that follow each other, and none that was deleted",
  originGone:
    "clients.isBrowserOrigin is false for an origin once its last client has given it up or is deleted",
  originKnown: "clients.isBrowserOrigin is true for each origin of a browser client",
  originLike: "clients.isBrowserOrigin is false for an origin that only resembles one",
  originOther: "clients.isBrowserOrigin is false for an origin of a client that is not a browser client",
  consentFind: "consents.find returns what consents.save stored, with every field",
  consentNone: "consents.find returns nothing for a key that differs in any part",
  consentContexts: "consents of two contexts are two consents, and one without a context is a third",
  consentNoContext:
    "a consent whose contextKey is left out and one whose contextKey is empty are the same consent",
  consentLongKeys:
    "consents whose keys differ in the last character are different, also where the key is as long as it can be",
  consentReplaced: "consents.save replaces the consent with the same key",
  consentList: "consents.list returns all living consents of one end user, and no others",
  consentEnd: "a consent expires at its expiresAt, by the time that is passed in",
  consentDelete: "consents.delete deletes this one consent, and does nothing when there is none",
  consentDeleteContext:
    "consents.delete with a contextKey deletes the consent of this context only, and without one those of every context",
  consentDeleteRace:
    "consents.delete does not delete what is saved at the same time under the mark of the withdrawal",
  consentDeleteExcept: "consents.delete keeps a consent that was given after the withdrawal",
  consentDeleteAhead: "consents.delete also reaches what has expired at `now`",
  consentDeleteSubject:
    "consents.delete with a subject alone deletes all consents of this end user that were given before, and nobody else's",
  consentLimit:
    "consents.save keeps 1000 consents of one end user: those that expire first go, never the new one",
  endMarkFind: "endMarks.find returns the mark that endMarks.save stored, in every process at once",
  endMarkReplaced: "endMarks.save replaces the mark of the same key, and no other",
  endMarkNone: "endMarks.find returns nothing for a key that is not exactly a stored one",
  endMarkMany: "endMarks.find keeps all marks of one owner apart, and answers for any number of keys",
  endMarkSeveral: "endMarks.find returns the marks of several keys in the order of the keys",
  endMarkEnd: "an end mark expires at its expiresAt, by the time that is passed in",
  authorizationFind: "authorizations.find returns what authorizations.create stored, with every field",
  authorizationText:
    "authorizations.create takes any text that the host adds, also for a second one in the same context",
  authorizationNone: "authorizations.find returns nothing for an id that is not exactly a stored one",
  authorizationEnd: "an authorization expires at its expiresAt, by the time that is passed in",
  revoke: "authorizations.revoke is visible everywhere, affects this authorization only, and can be repeated",
  revokeNone: "authorizations.revoke does nothing when there is none",
  revokeAll:
    "authorizations.revokeAll revokes all authorizations of one end user for one client at one API, and no others",
  revokeAllContext:
    "authorizations.revokeAll with a contextKey revokes the authorizations of this context, and no others",
  revokeAllSubject:
    "authorizations.revokeAll with a subject alone revokes all authorizations of this end user, and of nobody else",
  revokeAllMeanwhile:
    "authorizations.revokeAll revokes what was stored before it began, while others are being stored",
  revokeAhead:
    "authorizations.revoke and revokeAll also reach what has expired at `now`, or by the clock of the store",
  listOrder:
    "authorizations.list returns the living authorizations of one end user, the one that expires last first",
  listPages:
    "authorizations.list has pages that follow each other, also where several expire at the same time",
  listBehind:
    "authorizations.list continues behind one that was revoked, and has nothing behind one that is gone",
  listRevoked: "authorizations.list no longer has those that revokeAll has revoked",
  limit:
    "authorizations.create revokes the oldest one never used when there is one too many, and only among its own",
  limitSlowClock: "authorizations.create leaves what a slower clock calls living where revokeAll finds it",
  limitApart:
    "authorizations.create counts what is in use apart from what was never used, and ends those used longest ago",
  limitAtOnce:
    "authorizations.create leaves each of 16 simultaneous sign-ins until its code is consumed, however many are in use",
  limitAfterRace: "authorizations.create returns to the limit after simultaneous calls",
  eraseAll:
    "authorizations.erase deletes every authorization of one end user, revoked ones too, and nobody else's",
  eraseOne: "authorizations.erase with an authorizationId deletes this one, if it is the end user's",
  eraseExpired:
    "authorizations.erase deletes expired authorizations too, and what is erased can be erased by many at once",
  codeFind: "authorizationCodes.find returns what authorizationCodes.create stored, with every field",
  codeNone: "authorizationCodes.find returns nothing for a handle that is not exactly a stored one",
  consumeOnce: "authorizationCodes.consume consumes a code once, and the code can still be found as consumed",
  consumeSibling: "authorizationCodes.consume does not consume another code of the same authorization",
  consumeNone: "authorizationCodes.consume does not consume a code that does not exist",
  codeEnd: "a code expires at its expiresAt, by the time that is passed in",
  consumeOf2: "authorizationCodes.consume has one winner among 2 simultaneous calls",
  consumeOf8: "authorizationCodes.consume has one winner among 8 simultaneous calls",
  consumeOf64: "authorizationCodes.consume has one winner among 64 simultaneous calls",
  consumeEach: "authorizationCodes.consume has one winner for each of 8 codes at once",
  refreshFind: "refreshTokens.find returns what refreshTokens.create stored, with every field",
  refreshNone: "refreshTokens.find returns nothing for a handle that is not exactly a stored one",
  rotateOnce:
    "refreshTokens.rotate replaces a token once; it can still be found as used, and its successor can be rotated",
  rotateNone: "refreshTokens.rotate stores nothing for a token that does not exist",
  refreshEnd: "a refresh token expires at its expiresAt, by the time that is passed in",
  rotateOf2: "refreshTokens.rotate has one winner among 2 simultaneous calls, and stores only its token",
  rotateOf8: "refreshTokens.rotate has one winner among 8 simultaneous calls, and stores only its token",
  rotateOf64: "refreshTokens.rotate has one winner among 64 simultaneous calls, and stores only its token",
  rotateEach: "refreshTokens.rotate has one winner for each of 8 tokens at once",
  retryUse: "refreshTokens.rotate keeps `use` with the used token, and gives it to those who come later",
  retryNone:
    "refreshTokens.rotate gives no use where there was none: rotated without one, unknown, or expired",
  retryRace: "refreshTokens.rotate gives 63 of 64 simultaneous calls the use of the winner",
  retryMixed:
    "refreshTokens.rotate gives the losers what the winner stored, when only some of the calls have a use",
  lastUse:
    "consuming a code and rotating a refresh token set the authorization's lastUsedAt, and a lost call changes nothing",
  lastUseRace: "of simultaneous uses of one code or refresh token, the winner sets lastUsedAt",
  useAndRevoke: "a use does not undo a simultaneous revocation",
  useOfNone:
    "a use of what was stored without its authorization, or whose authorization was erased, creates none",
  lastingUse: "a code stays consumed and a refresh token used until it expires, also 100 days later",
  lastingRevocation: "what was revoked stays revoked until it expires, also 100 days later",
  lastingMark: "an end mark and a used assertion are remembered until they expire, also 100 days later",
  reachesAll: "authorizations.revokeAll and erase reach all that an end user has, however many",
  accessFind: "accessTokens.find returns what accessTokens.create stored, with every field",
  accessNone: "accessTokens.find returns nothing for a digest that is not exactly a stored one",
  accessEnd: "a stored access token expires at its expiresAt, by the time that is passed in",
  isRevoked:
    "accessTokens.isRevoked is true after accessTokens.revoke, for this id only, until the token expires",
  revokeSibling: "accessTokens.revoke does not revoke another token of the same authorization",
  revokedFindable: "a revoked access token can still be found",
  revokeAccessAhead: "accessTokens.revoke also remembers a token that has expired at `now`",
  revokedBySlowClock: "accessTokens.isRevoked remembers a revocation by the time that is passed in",
  assertionOnce:
    "clientAssertions.use lets an assertion be used once, and remembers it in every process until its expiresAt",
  assertionNone: "clientAssertions.use takes no other digest for a used one",
  assertionEnd:
    "clientAssertions.use remembers an assertion by the time that is passed in, and answers after its end too",
  assertionOf2: "clientAssertions.use has one winner among 2 simultaneous calls",
  assertionOf8: "clientAssertions.use has one winner among 8 simultaneous calls",
  assertionOf64: "clientAssertions.use has one winner among 64 simultaneous calls",
  assertionEach: "clientAssertions.use has one winner for each of 8 assertions at once",
  registrationFind:
    "clientRegistrations.find returns what clientRegistrations.create stored, with every field, extended or not",
  registrationNone:
    "clientRegistrations.find and extend know exactly the ids that are stored, and not those of clients",
  registrationEnd:
    "a registration expires at its expiresAt, by the time that is passed in, and cannot be extended any more",
  registrationExtend:
    "clientRegistrations.extend moves the end of one registration to a later time, and never to an earlier one",
  registrationLimit:
    "clientRegistrations.create at its limit removes the oldest registration that was never extended, and no other",
  registrationShrunk: "clientRegistrations.create with a smaller limit removes as many as are too many",
  registrationFull:
    "clientRegistrations.create answers full and changes nothing when as many as the limit were extended",
  registrationReserved:
    "clientRegistrations.create answers full when extended ones leave fewer places than are reserved for new ones",
  registrationExpired: "clientRegistrations.create leaves no room to registrations that have expired",
  registrationRace:
    "clientRegistrations.create returns to its limit after simultaneous calls, and removes none that was extended",
  registrationAgreed:
    "clientRegistrations.extend and a simultaneous create agree on whether the registration stays",
  ownership: "a record that was passed in or returned can be changed without changing the stored one",
  unreachable: "every call rejects while the store cannot be reached",
} as const;
