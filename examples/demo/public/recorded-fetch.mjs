// @ts-check
/** Sends a request and records it with its answer as a step. */

/** Now, in milliseconds since 1970. Finer than `Date.now`, because steps are sorted by it. */
export const clock = () => performance.timeOrigin + performance.now();

export const shownHeaders = ["location", "content-type", "cache-control", "www-authenticate"];

/**
 * The host's own events that came with an answer.
 *
 * @type {(header: string) => Record<string, unknown>[]}
 */
export const readEvents = (header) =>
  header.split(", ").flatMap((event) => (event ? [JSON.parse(decodeURIComponent(event))] : []));

/** @type {Readonly<Record<string, string>>} */
const entities = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: " " };

/** `&#39;` and its like as characters. @param {string} text */
const decodeEntities = (text) =>
  text.replaceAll(/&(?:#(\d+)|#x([\da-f]+)|(\w+));/gi, (written, decimal, hex, name) => {
    const code = decimal ? Number(decimal) : Number.parseInt(hex, 16);
    return (name ? entities[name] : String.fromCodePoint(code)) ?? written;
  });

/** The text that a person would read on a page. @param {string} html */
const textOf = (html) =>
  decodeEntities(html.replaceAll(/<style[^]*?<\/style>|<title[^]*?<\/title>|<[^>]*>/g, " "))
    .replaceAll(/\s+/g, " ")
    .trim();

/** @type {(response: Response) => Promise<Record<string, any>>} */
async function readBody(response) {
  const text = await response.text();
  const isJson = response.headers.get("content-type")?.startsWith("application/json");
  return isJson ? JSON.parse(text) : { page: textOf(text) };
}

/** @param {import("../types.js").RecordedRequest} request */
export async function recordedFetch({ by, record, method, url, authorization, form, json }) {
  const at = clock();
  const { pathname, searchParams } = new URL(url);
  const response = await fetch(url, {
    method,
    headers: {
      accept: by === "Browser" ? "text/html" : "application/json",
      ...(authorization && { authorization }),
      ...(json && { "content-type": "application/json" }),
    },
    ...(form && { body: new URLSearchParams(form) }),
    ...(json && { body: JSON.stringify(json) }),
  });
  const { status } = response;
  const body = await readBody(response);
  const headers = Object.fromEntries(shownHeaders.map((name) => [name, response.headers.get(name) ?? ""]));
  const authorizationHeader = authorization && { Authorization: authorization };
  record({
    at,
    until: clock(),
    by,
    method,
    url: pathname,
    sent: { ...authorizationHeader, ...Object.fromEntries(searchParams), ...form, ...json },
    status,
    headers,
    body,
    events: readEvents(response.headers.get("demo-event") ?? ""),
  });
  return { status, headers, body };
}
