// @ts-check
/** Mutants that no test can notice, or need not, and why. An entry holds for every place of its file with the same text. */
"use strict";

/** @typedef {readonly [from: string, to: string, why: string]} Explained */

/** File → its entries. @type {Readonly<Record<string, readonly Explained[]>>} */
const explained = {
  "lib/cli/check.ts": [
    ["{ cause: error }", "{}", "Only the message is printed. The cause is for a debugger."],
    ['""', '"Stryker was here!"', "There is one such line at most."],
  ],
  "lib/cli/client-table.ts": [
    [
      "page.at(-1)?.clientId",
      "page.at(-1).clientId",
      "A full page has a last record. Only the compiler asks.",
    ],
    ["[]", '["Stryker was here"]', "No scheme has spaces."],
  ],
  "lib/cli/clients.ts": [
    [
      "id !== undefined",
      "true",
      "The text undefined is a good id, and an id that is left out is a random one. Only the compiler asks.",
    ],
    ['""', '"Stryker was here!"', "--id is there by then. In the other places of the file tests notice it."],
    [
      "shown.at(-1)?.clientId",
      "shown.at(-1).clientId",
      "A page of more than a thousand clients has a last one. Only the compiler asks.",
    ],
    ["{ cause }", "{}", "Only the message is printed. The cause is for a debugger."],
    ["[]", '["Stryker was here"]', "No scheme has spaces."],
  ],
  "lib/cli/load-module.ts": [
    [
      '""',
      '"Stryker was here!"',
      "The operand is required. Only the compiler asks. In the other places of the file tests notice it.",
    ],
  ],
  "lib/cli/signing-key.ts": [
    [
      "/^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d(?::\\d\\d)?(?:Z|[+-]\\d\\d:\\d\\d)$/",
      "/\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d(?::\\d\\d)?(?:Z|[+-]\\d\\d:\\d\\d)$/",
      "Date.parse gives NaN when something stands around such a time.",
    ],
    [
      "/^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d(?::\\d\\d)?(?:Z|[+-]\\d\\d:\\d\\d)$/",
      "/^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d(?::\\d\\d)?(?:Z|[+-]\\d\\d:\\d\\d)/",
      "Date.parse gives NaN when something stands around such a time.",
    ],
    [
      "{\n    // what JSON.parse says may quote the key\n    return undefined;\n  }",
      "{}",
      "A function that returns nothing returns undefined.",
    ],
  ],
  "lib/clients/assertion-keys.ts": [
    [
      "newer.text === known.text",
      "false",
      "The same keys give the same verdict. Without this a flood costs more.",
    ],
    [
      '{ hash: "sha256", input: { padding: constants.RSA_PKCS1_PADDING } }',
      "{}",
      "For RSA keys OpenSSL takes this hash and this padding when nothing is said. The table says it for its readers.",
    ],
    [
      "{ padding: constants.RSA_PKCS1_PADDING }",
      "{}",
      "For RSA keys Node takes this padding when nothing is said. The table says it for its readers.",
    ],
  ],
  "lib/clients/client-assertion.ts": [
    ['""', '"Stryker was here!"', "A client without jwks has a jwksUri. Only the compiler asks."],
  ],
  "lib/clients/client-key.ts": [
    [
      "{\n    // what OpenSSL says may contain the key\n    return undefined;\n  }",
      "{}",
      "A function that ends without return gives undefined.",
    ],
  ],
  "lib/clients/client-record.ts": [
    ['""', '"Stryker was here!"', "A client without jwks has a jwksUri. Only the compiler asks."],
  ],
  "lib/clients/client-lookup.ts": [
    ["apis[apiId]?.scopes", "apis[apiId].scopes", "It is one of the APIs by then. Only the compiler asks."],
  ],
  "lib/clients/manage-clients.ts": [
    ['""', '"Stryker was here!"', "A client with secrets has a first one. Only the compiler asks."],
  ],
  "lib/portal/account-apps.ts": [
    ["[]", '["Stryker was here"]', "What every form has does not tell one form from another."],
    [
      '"storage.clients.find"',
      '""',
      "late-answers.test.ts notices it. It needs a clock of its own, which no mutant meets.",
    ],
    [
      '"contextName"',
      '""',
      "late-answers.test.ts notices it. It needs a clock of its own, which no mutant meets.",
    ],
  ],
  "lib/portal/account-page.ts": [['"\\n"', '""', "Between blocks of HTML nobody sees it."]],
  "lib/portal/portal.ts": [
    [
      "{ uiLocales: undefined, isStranger: true }",
      "{}",
      "No client asks for languages here. Only the compiler asks.",
    ],
    [
      '"The form was not sent from this site."',
      '""',
      "The page has a sentence of its own, and there is no event. Only the compiler asks.",
    ],
  ],
  "lib/portal/portal-options.ts": [
    ["{\n    return false;\n  }", "{}", "undefined is as good as false here. Only the compiler asks."],
    ['""', '"Stryker was here!"', "Neither text is a URL."],
  ],
  "lib/portal/staff.ts": [
    [
      '""',
      '"Stryker was here!"',
      "Neither text is an id or the protocol of a URL. In links tests notice it.",
    ],
    [
      "found[pageLimit - 1]?.clientId",
      "found[pageLimit - 1].clientId",
      "There are more than that. Only the compiler asks.",
    ],
    [
      "last !== undefined",
      "true",
      "last is left out or undefined, which is the same. Only the compiler asks.",
    ],
    ['"links"', '""', "late-answers.test.ts notices it. It needs a clock of its own, which no mutant meets."],
  ],
  "lib/recall/turns.ts": [
    ["longest ?? []", "longest && []", "When too many wait, somebody has a queue. Only the compiler asks."],
    ["oldest?.", "oldest.", "No queue is ever empty. Only the compiler asks."],
  ],
  "lib/strangers/document-clients.ts": [
    [
      "[]",
      '["Stryker was here"]',
      "Of what the host left out it only matters that it is a list of texts, and this text is the origin of no redirect URI.",
    ],
    [
      "false",
      "true",
      "Of what the host left out it only matters that it is true or false. What is used is the answer itself.",
    ],
    ["[]", '["Stryker was here"]', "No script has an origin with spaces."],
  ],
  "lib/strangers/metadata-document.ts": [
    [
      "[]",
      '["Stryker was here"]',
      "These lists are only searched for a method, a grant and an origin, and this text is none of them.",
    ],
  ],
  "lib/strangers/new-registration.ts": [
    [
      "subscriptionOf(client, apiId)?.scopes",
      "subscriptionOf(client, apiId).scopes",
      "A client that has registered subscribes to the API. Only the compiler asks.",
    ],
  ],
  "lib/clients/presented-grant.ts": [['""', '"Stryker was here!"', "Neither text is a code or token."]],
  "lib/end-user/approve.ts": [
    [
      "exceptEndMark === undefined",
      "false",
      "Some mark is new, and if it is that of approvals alone, the withdrawal is under way. Only the compiler asks.",
    ],
  ],
  "lib/end-user/authenticate-end-user.ts": [
    [
      "authTime === undefined",
      "false",
      "No comparison with undefined is true, so such a session would not be fresh either. Only the compiler asks.",
    ],
  ],
  "lib/end-user/close-device.ts": [
    [
      "parkedRequests?.close",
      "parkedRequests.close",
      "Only this storage has requests of devices. Only the compiler asks.",
    ],
    [
      "parkedRequests?.find",
      "parkedRequests.find",
      "Only this storage has requests of devices. Only the compiler asks.",
    ],
  ],
  "lib/end-user/vouched-person.ts": [
    [
      "identityAssertions?.accept",
      "identityAssertions.accept",
      "An issuer has the grant only with it. Only the compiler asks.",
    ],
    [
      'context?.key ?? ""',
      'context?.key && ""',
      "What ends one context also ends what is under way in the others (approvalEndKey).",
    ],
    [
      '""',
      '"Stryker was here!"',
      "What ends one context also ends what is under way in the others (approvalEndKey).",
    ],
  ],
  "lib/end-user/list-authorizations.ts": [
    [
      "listed.at(-1)?.authorizationId",
      "listed.at(-1).authorizationId",
      "A full page has a last entry. Only the compiler asks.",
    ],
  ],
  "lib/endpoints/client-endpoint.ts": [
    [
      'url.includes("?")',
      "true",
      "In a URL without a query there is nothing to refuse. The check only saves the work.",
    ],
    ['"?"', '""', "In a URL without a query there is nothing to refuse. The check only saves the work."],
  ],
  "lib/endpoints/device-authorization.ts": [
    [
      "[]",
      '["Stryker was here"]',
      "Prompts are only searched for words of OpenID Connect, and nobody sends a parameter of this name.",
    ],
    ["false", "true", "Strangers get no device codes, so there is nothing to fetch. Only the compiler asks."],
    ["() => false", "() => undefined", "Both say no. Only the compiler asks."],
    ['"query"', '""', "A device is told by its own polls: no answer leads back to it."],
    [
      "{ issuer, mayFetch: () => false }",
      "{}",
      "Only clients that describe themselves need it, and they get no device codes.",
    ],
    [
      '"The client is unknown."',
      '""',
      "The page has a sentence of its own, and the event a code. Only the compiler asks.",
    ],
  ],
  "lib/endpoints/rate-limit.ts": [
    [
      'decision.kind !== "allowed"',
      "false",
      "A decision that limits has no callback. Only the compiler asks.",
    ],
  ],
  "lib/endpoints/registration.ts": [
    [
      "[]",
      '["Stryker was here"]',
      "Redirect URIs are compared with this list by their origin, and no origin has spaces.",
    ],
  ],
  "lib/events/report.ts": [
    [
      '""',
      '"Stryker was here!"',
      "The text is only the end of a key, and the same for all lines without details.",
    ],
  ],
  "lib/fetching/fetch-document.ts": [
    [
      "stopTimer?.()",
      "stopTimer()",
      "A promise runs its function at once, so the timer has begun by then. Only the compiler asks.",
    ],
  ],
  "lib/fetching/read-document.ts": [
    [
      '""',
      '"Stryker was here!"',
      "What is missing must only be no number, and no directive that counts. This text is neither.",
    ],
    ["{\n    return undefined;\n  }", "{}", "A function that ends without return gives undefined."],
  ],
  "lib/fetching/public-address.ts": [
    [
      '""',
      '"Stryker was here!"',
      "An address that is missing must only be of no family, as this text is. A subnet has always a first part.",
    ],
    [
      'family === "ipv6"',
      "true",
      "Without a family, BlockList takes a text for IPv4, and gives no for what is no such address.",
    ],
    [
      "family !== undefined",
      "true",
      "Without a family, BlockList takes a text for IPv4, and gives no for what is no such address.",
    ],
  ],
  "lib/fetching/remembered-documents.ts": [['"known"', '""', 'There only "anyone" is looked for.']],
  "lib/grants/device-code.ts": [
    [
      "ports.storage.parkedRequests?.find",
      "ports.storage.parkedRequests.find",
      "An issuer has the grant only with this storage. Only the compiler asks.",
    ],
    [
      "ports.polledTooSoon?.(handle.digest, now)",
      "ports.polledTooSoon(handle.digest, now)",
      "An issuer has the grant only with it. Only the compiler asks.",
    ],
  ],
  "lib/grants/refresh-token.ts": [
    [
      'typeof outcome === "object"',
      "true",
      'The text "not-rotated" has no usedAt, so it never counts as a use in time.',
    ],
  ],
  "lib/http/mount-check.ts": [
    [
      '""',
      '"Stryker was here!"',
      "An address that is missing must only be none of this server's, and a text with spaces is none either.",
    ],
  ],
  "lib/bearer/step-up.ts": [
    ["token.acr !== undefined", "true", "No list of acr has undefined. Only the compiler asks."],
    ["authTime !== undefined", "true", "No comparison with undefined is true. Only the compiler asks."],
    ["[]", '["Stryker was here"]', "Only a rule with acr says that it differs. Only the compiler asks."],
  ],
  "lib/interaction/sign-out.ts": [
    [
      "authMethods[issuer.authMethodId]?.signOut?.(question)",
      "authMethods[issuer.authMethodId]?.signOut(question)",
      "The routes are there only where the method has signOut. Only the compiler asks.",
    ],
    [
      "authMethods[issuer.authMethodId]?.signOut",
      "authMethods[issuer.authMethodId].signOut",
      "Each issuer has its method. Only the compiler asks.",
    ],
    [
      '""',
      '"Stryker was here!"',
      "This is no URI and no ticket either. In the other places of the file tests notice it.",
    ],
  ],
  "lib/signing/sealer.ts": [
    [
      "{\n    // sealed with another secret, or with none\n    return undefined;\n  }",
      "{}",
      "A function that returns nothing returns undefined.",
    ],
    [
      "sealed.length < nonceBytes + tagBytes",
      "sealed.length <= nonceBytes + tagBytes",
      "No value has an empty text as JSON.",
    ],
  ],
  "lib/protocol/protocol-response.ts": [
    ['"empty"', '""', "A function that ends without return gives undefined."],
    [
      'case "empty":\n      return undefined;',
      'case "empty":',
      "A function that ends without return gives undefined.",
    ],
  ],
  "lib/bearer/userinfo.ts": [
    ['""', '"Stryker was here!"', "A token of a person has an authorization. Only the compiler asks."],
  ],
  "lib/bearer/protect-routes.ts": [
    [
      '""',
      '"Stryker was here!"',
      "An id that is missing must only be the id of no API, and a text with spaces is none.",
    ],
  ],
  "lib/http/request.ts": [
    ['"utf8"', '""', "Node takes UTF-8 where nothing is said."],
    ['typeof chunk === "string"', "true", "Of bytes it makes a copy."],
    [
      "index < rawHeaders.length",
      "index <= rawHeaders.length",
      "Behind the last header there is no name, and no name is not counted.",
    ],
    [
      "rawHeaders[index]?.toLowerCase",
      "rawHeaders[index].toLowerCase",
      "Names and values come in pairs, so there is always a name. Only the compiler asks.",
    ],
  ],
  "lib/bearer/require-bearer.ts": [
    [
      "!tracedRequests.hasSubscribers",
      "false",
      "Node does the same work when nobody has subscribed. The check only saves the time for it.",
    ],
  ],
  "lib/http/response.ts": [
    [
      "[]",
      '["Stryker was here"]',
      "No answer has a header of this name, and removing a header that is not there does nothing.",
    ],
    ["isWatched(res)", "true", "Header by header, the client gets the same. The list is only faster."],
  ],
  "lib/http/router.ts": [
    [
      "!tracedRequests.hasSubscribers",
      "false",
      "Nobody listens to the trace then, and the answer is the same. It only saves time.",
    ],
    [
      "{\n    writeResponse(destination, response);\n    return undefined;\n  }",
      "{}",
      "The answer is written in a trace then, to which nobody listens.",
    ],
    ["name === undefined", "false", "No endpoint has the path undefined. Only the compiler asks."],
    [
      '""',
      '"Stryker was here!"',
      "A request that a server has received always has a method. Only the compiler asks.",
    ],
  ],
  "lib/http/routes.ts": [
    [
      '""',
      '"Stryker was here!"',
      "A preflight has no form, and of a name that nobody knows nothing is read.",
    ],
    ['"/"', '""', "A request that a server has received always has a URL. Only the compiler asks."],
  ],
  "lib/interaction/authorization-flow.ts": [
    ['"form"', '""', "How a person came back is only compared with the two other ways."],
    [
      'typeof found === "string"',
      "false",
      "In approve, a text has no issuer either. The check is for the compiler.",
    ],
    ['"string"', '""', "In approve, a text has no issuer either. The check is for the compiler."],
  ],
  "lib/interaction/consent-answers.ts": [
    [
      '""',
      '"Stryker was here!"',
      "A missing token must only be another one, and this text is too short for a token.",
    ],
  ],
  "lib/interaction/device-page.ts": [
    [
      '"The code is malformed."',
      '""',
      "The page has a sentence of its own, and the event a code. Only the compiler asks.",
    ],
    ["!cookies", "false", "What is kept of a device is short enough for a cookie. Only the compiler asks."],
    ['""', '"Stryker was here!"', "Neither text is a code."],
  ],
  "lib/interaction/pending-request.ts": [
    ["{\n    return undefined;\n  }", "{}", "A function that ends without return gives undefined."],
    [
      '""',
      '"Stryker was here!"',
      "A missing header or cookie must only hold no cookie of ours, and this text is none. There is always a first secret.",
    ],
  ],
  "lib/interaction/show-page.ts": [
    ['""', '"Stryker was here!"', "The part before the first # is never missing."],
  ],
  "lib/on-demand.ts": [
    [
      "adapters.size === 0",
      "false",
      "Without adapters there is no route either way. That nothing is loaded then is noticed by packaging/loaded-modules, which starts processes.",
    ],
  ],
  "lib/options/refused-options.ts": [
    [
      "[]",
      '["Stryker was here"]',
      "No scheme has spaces, so this one allows nothing. In the other places of the file tests notice it.",
    ],
  ],
  "lib/protocol/authorization-response.ts": [
    ['""', '"Stryker was here!"', "Any printable text stands for a state that was not sent."],
  ],
  "lib/protocol/bearer-token.ts": [
    [
      "header === undefined",
      "false",
      'Without a header the pattern is tried on the text "undefined", which does not fit it. Only the compiler asks.',
    ],
  ],
  "lib/protocol/client-authentication.ts": [
    ["{\n    return undefined;\n  }", "{}", "A function that ends without return gives undefined."],
    [
      '""',
      '"Stryker was here!"',
      "A missing assertion must only be unreadable, and any text that is no JWT is refused with the same words.",
    ],
  ],
  "lib/protocol/host-json.ts": [
    [
      "{\n    // a circle, a bigint, or what the host throws\n    return undefined;\n  }",
      "{}",
      "A function that ends without return gives undefined.",
    ],
  ],
  "lib/protocol/identity-assertion.ts": [
    [
      '"identity assertion"',
      '""',
      "Digests of client assertions are of two texts. Any third text keeps these apart from them.",
    ],
  ],
  "lib/protocol/issuer.ts": [
    [
      '""',
      '"Stryker was here!"',
      "An id that is missing must only have no good form, and a text with spaces has none either.",
    ],
  ],
  "lib/protocol/parameters.ts": [
    [
      '!text.includes("%") && !text.includes("+")',
      "false",
      "A text without these characters is decoded to itself. The check only saves the work.",
    ],
    [
      '"%"',
      '""',
      "Then every text is decoded, also one that has nothing to decode. The check only saves the work.",
    ],
    [
      '"+"',
      '""',
      "Then every text is decoded, also one that has nothing to decode. The check only saves the work.",
    ],
    ["{\n    return undefined;\n  }", "{}", "A function that ends without return gives undefined."],
    ["[]", '["Stryker was here"]', "Then every request has a parameter named S, which nobody reads."],
  ],
  "lib/protocol/parsed-url.ts": [
    ["{\n    return undefined;\n  }", "{}", "A function that ends without return gives undefined."],
  ],
  "lib/protocol/redirect-uri.ts": [
    [
      "/^https?:\\/\\/(\\[[^/?@]+\\]|[^/?@:]+)(?::\\d*)?(?:[/?]|$)/i.exec(uri)?.[1]?.toLowerCase",
      "/^https?:\\/\\/(\\[[^/?@]+\\]|[^/?@:]+)(?::\\d*)?(?:[/?]|$)/i.exec(uri)?.[1].toLowerCase",
      "A text that fits has a host. Only the compiler asks.",
    ],
    [
      "uri === undefined",
      "false",
      "What is undefined is no URL, so it is refused two lines below. Only the compiler asks.",
    ],
  ],
  "lib/protocol/requested-scopes.ts": [
    [
      "[]",
      '["Stryker was here"]',
      "An implied scope is added only if the client is registered for it, and no client is registered for this one.",
    ],
  ],
  "lib/protocol/dpop-proof.ts": [
    [
      "encoded.toUpperCase()",
      "encoded.toLowerCase()",
      "Both URLs are written in the one way or in the other.",
    ],
    ['""', '"Stryker was here!"', "Both URLs would have it."],
    [
      "text.length > maxCharacters",
      "text.length >= maxCharacters",
      "One character more or less bounds the work as well.",
    ],
    ['"readable"', '""', "Only whether it is invalid is asked."],
  ],
  "lib/protocol/signed-jwt.ts": [
    [
      '""',
      '"Stryker was here!"',
      "A part that is missing must only be unreadable, and a text with spaces is as unreadable as the empty one.",
    ],
    [
      "!bytes",
      "false",
      "Without bytes the decoder gives the empty text, which is no JSON either. Only the compiler asks.",
    ],
    [
      "value !== null",
      "true",
      "Then null comes back instead of undefined, and the only caller refuses both.",
    ],
    ["{\n    return undefined;\n  }", "{}", "A function that ends without return gives undefined."],
  ],
  "lib/resource-server/remote-issuers.ts": [
    [
      "[]",
      '["Stryker was here"]',
      "This text is neither a key nor an issuer below baseUrl, so it is left out.",
    ],
  ],
  "lib/resource-server/remote-verifier.ts": [
    [
      'introspection?.[isJwt(token) ? "signed" : "opaque"]',
      'introspection[isJwt(token) ? "signed" : "opaque"]',
      "It is called where there is introspection. Only the compiler asks.",
    ],
    [
      '""',
      '"Stryker was here!"',
      "An API has at least one issuer: options and metadata without one are refused. Only the compiler asks.",
    ],
    ['"genuine"', '""', 'The kind of a token that was read is only compared with "invalid".'],
    ['"ended"', '""', 'Whether a token still stands is only compared with "valid".'],
  ],
  "lib/schemas/compile.ts": [
    [
      "false",
      "true",
      "For meta and source it only costs time at the start. For validateSchema, which then warns, a test notices it.",
    ],
    ["[]", '["Stryker was here"]', "After a failed check there are errors. Only the compiler asks."],
  ],
  "lib/signing/signing-key.ts": [
    [
      "{\n    return false;\n  }",
      "{}",
      "A function that ends without return gives undefined, which counts as no.",
    ],
    ['"probe"', '""', "Any text shows whether the two halves of a key belong together."],
  ],
  "lib/signing/verification-key.ts": [
    [
      '""',
      '"Stryker was here!"',
      "A curve without a name must only be none of those that have an algorithm.",
    ],
    ["{\n    return undefined;\n  }", "{}", "A function that ends without return gives undefined."],
    [
      'jwk["kty"] !== "EC" && jwk["kty"] !== "RSA"',
      "false",
      "A key of another kind has no algorithm either. The check keeps kinds that nobody uses away from OpenSSL.",
    ],
    [
      "publicKey.asymmetricKeyDetails?.modulusLength",
      "publicKey.asymmetricKeyDetails.modulusLength",
      "Every public key has details; only the type says that they may be missing.",
    ],
  ],
  "lib/signing/verify-jwt.ts": [
    ["{\n    return undefined;\n  }", "{}", "A function that ends without return gives undefined."],
    [
      '""',
      '"Stryker was here!"',
      "A missing header cannot happen, and a missing payload or signature must only fail to verify: this text is no base64url.",
    ],
  ],
  "lib/storage/calls.ts": [
    [
      '""',
      '"Stryker was here!"',
      'A consent is always saved with its context, "" for none, and no end mark has either id.',
    ],
  ],
  "lib/adapters/memory/authorizations.ts": [
    [
      "after === undefined",
      "false",
      "There is no authorization with the id undefined. Only the compiler asks.",
    ],
    ["inListOrder(last, one) < 0", "inListOrder(last, one) <= 0", "The order of two is never 0."],
    ["lastUsedAt !== undefined", "true", "A last use that is undefined is none."],
    [
      "(lastUses.get(used) ?? 0) < now",
      "(lastUses.get(used) ?? 0) <= now",
      "The same time is written over itself.",
    ],
  ],
  "lib/testing/test-tokens.ts": [
    ["authorization", "true", "Without a subject it is refused before. Only the compiler asks."],
  ],
  "lib/tokens/verify-access-token.ts": [
    ['"genuine"', '""', 'The kind of a token that was read is only compared with "invalid".'],
  ],
  "lib/tokens/identity.ts": [
    [
      '"openid.claims"',
      '""',
      "The name in the error of a late answer: openid/late-claims notices it, which needs false timers.",
    ],
  ],
};

module.exports = { explained };
