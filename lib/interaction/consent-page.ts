/** The built-in consent page. RFC 6749 §10.2, 9700 §4.11.2. */
import { scopeField } from "./consent-form";
import { escapeHtml, renderPage } from "./page";
import type { AuthorizationSummary, ClientSummary } from "./port";

export interface ConsentPageContent {
  readonly summary: AuthorizationSummary;
  /** What the person is called. */
  readonly displayName: string;
  /** URL that the form is posted to. */
  readonly action: string;
  readonly interactionId: string;
  readonly formToken: string;
  /** Where an approval leads, as people may read it. */
  readonly destination: string;
}

function scopeChoices(scopes: Readonly<Record<string, string>>): string {
  const choices = Object.values(scopes).map(
    (sentence, index) =>
      `<label><input type="checkbox" name="${scopeField(index)}" value="on" checked> <span>${escapeHtml(sentence)}</span></label>`,
  );
  if (choices.length === 0) return "";
  return `<fieldset><legend>It will be able to</legend>${choices.join("")}</fieldset>`;
}

function clientLinks({ clientUri, policyUri, tosUri }: ClientSummary): string {
  const links: readonly (readonly [string | undefined, string])[] = [
    [clientUri, "About this application"],
    [policyUri, "Privacy policy"],
    [tosUri, "Terms of service"],
  ];
  const written = links.flatMap(([uri, text]) =>
    uri === undefined ? [] : [`<a href="${escapeHtml(uri)}" rel="noreferrer">${text}</a>`],
  );
  return written.length === 0 ? "" : `<p class="soft">${written.join(" · ")}</p>`;
}

function hidden(name: string, value: string): string {
  return `<input type="hidden" name="${name}" value="${escapeHtml(value)}">`;
}

export function renderConsentPage(content: ConsentPageContent): string {
  const { summary, displayName, action, interactionId, formToken, destination } = content;
  const client = escapeHtml(summary.client.name);
  return renderPage({
    title: `Allow access for ${summary.client.name}?`,
    main: `<h1>Allow ${client} to use ${escapeHtml(summary.api.name)} for you?</h1>
<p>You are signed in as <strong>${escapeHtml(displayName)}</strong>.</p>
<form method="post" action="${escapeHtml(action)}">
${hidden("interaction", interactionId)}${hidden("form_token", formToken)}
${scopeChoices(summary.scopes)}
<p class="choices"><button class="primary" name="decision" value="approve">Allow</button>
<button name="decision" value="deny">Do not allow</button></p>
</form>
<p class="soft">Either way you continue to ${escapeHtml(destination)}.</p>
${clientLinks(summary.client)}`,
  });
}
