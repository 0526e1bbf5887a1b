/** Fields that are lost or come back as something else. */
import { rule } from "./rules";
import { finding, type WrongAdapter } from "./wrong-adapter";

function without(...names: readonly string[]): (record: object) => object {
  return (record) => Object.fromEntries(Object.entries(record).filter(([name]) => !names.includes(name)));
}

function withValues(change: (value: unknown) => unknown): (record: object) => object {
  return (record) => Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value)]));
}

const asText = withValues((value) => (typeof value === "number" ? String(value) : value));
const flagsAsNumbers = withValues((value) => (typeof value === "boolean" ? Number(value) : value));
const splitLists = withValues((value) => (Array.isArray(value) ? value.join(" ").split(" ") : value));
const sortedLists = withValues((value) => (Array.isArray(value) ? (value as string[]).toSorted() : value));
const inOneByte = withValues((value) =>
  typeof value === "string" ? Buffer.from(value, "latin1").toString("latin1") : value,
);
const shortened = withValues((value) => (typeof value === "string" ? value.slice(0, 191) : value));

/** The same change to every text in a record, however deep. */
function withTexts(change: (text: string) => string): (record: object) => object {
  return (record) =>
    JSON.parse(JSON.stringify(record), (_, value: unknown) =>
      typeof value === "string" ? change(value) : value,
    ) as object;
}

const wellFormed = withTexts((text) => text.replaceAll(/\p{Surrogate}/gu, "\ufffd"));
const endedByNul = withTexts((text) => text.replace(/\0.*/su, ""));

function nullsFor(...names: readonly string[]): (record: object) => object {
  // eslint-disable-next-line unicorn/no-null -- what a driver gives for an empty column
  return (record) => ({ ...Object.fromEntries(names.map((name) => [name, null])), ...record });
}

/** Adapters that lose a field, or give it back as something else. */
export const fieldMistakes: readonly WrongAdapter[] = [
  ...(["codeChallenge", "redirectUri", "redeemBefore"] as const).map((name) =>
    finding("authorizationCodes", {
      mistake: `find drops ${name}`,
      caughtBy: [rule.codeFind],
      alter: without(name),
    }),
  ),
  ...(
    [
      ...(["amr", "acr", "authTime", "refreshableUntil", "issuer", "authMethodId", "createdAt"] as const),
      ...(["context", "endMarks", "clientAuthentication"] as const),
    ] as const
  ).map((name) =>
    finding("authorizations", {
      mistake: `find drops ${name}`,
      caughtBy: [rule.authorizationFind],
      alter: without(name),
    }),
  ),
  ...(["subject", "authorizationId", "authTime", "amr", "acr", "issuer", "issuedAt", "claims"] as const).map(
    (name) =>
      finding("accessTokens", {
        mistake: `find drops ${name}`,
        caughtBy: [rule.accessFind],
        alter: without(name),
      }),
  ),
  ...(["trusted", "clientUri", "policyUri", "tosUri"] as const).map((name) =>
    finding("clients", { mistake: `find drops ${name}`, caughtBy: [rule.clientFind], alter: without(name) }),
  ),
  ...(["jwks", "jwksUri", "allowTokenEndpointAudience", "selfDescription", "platform"] as const).map((name) =>
    finding("clientRegistrations", {
      mistake: `find drops ${name}`,
      caughtBy: [rule.registrationFind],
      alter: without(name),
    }),
  ),
  finding("consents", {
    mistake: "find drops grantedAt",
    caughtBy: [rule.consentFind],
    alter: without("grantedAt"),
  }),
  finding("refreshTokens", {
    mistake: "find drops authorizationId",
    caughtBy: [rule.refreshFind],
    alter: without("authorizationId"),
  }),
  ...(["endMarks", "contextKey", "clientDigest"] as const).map((name) =>
    finding("consents", {
      mistake: `find drops ${name}`,
      caughtBy: [rule.consentFind],
      alter: without(name),
    }),
  ),
  finding("refreshTokens", {
    mistake: "find drops use",
    caughtBy: [rule.retryUse, rule.retryRace, rule.retryMixed],
    alter: without("use"),
  }),
  finding("authorizations", {
    mistake: "find gives null for what is missing",
    caughtBy: [rule.authorizationFind],
    alter: nullsFor("amr", "acr", "authTime", "refreshableUntil"),
  }),
  finding("authorizationCodes", {
    mistake: "find gives null for what is missing",
    caughtBy: [rule.codeFind],
    alter: nullsFor("codeChallenge"),
  }),
  finding("accessTokens", {
    mistake: "find gives null for what is missing",
    caughtBy: [rule.accessFind],
    alter: nullsFor("subject", "authorizationId"),
  }),
  ...(
    [
      ["consents", rule.consentFind],
      ["authorizations", rule.authorizationFind],
      ["authorizationCodes", rule.codeFind],
      ["refreshTokens", rule.refreshFind],
      ["accessTokens", rule.accessFind],
    ] as const
  ).map(([port, caughtBy]) =>
    finding(port, { mistake: "find gives numbers as text", caughtBy: [caughtBy], alter: asText }),
  ),
  ...(
    [
      ["authorizations", rule.authorizationFind],
      ["authorizationCodes", rule.codeFind],
      ["refreshTokens", rule.refreshFind],
    ] as const
  ).map(([port, caughtBy]) =>
    finding(port, { mistake: "find gives flags as numbers", caughtBy: [caughtBy], alter: flagsAsNumbers }),
  ),
  ...(
    [
      ["consents", rule.consentFind],
      ["authorizations", rule.authorizationFind],
      ["accessTokens", rule.accessFind],
    ] as const
  ).flatMap(([port, caughtBy]) => [
    finding(port, {
      mistake: "an empty list becomes one of an empty text",
      caughtBy: [caughtBy],
      alter: splitLists,
    }),
    finding(port, { mistake: "lists are sorted", caughtBy: [caughtBy], alter: sortedLists }),
    finding(port, { mistake: "text loses what one byte cannot say", caughtBy: [caughtBy], alter: inOneByte }),
  ]),
  ...(
    [
      ["authorizations", rule.authorizationText],
      ["accessTokens", rule.accessFind],
    ] as const
  ).flatMap(([port, caughtBy]) => [
    finding(port, {
      mistake: "halves of surrogate pairs are replaced",
      caughtBy: [caughtBy],
      alter: wellFormed,
    }),
    finding(port, { mistake: "text ends at NUL", caughtBy: [caughtBy], alter: endedByNul }),
  ]),
  finding("consents", { mistake: "text is cut at 191", caughtBy: [rule.consentFind], alter: shortened }),
];
