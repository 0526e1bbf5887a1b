/** The built-in consent page. RFC 6749 §10.2, 9700 §4.11.2. */
import { markLanguage } from "./language";
import type { Say, TextInLanguage } from "./merge-texts";
import { escapeHtml, logoImage } from "./page-frame";
import type { PageTexts } from "./built-in-texts";
import { type AuthorizationSummary, type ClientSummary, explanationOf, type ScopeSentences } from "./summary";

/** What the page asks, whom it asks, and how the answer comes back. */
export interface ConsentPageInput {
  /** Which client asks for which scopes of which API. */
  readonly summary: AuthorizationSummary;
  /** Its sentences, with their languages. */
  readonly sentences: ScopeSentences<TextInLanguage>;
  /** In the order in which the form numbers its boxes. */
  readonly requestedScopes: readonly string[];
  /** The one of them that asks for a sign-in: it has no box, as a yes always includes it. */
  readonly signInScope: string | undefined;
  /** True when the person has not allowed this client anything before, as far as that is remembered. */
  readonly isFirstVisit: boolean;
  /** The name by which the page addresses the person. */
  readonly displayName: string;
  /** The URL that the form is posted to. */
  readonly action: string;
  /** Says which pending request the form answers. */
  readonly interactionId: string;
  /** Proves that the form comes from this page. */
  readonly formToken: string;
}

/** What a consent page shows. Every text is already HTML: escaped, with a `<bdi>` around each name in a sentence, and a `<span lang>`
 * around what is in another language than the page. */
export interface ConsentPage {
  readonly kind: "consent";
  /** The question: may this client use this API? */
  readonly title: string;
  /** Says who is signed in, so that people notice a wrong account. */
  readonly signedInAs: string;
  /**
   * The label of the button with `name="decision"` and `value="switch"`, for a person who wants to use another account. It leads to
   * the host's sign-in page and back. Its form needs `action` and `hiddenInputs`, like the one with the answer.
   */
  readonly switchAccount: string;
  /**
   * What people must know of a client that nobody registered: that it is unchecked, where it comes from, that they have not used it
   * before, where the answer leads. And of a device: the code that it must show. Show all of it, in this order, above the buttons. Empty for
   * others.
   */
  readonly warnings: readonly string[];
  /** Stands above the checkboxes. */
  readonly scopesTitle: string;
  /** The sentence of the scope `openid`, where it was asked for. It has no checkbox. Show it above the others. */
  readonly signIn: string | undefined;
  /**
   * One checkbox each: its `name`, its sentence, a line that explains it if the API has one, and the sentences of the scopes granted
   * with it. Its `value` must be `on`.
   */
  readonly scopes: readonly {
    readonly field: string;
    readonly sentence: string;
    readonly explanation: string | undefined;
    readonly implied: readonly string[];
  }[];
  /** The URL that the form must be posted to. */
  readonly action: string;
  /** The hidden inputs that the form must contain, as HTML. */
  readonly hiddenInputs: string;
  /** The label of the button with `name="decision"` and `value="approve"`. */
  readonly allow: string;
  /** The label of the button with `name="decision"` and `value="deny"`. */
  readonly deny: string;
  /** Says where either answer leads, or what comes after it. */
  readonly continueTo: string;
  /** Where either answer leads: an origin, or the scheme of an app. Empty for a device. */
  readonly destination: string;
  /** Shown next to the logo. */
  readonly clientName: string;
  /** One or two letters that stand in for a logo. */
  readonly clientInitials: string;
  /** A `data:` URI. */
  readonly clientLogo: string | undefined;
  /** Links to the client's own pages: about it, privacy policy, terms of service. */
  readonly clientLinks: readonly { readonly href: string; readonly text: string }[];
  /** The label of what opens the details. */
  readonly detailsTitle: string;
  /** Technical names that few people need: the client's id, the API's audience, the names of the scopes. */
  readonly details: readonly { readonly term: string; readonly values: readonly string[] }[];
}

