// @ts-check
/** The playground: choices and stories at the left, what happened at the right. public/demo.mjs does the rest. */
const { html, page, wholePage } = require("./page");
const { groups } = require("./stories");

/** @typedef {readonly [value: string, text: string, note: string]} Choice */
/** @typedef {import("./page").Html} Html */

/**
 * Radio buttons, with a note about the chosen one.
 *
 * @type {(legend: string, name: string, choices: readonly Choice[]) => Html}
 */
function choose(legend, name, choices) {
  const radios = choices.map(([value, text, note], index) => {
    const checked = index === 0 ? html`checked` : "";
    return html`<label class="pill">
      <input type="radio" name="${name}" value="${value}" data-note="${note}" ${checked} />${text}
    </label>`;
  });
  return html`<fieldset class="choice">
    <legend>${legend}</legend>
    <div>${radios}</div>
    <p class="note" id="${name}-note"></p>
  </fieldset>`;
}

/** @type {(entry: [string, import("./stories").Story]) => Html} */
function storyButton([name, { text, note, outcome, ...story }]) {
  return html`<li>
    <button id="${name}" data-story="${JSON.stringify(story)}" aria-describedby="${name}-note">
      <span>${text}</span>${outcome && html`<code>${outcome}</code>`}
    </button>
    <p class="note" id="${name}-note">${note}</p>
  </li>`;
}

/** @type {(group: import("./types").StoryGroup) => Html} */
const storyGroup = ({ name, title, stories }) =>
  html`<section class="stories ${name}" aria-labelledby="${name}-title">
    <h2 id="${name}-title">${title}</h2>
    <p class="as" id="${name}-as"></p>
    <ul>
      ${Object.entries(stories).map(storyButton)}
    </ul>
  </section>`;

/** @type {(title: string, secrets: Readonly<Record<string, string>>) => Html} */
function secretList(title, secrets) {
  const rows = Object.entries(secrets).map(
    ([name, secret]) =>
      html`<dt>${name}</dt>
        <dd><code>${secret}</code></dd>`,
  );
  return html`<h2>${title}</h2>
    <dl>${rows}</dl>`;
}

const client = choose("Client", "clientId", [
  ["web", "Web Shop", "Confidential: keeps a secret on its server."],
  ["portal", "Company Portal", "Confidential and trusted: no consent page."],
  ["native", "Phone App", "Public: no secret, so PKCE protects its code."],
  ["browser", "Browser App", "Public: runs in this page, no refresh token."],
  ["machine", "Night Job", "Confidential: a machine, no person."],
]);
const method = choose("Sign-in", "method", [
  ["password", "Password", "alice: down the rabbit hole"],
  ["otp", "One-time code", "Printed on the console."],
]);
const api = choose("API", "api", [
  ["orders", "Orders", "JWT, 10 minutes, default scope."],
  ["reports", "Reports", "Opaque, 2 minutes, needs a one-time code."],
]);
/** Some of it is for clients with a person, or for those without: see `.of-machine` in public/playground.css. */
const request = html`<details id="request">
  <summary>
    <span class="of-person">Authorization request</span><span class="of-machine">Token request</span>
  </summary>
  <fieldset>
    <legend>Parameters</legend>
    <label class="field">scope <input name="scope" autocomplete="off" spellcheck="false" /></label>
    <label class="field of-person">
      prompt
      <select name="prompt">
        <option value="">not sent</option>
        <option>none</option>
        <option>login</option>
        <option>consent</option>
      </select>
    </label>
    <label class="of-person"><input type="checkbox" name="pkce" checked /> with PKCE</label>
    <label class="of-person"
      ><input type="checkbox" name="sendRedirectUri" checked /> with redirect_uri</label
    >
  </fieldset>
</details>`;

/** @param {{ passwords: Readonly<Record<string, string>>, secrets: Readonly<Record<string, string>> }} known */
const topBar = ({ passwords, secrets }) =>
  html`<header class="bar">
    <h1>OAuth playground</h1>
    <p class="tagline">Run a flow, watch every message, make it fail.</p>
    <button popovertarget="secrets">Passwords and client secrets</button>
    <section id="secrets" popover aria-label="Passwords and client secrets">
      <p>
        <strong>This is a demo, so it shows secrets:</strong> passwords, client secrets, codes and tokens, and
        the reasons for refusals, which normally appear only in the host's log. They are useless elsewhere. A
        real host shows none of them.
      </p>
      ${secretList("People", passwords)} ${secretList("Confidential clients", secrets)}
    </section>
    <p class="person">Signed in: <strong id="person">nobody</strong></p>
    <a href="/account">Account page</a>
  </header>`;

