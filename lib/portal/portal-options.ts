/** What the pages of `authmount/portal` are given, checked where they are made. RFC 6749 §10. */
import type { Request } from "express";
import type { Authentication } from "../end-user/port";
import { checkKeys } from "../host/plain";
import type { AuthServerOptions } from "../options/options";
import { isPlain } from "../protocol/host-json";
import { mistakesOf } from "../protocol/mistake";
import { parseUrl } from "../protocol/parsed-url";
import type { Storage } from "../storage/port";

/** A page that a host may render. All but the language and the direction is HTML. */
export interface PortalPage {
  /** BCP 47. */
  readonly language: string;
  /** The writing direction of the language, for `dir`. */
  readonly direction: "ltr" | "rtl";
  /** The heading; it may have markup that the `title` element may not have. */
  readonly title: string;
  /** Everything that the page shows, the heading and the forms included. */
  readonly main: string;
}

/** What all pages of `authmount/portal` are given. */
export interface PortalOptions<Texts, Change> {
  /** What `createAuthServer` was given. Only names, sentences, the client table and the look are read. */
  readonly options: Pick<AuthServerOptions, "baseUrl" | "apis" | "pages"> & {
    readonly storage: Pick<Storage, "clients" | "clientRegistrations">;
  };
  /**
   * Says who is at this browser, as `authenticate` does, in five seconds. With `change: true`, something is about to be changed: answer
   * `interaction` to ask for a fresh sign-in first. Its `url` is used as it is, so put the way back into it. After `denied`, your next
   * handler answers.
   */
  readonly person: (question: {
    readonly req: Request;
    readonly change: boolean;
  }) => Authentication | Promise<Authentication>;
  /** Where browsers see the pages, such as `"https://accounts.example"`. Left out: the origin of `baseUrl`. */
  readonly origin?: string;
  /** Puts a page into a frame of yours, or returns `undefined`. `<style>` is allowed; scripts and outside requests are not. */
  readonly render?: (page: PortalPage) => string | undefined;
  /** Language (BCP 47) → texts that override or add to the built-in ones. */
  readonly texts?: Readonly<Record<string, Partial<Texts>>>;
  /** Is told after each change. What it throws goes to your error handler, and the change stays. */
  readonly onChange?: (change: Change) => void | Promise<void>;
}

/** Options of pages of any kind. */
export type AnyPortalOptions = PortalOptions<object, never> & { readonly auth: object };

const mistake = mistakesOf({
  "portal-not-a-function": (by: string, name: string) => `${by}: ${name} must be a function.`,
  "portal-without-server": (by: string) =>
    `${by}: auth must be what createAuthServer returned, and options what it was given.`,
  "portal-origin-wrong": (by: string) =>
    `${by}: origin must be like "https://accounts.example", without a path or a slash at the end.`,
  "portal-texts-wrong": (by: string, names: string) =>
    `${by}: texts must have languages such as "de-AT", each with texts. Known texts: ${names}.`,
});

function isLanguage(tag: string): boolean {
  try {
    return Intl.getCanonicalLocales(tag).length === 1;
  } catch {
    return false;
  }
}

function isOrigin(text: string): boolean {
  return /^https?:/.test(text) && parseUrl(text)?.origin === text;
}

function isOfServer(options: Partial<AnyPortalOptions["options"]> | undefined): boolean {
  const { baseUrl = "", apis, storage } = options ?? {};
  return Boolean(parseUrl(baseUrl) && isPlain(apis) && storage?.clients && storage.clientRegistrations);
}

const known = ["auth", "options", "person", "origin", "render", "texts", "onChange"];
const mayBeLeftOut = ["render", "onChange", "links", "contextName"];

/**
 * Checks the options that all pages have. `by` is the function that was called, `functions` are options of its pages alone, and `names` those
 * of its texts.
 *
 * @throws TypeError that says what is wrong
 */
export function checkPortalOptions(
  given: AnyPortalOptions,
  { by, functions, names }: { by: string; functions: readonly string[]; names: readonly string[] },
): void {
  checkKeys(given, { by, known: [...known, ...functions] });
  const { auth, options, origin, texts = {} } = given;
  if (!("subjects" in Object(auth)) || !isOfServer(options)) throw mistake("portal-without-server", by);
  for (const name of ["person", "render", "onChange", ...functions]) {
    const isThere = Object.hasOwn(given, name) || !mayBeLeftOut.includes(name);
    if (isThere && typeof Reflect.get(given, name) !== "function")
      throw mistake("portal-not-a-function", by, name);
  }
  if (origin !== undefined && !isOrigin(origin)) throw mistake("portal-origin-wrong", by);
  for (const [language, ofLanguage] of Object.entries(texts)) {
    const areTexts =
      isPlain(ofLanguage) &&
      Object.entries(ofLanguage).every(([name, text]) => names.includes(name) && typeof text === "string");
    if (!isLanguage(language) || !areTexts) throw mistake("portal-texts-wrong", by, names.join(", "));
  }
}
