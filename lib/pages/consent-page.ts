/** The built-in consent page. RFC 6749 §10.2, 9700 §4.11.2. */
import { escapeHtml, fillIn, logoImage } from "./page-frame";
import type { PageTexts } from "./page-texts";
import type { AuthorizationSummary, ClientSummary } from "./summary";

/** What the page asks, whom it asks, and how the answer comes back. */
export interface ConsentPageInput {
  /** Who asks for what. */
  readonly summary: AuthorizationSummary;
  /** In the order in which the form numbers its boxes. */
  readonly requestedScopes: readonly string[];
  /** The name by which the page addresses the person. */
  readonly displayName: string;
  /** The URL that the form is posted to. */
  readonly action: string;
  /** Says which pending request the form answers. */
  readonly interactionId: string;
  /** Proves that the form comes from this page. */
  readonly formToken: string;
}

/** What a consent page shows. Every text is already HTML: escaped, and with a `<bdi>` around each name in a sentence. */
export interface ConsentPage {
  readonly kind: "consent";
  /** The question: may this client use this API? */
  readonly title: string;
  /** Says who is signed in, so that people notice a wrong account. */
  readonly signedInAs: string;
  /** Stands above the checkboxes. */
  readonly scopesTitle: string;
  /** One checkbox each: its `name`, its sentence, and the sentences of the scopes granted with it. Its `value` must be `on`. */
  readonly scopes: readonly {
    readonly field: string;
    readonly sentence: string;
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
  /** Says where either answer leads. */
  readonly continueTo: string;
  /** Shown next to the logo. */
  readonly clientName: string;
  /** A `data:` URI. */
  readonly clientLogo: string | undefined;
  /** Links to the client's own pages: about it, privacy policy, terms of service. */
  readonly clientLinks: readonly { readonly href: string; readonly text: string }[];
}

/** The form field of the requested scope at this position. Not its name: form parsers change some characters in names. */
export function scopeField(index: number): string {
  return `scope_${index}`;
}

function hidden(name: string, value: string): string {
  return `<input type="hidden" name="${name}" value="${escapeHtml(value)}">`;
}

function linksOf(
  { clientUri, policyUri, tosUri }: ClientSummary,
  texts: PageTexts,
): ConsentPage["clientLinks"] {
  const links: readonly (readonly [string | undefined, string])[] = [
    [clientUri, texts.aboutClient],
    [policyUri, texts.privacyPolicy],
    [tosUri, texts.termsOfService],
  ];
  return links.flatMap(([uri, text]) =>
    uri === undefined ? [] : [{ href: escapeHtml(uri), text: escapeHtml(text) }],
  );
}

/** The content of the consent page, with every text escaped. */
export function consentPageContent(input: ConsentPageInput, texts: PageTexts): ConsentPage {
  const { summary, requestedScopes, displayName, action, interactionId, formToken } = input;
  const { client, api } = summary;
  return {
    kind: "consent",
    title: fillIn(texts.consentTitle, { client: client.name, api: api.name }),
    signedInAs: fillIn(texts.signedInAs, { user: displayName }),
    scopesTitle: escapeHtml(texts.scopes),
    scopes: requestedScopes.map((scope, index) => ({
      field: scopeField(index),
      sentence: escapeHtml(summary.scopes[scope] ?? scope),
      implied: Object.values(summary.impliedScopes[scope] ?? {}).map(escapeHtml),
    })),
    action: escapeHtml(action),
    hiddenInputs: hidden("interaction", interactionId) + hidden("form_token", formToken),
    allow: escapeHtml(texts.allow),
    deny: escapeHtml(texts.deny),
    continueTo: fillIn(texts.continueTo, { destination: summary.destination }),
    clientName: escapeHtml(client.name),
    clientLogo: client.logo,
    clientLinks: linksOf(client, texts),
  };
}

function scopeChoices({ scopes, scopesTitle }: ConsentPage): string {
  if (scopes.length === 0) return "";
  const choices = scopes.map(
    ({ field, sentence, implied }) =>
      `<label><input type="checkbox" name="${field}" value="on" checked> <span>${[sentence, ...implied].join("<br>+ ")}</span></label>`,
  );
  return `<fieldset><legend>${scopesTitle}</legend>${choices.join("")}</fieldset>`;
}

/** The `main` element's content of the built-in consent page. */
export function consentMain(page: ConsentPage): string {
  const { title, signedInAs, action, hiddenInputs, allow, deny, continueTo, clientLogo, clientLinks } = page;
  const links = clientLinks.map(({ href, text }) => `<a href="${href}" rel="noreferrer">${text}</a>`);
  return `${clientLogo === undefined ? "" : `<p class="client">${logoImage(clientLogo)}${page.clientName}</p>`}<h1>${title}</h1>
<p>${signedInAs}</p>
<form method="post" action="${action}">
${hiddenInputs}
${scopeChoices(page)}
<p class="choices"><button class="primary" name="decision" value="approve">${allow}</button>
<button name="decision" value="deny">${deny}</button></p>
</form>
<p class="soft">${continueTo}</p>
${links.length === 0 ? "" : `<p class="soft">${links.join(" · ")}</p>`}`;
}