/** The form field of the requested scope at this position. Not its name: form parsers change some characters in names. */
export function scopeField(index: number): string {
  return `scope_${index}`;
}

function scopeContent(
  { scopes, explanations, impliedScopes }: ScopeSentences<TextInLanguage>,
  { scope, index, page }: { scope: string; index: number; page: string },
): ConsentPage["scopes"][number] {
  const write = ({ text, language }: TextInLanguage): string =>
    markLanguage(escapeHtml(text), { language, page });
  const explanation = explanationOf(scope, explanations);
  return {
    field: scopeField(index),
    sentence: write(scopes[scope] ?? { text: scope, language: undefined }),
    explanation: explanation && write(explanation),
    implied: Object.values(impliedScopes[scope] ?? {}).map(write),
  };
}

function hidden(name: string, value: string): string {
  return `<input type="hidden" name="${name}" value="${escapeHtml(value)}">`;
}

function linksOf({ clientUri, policyUri, tosUri }: ClientSummary, say: Say): ConsentPage["clientLinks"] {
  const links: readonly (readonly [string | undefined, keyof PageTexts])[] = [
    [clientUri, "aboutClient"],
    [policyUri, "privacyPolicy"],
    [tosUri, "termsOfService"],
  ];
  return links.flatMap(([uri, text]) =>
    uri === undefined ? [] : [{ href: escapeHtml(uri), text: say(text) }],
  );
}

/** Without the client's name: a name can be a whole sentence, and would then speak here as if it were the site. */
function warningsOf(
  { summary: { client, destination, device }, isFirstVisit }: ConsentPageInput,
  say: Say,
): ConsentPage["warnings"] {
  if (device) return [say("deviceWarning", { code: device.userCode })];
  if (!client.selfDescribed) return [];
  const { host } = client.selfDescribed;
  return [
    host === undefined ? say("unchecked") : say("uncheckedFrom", { host }),
    ...(isFirstVisit ? [say("firstVisit")] : []),
    destination.startsWith("https:") ? say("otherSite", { destination }) : say("thisDevice"),
  ];
}

/**
 * The first letters of the first two words, or of one where letters have no case: such letters do not stand well beside each other.
 * Empty when the name has no letter and no digit.
 */
function initialsOf(name: string): string {
  const [first = "", second = ""] = (name.match(/[\p{L}\p{N}]+/gu) ?? []).map(([letter = ""]) => letter);
  return (first.toLowerCase() === first.toUpperCase() ? first : first + second).toUpperCase();
}

function detailsOf(
  { client, api, scopes, impliedScopes }: AuthorizationSummary,
  say: Say,
): ConsentPage["details"] {
  const names = new Set([...Object.keys(scopes), ...Object.values(impliedScopes).flatMap(Object.keys)]);
  const rows: readonly (readonly [keyof PageTexts, readonly string[]])[] = [
    ["detailsClient", [client.clientId]],
    ["detailsApi", [api.audience]],
    ["detailsScopes", [...names]],
  ];
  return rows.flatMap(([term, values]) =>
    values.length === 0 ? [] : [{ term: say(term), values: values.map(escapeHtml) }],
  );
}

/** The content of the consent page, with every text escaped. */
export function consentPageContent(
  input: ConsentPageInput,
  { say, language }: { say: Say; language: string },
): ConsentPage {
  const { summary, sentences, requestedScopes, signInScope, displayName } = input;
  const { client, api } = summary;
  const contents = requestedScopes.map((scope, index) =>
    scopeContent(sentences, { scope, index, page: language }),
  );
  const isBox = (_: unknown, index: number): boolean => requestedScopes[index] !== signInScope;
  return {
    kind: "consent",
    title: say("consentTitle", { client: client.name, api: api.name }),
    signedInAs: say("signedInAs", { user: displayName }),
    scopesTitle: say("scopes"),
    switchAccount: say("switchAccount"),
    warnings: warningsOf(input, say),
    signIn: contents.find((content, index) => !isBox(content, index))?.sentence,
    scopes: contents.filter(isBox),
    action: escapeHtml(input.action),
    hiddenInputs: hidden("interaction", input.interactionId) + hidden("form_token", input.formToken),
    allow: say("allow"),
    deny: say("deny"),
    continueTo: summary.device
      ? say("deviceContinue")
      : say("continueTo", { destination: summary.destination }),
    destination: escapeHtml(summary.destination),
    clientName: escapeHtml(client.name),
    clientInitials: escapeHtml(initialsOf(client.name)),
    clientLogo: client.logo,
    clientLinks: linksOf(client, say),
    detailsTitle: say("details"),
    details: detailsOf(summary, say),
  };
}

