/** The page on which people see their apps. Every text in it is escaped. RFC 6749 §10.2; WCAG 2.2. */
import { isScopeOptions } from "../options/options";
import { scopeField } from "../pages/consent-page";
import { escapeHtml } from "../pages/page-frame";
import type { Access, AccountVisit, App, Apps } from "./account-apps";
import type { PageContent } from "./portal";

/** A form's hidden field. */
function hidden(seen: string): string {
  return `<input type="hidden" name="seen" value="${seen}">`;
}

function accessHtml(
  { say, date, sentence, apis }: AccountVisit,
  { access, by }: { access: Access; by: string },
): string {
  const { apiId, contextName: context, scopes, boxes, isFixed, since, until, seen } = access;
  const { name: api, scopes: known } = apis.get(apiId) ?? { name: apiId, scopes: {} };
  const written = (scope: string): string => {
    const found = Object.hasOwn(known, scope) ? known[scope] : undefined;
    return found === undefined ? escapeHtml(scope) : sentence(isScopeOptions(found) ? found.text : found);
  };
  const title = context === "" ? say("access", { api }) : say("accessFor", { api, context });
  const period = `<p class="soft"><small>${say("period", { since: date(since), until: date(until) })}</small></p>`;
  if (isFixed)
    return `<p>${title}</p><ul>${scopes.map((scope) => `<li>${written(scope)}</li>`).join("")}</ul>${period}`;
  const labels = boxes.map(({ scope, implied }, index) => {
    const beneath = implied.map((each) => `<small>+ ${written(each)}</small>`).join("");
    return `<label><input type="checkbox" name="${scopeField(index)}" value="on" checked> <span>${written(scope)}${beneath}</span></label>`;
  });
  return `<form method="post">${hidden(seen)}<fieldset><legend>${title}</legend>${labels.join("")}</fieldset>
${period}<p class="choices"><button name="do" value="save" aria-describedby="${by}">${say("save")}</button></p></form>`;
}

function signInHtml(
  { say, date }: AccountVisit,
  { signIn, by }: { signIn: App["signIns"][number]; by: string },
): string {
  const { authorizationId, authMethodId: method, createdAt, lastUsedAt, signedInFrom } = signIn;
  const lines = [
    ...(signedInFrom === undefined ? [] : [`<bdi>${escapeHtml(signedInFrom)}</bdi>`]),
    say("signedIn", { date: date(createdAt), method }),
    ...(lastUsedAt === undefined ? [] : [say("lastUsed", { date: date(lastUsedAt) })]),
  ];
  const id = escapeHtml(authorizationId);
  return `<li><p id="${id}">${lines.join("<br>")}</p><p><button name="end" value="${id}" aria-describedby="${by} ${id}">${say("end")}</button></p></li>`;
}

function appHtml(visit: AccountVisit, { app, by }: { app: App; by: string }): string {
  const { say } = visit;
  const { kind, name, isNamedByItself, accesses, signIns, seen } = app;
  const heading = isNamedByItself ? say("callsItself", { name }) : `<bdi>${escapeHtml(name)}</bdi>`;
  const items = signIns.map((signIn) => signInHtml(visit, { signIn, by }));
  const list = `<details><summary>${say("signIns")} (${items.length})</summary><ul>${items.join("")}</ul></details>`;
  return `<section aria-labelledby="${by}"><h2 id="${by}">${heading}</h2>
${kind === "registered" ? "" : `<p class="soft">${say(kind)}</p>`}
${accesses.map((access) => accessHtml(visit, { access, by })).join("\n")}
<form method="post">${hidden(seen)}<p class="choices"><button name="do" value="remove" aria-describedby="${by}">${say("remove")}</button></p>
${items.length === 0 ? "" : list}</form></section>`;
}

/** The page with these apps. */
export function accountPage(visit: AccountVisit, { apps, areAll }: Apps): PageContent {
  const { say, displayName: user, isOutdated, seen } = visit;
  const title = say("title");
  const notices = [...(isOutdated ? [say("outdated")] : []), ...(areAll ? [] : [say("tooMany")])];
  const sections = apps.map((app, index) => appHtml(visit, { app, by: `app-${index}` }));
  const removeAll = `<footer><details><summary>${say("removeAll")}</summary><form method="post">${hidden(seen("all"))}<p>${say("removeAllExplanation")}</p>
<p><button name="do" value="remove-all">${say("removeAll")}</button></p></form></details></footer>`;
  const main = `<h1>${title}</h1>
<p>${say("signedInAs", { user })}</p>
${notices.map((notice) => `<p class="warning" role="status">${notice}</p>`).join("")}
${sections.length === 0 ? `<p>${say("none")}</p>` : sections.join("\n") + removeAll}`;
  return { title, main };
}
