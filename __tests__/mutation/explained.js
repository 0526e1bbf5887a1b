// @ts-check
/** Mutants that no test can notice, or need not, in the rooms where each one needs a reason. */
"use strict";

/** @typedef {{ readonly file: string; readonly from: string; readonly to: string; readonly why: string }} Explained */

/** @type {readonly Explained[]} */
const explained = [
  {
    file: "lib/endpoints/client-endpoint.ts",
    from: 'url.includes("?")',
    to: "true",
    why: "In a URL without a query there is nothing to refuse. The check only saves the work.",
  },
  {
    file: "lib/endpoints/client-endpoint.ts",
    from: '"?"',
    to: '""',
    why: "In a URL without a query there is nothing to refuse. The check only saves the work.",
  },
  {
    file: "lib/endpoints/rate-limit.ts",
    from: "{ kind }",
    to: "{}",
    why: 'Without a callback nothing is told, and whether the request goes on depends on "limited" alone.',
  },
  {
    file: "lib/endpoints/rate-limit.ts",
    from: 'decision.kind !== "allowed"',
    to: "false",
    why: "A decision that limits has no callback. Only the compiler asks.",
  },
  {
    file: "lib/endpoints/registration.ts",
    from: "[]",
    to: '["Stryker was here"]',
    why: "Redirect URIs are compared with this list by their origin, and no origin has spaces.",
  },
  {
    file: "lib/events/report.ts",
    from: "before !== undefined",
    to: "true",
    why: "Of a line that is new the difference is NaN, which is not less than any limit. Only the compiler asks.",
  },
  {
    file: "lib/events/report.ts",
    from: '""',
    to: '"Stryker was here!"',
    why: "The text is only the end of a key, and the same for all lines without details.",
  },
  {
    file: "lib/grants/refresh-token.ts",
    from: 'typeof outcome === "object"',
    to: "true",
    why: 'The text "not-rotated" has no usedAt, so it never counts as a use in time.',
  },
  {
    file: "lib/grants/refresh-token.ts",
    from: "refreshToken?.token",
    to: "refreshToken.token",
    why: "There is always a refresh token here: without one the request was refused before. Only the compiler asks.",
  },
  {
    file: "lib/grants/refresh-token.ts",
    from: "refreshToken?.statedSeconds",
    to: "refreshToken.statedSeconds",
    why: "There is always a refresh token here: without one the request was refused before. Only the compiler asks.",
  },
  {
    file: "lib/http/request.ts",
    from: 'req.headers["content-type"]?.split(";")[0]?.trim',
    to: 'req.headers["content-type"]?.split(";")[0].trim',
    why: "A text that is split has at least one part. Only the compiler asks.",
  },
  {
    file: "lib/http/request.ts",
    from: "index < rawHeaders.length",
    to: "index <= rawHeaders.length",
    why: "Behind the last header there is no name, and no name is not counted.",
  },
  {
    file: "lib/http/request.ts",
    from: "name?.length === authorization.length",
    to: "true",
    why: "The names are compared afterwards. The check of the length only saves the work.",
  },
  {
    file: "lib/http/request.ts",
    from: "name?.length",
    to: "name.length",
    why: "Names and values come in pairs, so there is always a name. Only the compiler asks.",
  },
  {
    file: "lib/http/response.ts",
    from: "[]",
    to: '["Stryker was here"]',
    why: "No answer has a header of this name, and removing a header that is not there does nothing.",
  },
  {
    file: "lib/http/response.ts",
    from: "res.writeHead === nodesOwn",
    to: "false",
    why: "Header by header, the client gets the same. The list is only faster.",
  },
  {
    file: "lib/http/response.ts",
    from: '"page"',
    to: '""',
    why: "A function that ends without return gives undefined.",
  },
  {
    file: "lib/http/response.ts",
    from: '"empty"',
    to: '""',
    why: "A function that ends without return gives undefined.",
  },
  {
    file: "lib/http/response.ts",
    from: 'case "empty":\n      return undefined;',
    to: 'case "empty":',
    why: "A function that ends without return gives undefined.",
  },
  {
    file: "lib/http/mount-check.ts",
    from: '""',
    to: '"Stryker was here!"',
    why: "An address that is missing must only be none of this server's, and a text with spaces is none either.",
  },
  {
    file: "lib/http/mount-check.ts",
    from: '"router"',
    to: '""',
    why: "The kind only keeps a warning from coming twice, and the router's place is looked at once.",
  },
  {
    file: "lib/http/protect-routes.ts",
    from: '""',
    to: '"Stryker was here!"',
    why: "An id that is missing must only be the id of no API, and a text with spaces is none.",
  },
  {
    file: "lib/http/registration-route.ts",
    from: "origin !== undefined",
    to: "true",
    why: "No list of origins contains undefined. Only the compiler asks.",
  },
  {
    file: "lib/http/require-bearer.ts",
    from: "!isTraced()",
    to: "false",
    why: "Node does the same work when nobody has subscribed. The check only saves the time for it.",
  },
  {
    file: "lib/http/router.ts",
    from: '""',
    to: '"Stryker was here!"',
    why: "A request that a server has received always has a method. Only the compiler asks.",
  },
  {
    file: "lib/http/routes.ts",
    from: '""',
    to: '"Stryker was here!"',
    why: "A request that a server has received always has a method. Only the compiler asks.",
  },
  {
    file: "lib/http/routes.ts",
    from: '"/"',
    to: '""',
    why: "A request that a server has received always has a URL. Only the compiler asks.",
  },
  {
    file: "lib/protocol/bearer-token.ts",
    from: "header === undefined",
    to: "false",
    why: 'Without a header the pattern is tried on the text "undefined", which does not fit it. Only the compiler asks.',
  },
  {
    file: "lib/protocol/client-assertion.ts",
    from: '""',
    to: '"Stryker was here!"',
    why: "A part that is missing must only be unreadable, and a text with spaces is as unreadable as the empty one.",
  },
  {
    file: "lib/protocol/client-assertion.ts",
    from: "!bytes",
    to: "false",
    why: "Without bytes the decoder gives the empty text, which is no JSON either. Only the compiler asks.",
  },
  {
    file: "lib/protocol/client-assertion.ts",
    from: "value !== null",
    to: "true",
    why: "Then null comes back instead of undefined, and the only caller refuses both.",
  },
  {
    file: "lib/protocol/client-assertion.ts",
    from: "{\n    return undefined;\n  }",
    to: "{}",
    why: "A function that ends without return gives undefined.",
  },
  {
    file: "lib/protocol/client-assertion.ts",
    from: "iat !== undefined",
    to: "true",
    why: "Without iat the difference is NaN, which is not greater than any limit. Only the compiler asks.",
  },
  {
    file: "lib/protocol/client-authentication.ts",
    from: "{\n    return undefined;\n  }",
    to: "{}",
    why: "A function that ends without return gives undefined.",
  },
  {
    file: "lib/protocol/client-authentication.ts",
    from: '""',
    to: '"Stryker was here!"',
    why: "A missing assertion must only be unreadable, and any text that is no JWT is refused with the same words.",
  },
  {
    file: "lib/protocol/host-json.ts",
    from: "{\n    // a circle, a bigint, or what the host throws\n    return undefined;\n  }",
    to: "{}",
    why: "A function that ends without return gives undefined.",
  },
  {
    file: "lib/protocol/issuer.ts",
    from: '""',
    to: '"Stryker was here!"',
    why: "An id that is missing must only have no good form, and a text with spaces has none either.",
  },
  {
    file: "lib/protocol/parameters.ts",
    from: '!text.includes("%") && !text.includes("+")',
    to: "false",
    why: "A text without these characters is decoded to itself. The check only saves the work.",
  },
  {
    file: "lib/protocol/parameters.ts",
    from: '"%"',
    to: '""',
    why: "Then every text is decoded, also one that has nothing to decode. The check only saves the work.",
  },
  {
    file: "lib/protocol/parameters.ts",
    from: '"+"',
    to: '""',
    why: "Then every text is decoded, also one that has nothing to decode. The check only saves the work.",
  },
  {
    file: "lib/protocol/parameters.ts",
    from: "{\n    return undefined;\n  }",
    to: "{}",
    why: "A function that ends without return gives undefined.",
  },
  {
    file: "lib/protocol/parameters.ts",
    from: "[]",
    to: '["Stryker was here"]',
    why: "Then every request has a parameter named S, which nobody reads.",
  },
  {
    file: "lib/protocol/parsed-url.ts",
    from: "{\n    return undefined;\n  }",
    to: "{}",
    why: "A function that ends without return gives undefined.",
  },
  {
    file: "lib/protocol/redirect-uri.ts",
    from: "/^https?:\\/\\/(\\[[^/?@]+\\]|[^/?@:]+)(?::\\d*)?(?:[/?]|$)/i.exec(uri)?.[1]?.toLowerCase",
    to: "/^https?:\\/\\/(\\[[^/?@]+\\]|[^/?@:]+)(?::\\d*)?(?:[/?]|$)/i.exec(uri)?.[1].toLowerCase",
    why: "A text that fits has a host. Only the compiler asks.",
  },
  {
    file: "lib/protocol/requested-scopes.ts",
    from: "[]",
    to: '["Stryker was here"]',
    why: "An implied scope is added only if the client is registered for it, and no client is registered for this one.",
  },
  {
    file: "lib/protocol/requested-scopes.ts",
    from: "implied.length === 0",
    to: "false",
    why: "With no implied scopes the list comes out as it was. The check only saves the work.",
  },
  {
    file: "lib/tokens/verify-access-token.ts",
    from: '"genuine"',
    to: '""',
    why: 'The kind of a token that was read is only compared with "invalid".',
  },
];

module.exports = { explained };