/** No alert: nothing has gone wrong, and screen readers read it in its place, ahead of every button. */
function warnings({ warnings: lines }: ConsentPage): string {
  if (lines.length === 0) return "";
  return `<div class="warning" id="warning" role="note">${lines.map((line) => `<p>${line}</p>`).join("")}</div>\n`;
}

function scopeChoices({ scopes, signIn, scopesTitle }: ConsentPage): string {
  if (scopes.length === 0 && signIn === undefined) return "";
  const fixed = signIn === undefined ? "" : `<ul><li>${signIn}</li></ul>`;
  const choices = scopes.map(({ field, sentence, explanation, implied }) => {
    const lines = [
      ...(explanation === undefined ? [] : [explanation]),
      ...implied.map((each) => `+ ${each}`),
    ];
    const beneath = lines.map((line) => `<small>${line}</small>`).join("");
    return `<label><input type="checkbox" name="${field}" value="on" checked> <span>${sentence}${beneath}</span></label>`;
  });
  return `<fieldset><legend>${scopesTitle}</legend>${fixed}${choices.join("")}</fieldset>`;
}

function whoAsks({ clientLogo, clientInitials, clientName, destination }: ConsentPage): string {
  const mark =
    clientLogo === undefined
      ? `<span class="mark" aria-hidden="true">${clientInitials}</span>`
      : logoImage(clientLogo);
  const leadsTo = destination === "" ? "" : `<small class="soft"><bdi dir="ltr">${destination}</bdi></small>`;
  return `<p class="client">${mark}<span><b><bdi>${clientName}</bdi></b>${leadsTo}</span></p>`;
}

/** The names that only developers know, and the client's own pages. */
function more({ details, detailsTitle, clientLinks }: ConsentPage): string {
  const links = clientLinks.map(({ href, text }) => `<a href="${href}" rel="noreferrer">${text}</a>`);
  const named = details.map(
    ({ term, values }) =>
      `<dt>${term}</dt>${values.map((value) => `<dd><bdi dir="ltr"><code>${value}</code></bdi></dd>`).join("")}`,
  );
  return `<footer>${links.length === 0 ? "" : `<p>${links.join(" · ")}</p>`}
<details><summary>${detailsTitle}</summary><dl>${named.join("")}</dl></details></footer>`;
}

/** The `main` element's content of the built-in consent page. */
export function consentMain(page: ConsentPage): string {
  const { title, signedInAs, switchAccount, action, hiddenInputs, allow, deny, continueTo } = page;
  // anyone who tabs straight to the button hears the warning there
  const described = page.warnings.length === 0 ? "" : ' aria-describedby="warning"';
  // two forms: Enter in the lower one must never press the upper one's button
  const form = `<form method="post" action="${action}">${hiddenInputs}`;
  return `${whoAsks(page)}
<h1>${title}</h1>
${warnings(page)}<div class="person"><p>${signedInAs}</p>
${form}<button class="plain" name="decision" value="switch">${switchAccount}</button></form></div>
${form}
${scopeChoices(page)}
<p class="choices"><button class="primary" name="decision" value="approve"${described}>${allow}</button>
<button name="decision" value="deny">${deny}</button></p>
</form>
<p class="soft"><small>${continueTo}</small></p>
${more(page)}`;
}