/** What messages carry, in the colours of public/sequence.css. @type {(kind: string, word: string) => Html} */
const chip = (kind, word) => html`<span class="chip ${kind}">${word}</span>`;

/** @type {Readonly<Record<string, readonly [word: string, meaning: string]>>} */
const meanings = {
  code: ["code", "Passes through the browser, works once, and is useless without the verifier."],
  verifier: ["verifier", "A secret of the client for this one request (PKCE). The challenge is its hash."],
  access: ["access token", "Gives access to one API until it expires."],
  refresh: ["refresh token", "Gets new tokens, and is replaced each time."],
  secret: ["secret", "Proves which confidential client is asking."],
};

/** @param {readonly string[]} kinds */
function legendOf(kinds) {
  const rows = kinds.map((kind) => {
    const [word = "", meaning] = meanings[kind] ?? [];
    return html`<dt>${chip(kind, word)}</dt>
      <dd>${meaning}</dd>`;
  });
  return html`<p>What a message carries has the same colour everywhere:</p>
    <dl class="legend">${rows}</dl>`;
}

const personIntro = html`<div class="of-person">
  <p>
    A person lets a client use an API, without giving it their password. <strong>Run the flow</strong>, and
    each message appears here as it is sent:
  </p>
  <ol>
    <li>
      The client sends the <strong>browser</strong> to the authorization server, with a
      ${chip("verifier", "challenge")}.
    </li>
    <li>The person signs in there and decides what the client may do.</li>
    <li>The browser brings a ${chip("code", "code")} back to the <strong>client</strong>.</li>
    <li>
      The client redeems the ${chip("code", "code")} with the ${chip("verifier", "verifier")} at the
      <strong>authorization server</strong>.
    </li>
    <li>The client calls the <strong>API</strong> with the ${chip("access", "access token")}.</li>
  </ol>
  ${legendOf(Object.keys(meanings))}
</div>`;

const machineIntro = html`<div class="of-machine">
  <p>
    A machine uses an API for itself. No person and no browser take part. <strong>Run the flow</strong>, and
    each message appears here as it is sent:
  </p>
  <ol>
    <li>
      The client asks the <strong>authorization server</strong> for a token and proves who it is with its
      ${chip("secret", "secret")}.
    </li>
    <li>The client calls the <strong>API</strong> with the ${chip("access", "access token")}.</li>
  </ol>
  ${legendOf(["secret", "access"])}
</div>`;

const happened = html`<section class="happened" aria-labelledby="happened">
  <div class="top">
    <div class="report">
      <h2 id="happened" tabindex="-1">What happened</h2>
      <p id="status" role="status"></p>
      <button id="clear" hidden>Clear</button>
    </div>
    <p id="said" class="notice"></p>
    <div id="lanes" class="lanes"></div>
  </div>
  <div id="intro">${[personIntro, machineIntro]}</div>
  <div id="told"></div>
  <section id="token" hidden></section>
</section>`;

/** @param {{ passwords: Readonly<Record<string, string>>, secrets: Readonly<Record<string, string>> }} known */
const startPage = (known) =>
  wholePage({
    title: "OAuth playground: authmount",
    head: html`<link rel="stylesheet" href="/playground.css" />
      <link rel="stylesheet" href="/sequence.css" />
      <link rel="stylesheet" href="/arrows.css" />
      <link rel="stylesheet" href="/steps.css" />
      <script type="module" src="/demo.mjs"></script>`,
    body: html`${topBar(known)}
      <main class="bench">
        <div class="controls">
          <noscript><p class="notice">This page needs JavaScript.</p></noscript>
          <form id="choices">
            ${[client, method, api]}
            <p id="issuer" class="note" aria-live="polite"></p>
            ${request}
          </form>
          ${groups.map(storyGroup)}
        </div>
        ${happened}
      </main>`,
  });

/** Where a window or a hidden iframe ends. It tells the playground and closes itself. */
const backPage = page({
  title: "Back at the client",
  head: html`<script type="module" src="/back.mjs"></script>`,
  main: html`<p>You can close this window, or go back to the <a href="/">playground</a>.</p>`,
});

module.exports = { backPage, startPage };
