/** What must hold for every answer, whatever was asked. */
import { origin } from "../../__tests__/hosts/apis";
import { clients } from "../../__tests__/hosts/clients";
import { type WireAnswer, valuesOf } from "./fuzz-connection";
import type { FuzzHost } from "./fuzz-host";
import { marker } from "./fuzz-requests";

const registered = new Set<string>(Object.values(clients).flatMap(({ redirectUris }) => [...redirectUris]));

/** True for a path of the host, for another query of the same page, and for a redirect URI of a client; of a loopback one the port is free (RFC 8252 §7.3). */
function isAllowedTarget(location: string, targets: readonly string[]): boolean {
  if (/^(?:\/(?![/\\])|\?)/.test(location)) return true;
  if (
    targets.some(
      (target) => location.startsWith(target) && /^(?:&state=|$)/.test(location.slice(target.length)),
    )
  )
    return true;
  if (!URL.canParse(location)) return false;
  const url = new URL(location);
  if (url.origin === origin) return true;
  [url.search, url.hash] = ["", ""];
  if (url.protocol === "http:") url.port = "";
  return registered.has(url.href) && location.startsWith(url.protocol);
}

function wrongBody(answer: WireAnswer): string | undefined {
  const [type = ""] = valuesOf(answer, "content-type");
  const { body, whole } = answer;
  if (body.includes(marker) && /html/.test(type)) return "the page repeats input without escaping it";
  if (!/json/.test(type) || !whole || body === "") return undefined;
  try {
    JSON.parse(Buffer.from(body, "latin1").toString());
    return undefined;
  } catch {
    return "the answer is not JSON, but says so";
  }
}

const isPrivatePath =
  /^POST \/login\/auth\/(?:password|otp|sso)\/api\/(?:orders|reports|files)\/(?:token|introspect|revoke|register|userinfo)[ ?]/;

/** True for an answer that no cache may keep: tokens, refusals, pages and redirects (RFC 6749 §5.1, 9700 §4.2.4). */
function mustNotBeStored(sent: string, { status }: WireAnswer): boolean {
  // this is an answer of Node alone
  if (status === 417) return false;
  return (
    isPrivatePath.test(sent) ||
    /^(?:GET|POST) \/login\/auth\/password\/api\/orders\/(?:authorize|userinfo)[ ?]/.test(sent)
  );
}

/** The rules that an answer breaks, the first one; `undefined` when it keeps all. */
export function offenceOf(
  sent: string,
  answer: WireAnswer | undefined,
  { secrets, targets = [] }: Pick<FuzzHost, "secrets" | "targets">,
): string | undefined {
  if (!answer) return "the connection was closed without an answer";
  const { status, body, headers } = answer;
  if (!(status >= 200 && status < 500)) return `status ${status}`;
  const location = valuesOf(answer, "location").find((target) => !isAllowedTarget(target, targets));
  if (location !== undefined) return `it redirects to ${location}`;
  if (valuesOf(answer, "location").length > 1) return "it has two Location headers";
  if (headers.some(([name]) => name.startsWith("x-injected"))) return "a header was injected";
  const isOurs =
    valuesOf(answer, "connection").length === 0 || !/close/i.test(valuesOf(answer, "connection")[0] ?? "");
  if (
    isOurs &&
    mustNotBeStored(sent, answer) &&
    !valuesOf(answer, "cache-control").some((value) => value.includes("no-store"))
  )
    return `no "Cache-Control: no-store" with status ${status}`;
  // a registration repeats what it was sent
  if (status !== 201 && secrets.some((secret) => body.includes(secret))) return "it tells a secret";
  return wrongBody(answer);
}
