/** What the page gives to the clipboard: a token, or a request as a curl command. */
import { element } from "./dom.mjs";

/** A button that copies a text and says so. */
export function copyButton(label, text) {
  const button = element("button", [label], "copy");
  button.addEventListener("click", async () => {
    const isCopied = await navigator.clipboard.writeText(text).then(
      () => true,
      () => false,
    );
    button.textContent = isCopied ? "Copied" : "Not allowed to copy";
    setTimeout(() => (button.textContent = label), 2000);
  });
  return button;
}

/** For a POSIX shell, where nothing has a meaning between single quotes. */
const quote = (text) => `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** What the page knows of a request in full: of the browser's only the first, because the others need its cookies. */
export const isComplete = ({ by, url }) => by !== "Browser" || url.endsWith("/authorize");

export function curlOf({ method, url, sent: { Authorization: header, ...fields } }) {
  const target = new URL(url, location.href);
  const parts = header ? [`-H ${quote(`Authorization: ${header}`)}`] : [];
  if (method === "GET") target.search = new URLSearchParams(fields).toString();
  else if (url.startsWith("/api/"))
    parts.push("-H 'Content-Type: application/json'", `-d ${quote(JSON.stringify(fields))}`);
  else
    parts.push(
      ...Object.entries(fields).map(([name, value]) => `--data-urlencode ${quote(`${name}=${value}`)}`),
    );
  return [`curl -i ${quote(target.href)}`, ...parts].join(" \\\n  ");
}
