/** What pages and adapters may know about an authorization request. RFC 6749 §3.1, §10.2. */
import type { IncomingMessage } from "node:http";
import type { AuthorizationRequest, Prompt } from "../protocol/authorization-request";
import type { Client, SelfDescription } from "../protocol/client";
import type { DeviceInteraction } from "../protocol/device";
import type { ScopeSentence } from "../protocol/issuer";
import { intersect } from "../protocol/scope";
import { chooseLanguage, wantedLanguages } from "./language";
import { fallbackLanguage, type TextInLanguage } from "./merge-texts";

/** A client as pages may show it: no secret digests, no other redirect URIs, no subscriptions. */
export interface ClientSummary {
  readonly clientId: string;
  /** The name that people read. */
  readonly name: string;
  /** True when the client can keep a secret. */
  readonly confidential: boolean;
  /** A `data:` URI. */
  readonly logo?: string;
  /** An https URL of a page about the client. */
  readonly clientUri?: string;
  /** An https URL of its privacy policy. */
  readonly policyUri?: string;
  /** An https URL of its terms of service. */
  readonly tosUri?: string;
  /** Set for a client that nobody registered. What it says of itself, its name above all, is unchecked: tell the person. */
  readonly selfDescribed?: {
    readonly by: SelfDescription["by"];
    /** The host name of its metadata document: the only part that is proven. */
    readonly host?: string;
  };
}

/** Which client asks for which scopes of which API. It is a copy: changing it changes nothing in the request. */
export interface AuthorizationSummary {
  /** How the end user signs in for this request. */
  readonly authMethodId: string;
  /** The API that the client wants to use. */
  readonly api: { readonly apiId: string; readonly name: string; readonly audience: string };
  readonly client: ClientSummary;
  /** Where either answer leads: the origin of the redirect URI, or its scheme. Empty for a device. */
  readonly destination: string;
  /**
   * Set where a device asks (RFC 8628). Show its code, and say that the person must only continue if their own device shows it: a link with
   * the code may have been sent by anyone.
   */
  readonly device?: DeviceInteraction;
  /** Requested scope → its sentence for people, in their language if the API has it. */
  readonly scopes: Readonly<Record<string, string>>;
  /** Requested scope → one more line that explains it, if the API has one. Show it beneath the sentence. */
  readonly explanations: Readonly<Record<string, string>>;
  /** Requested scope that implies others → the scopes that are granted with it, each with its sentence. Show them beneath it. */
  readonly impliedScopes: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /**
   * What the client wants the person to be asked; empty when it does not say. Contains `select_account` also when the person has
   * asked for another account on the consent page.
   */
  readonly prompt: readonly Prompt[];
  /** How old a sign-in may be, in seconds. */
  readonly maxAge: number | undefined;
  /** How the client wants the person to sign in, as `acr`, the best first: some of `acrValues` of the API. Empty when any way will do. */
  readonly acrValues: readonly string[];
  /** Whom the client expects: unchecked input, so escape it. */
  readonly loginHint: string | undefined;
  /** The person's languages as the client says (BCP 47, separated by spaces): unchecked input. */
  readonly uiLocales: string | undefined;
}

function summarizeSource(
  clientId: string,
  { by }: SelfDescription,
): NonNullable<ClientSummary["selfDescribed"]> {
  return by === "document" ? { by, host: new URL(clientId).host } : { by };
}

/** A client as pages may show it. */
export function summarizeClient({
  clientId,
  name,
  confidential,
  logo,
  clientUri,
  policyUri,
  tosUri,
  selfDescription,
}: Client): ClientSummary {
  return {
    clientId,
    name,
    confidential,
    ...(logo !== undefined && { logo }),
    ...(clientUri !== undefined && { clientUri }),
    ...(policyUri !== undefined && { policyUri }),
    ...(tosUri !== undefined && { tosUri }),
    ...(selfDescription && { selfDescribed: summarizeSource(clientId, selfDescription) }),
  };
}

/** The sentence in the first of these languages that it has, else in English, else in the language that is listed first. */
export function sentenceIn(wanted: () => readonly string[], sentence: ScopeSentence): TextInLanguage {
  if (typeof sentence === "string") return { text: sentence, language: undefined };
  const languages = Object.keys(sentence);
  const language = chooseLanguage([...wanted(), fallbackLanguage], languages) ?? languages[0] ?? "";
  return { text: sentence[language] ?? "", language };
}

/** The explanation of a scope, if it has one. A scope may be called `constructor`, which every object seems to have. */
export function explanationOf<T>(scope: string, explanations: Readonly<Record<string, T>>): T | undefined {
  return Object.hasOwn(explanations, scope) ? explanations[scope] : undefined;
}

/** What the API says of the requested scopes, by the names that `AuthorizationSummary` has. */
export interface ScopeSentences<Told> {
  readonly scopes: Readonly<Record<string, Told>>;
  readonly explanations: Readonly<Record<string, Told>>;
  readonly impliedScopes: Readonly<Record<string, Readonly<Record<string, Told>>>>;
}

/** The sentences of the requested scopes, in the languages that the person reads, each as `tell` gives it. */
export function scopeSentences<Told>(
  req: IncomingMessage,
  { request, tell }: { request: AuthorizationRequest; tell: (sentence: TextInLanguage) => Told },
): ScopeSentences<Told> {
  const { issuer, client, requestedScopes, uiLocales } = request;
  const { scopes, explanations, impliedScopes } = issuer.api;
  const isStranger = client.selfDescription !== undefined;
  const wanted = (): readonly string[] => wantedLanguages(req, { uiLocales, isStranger });
  const told = (sentence: ScopeSentence): Told => tell(sentenceIn(wanted, sentence));
  const sentencesOf = (names: readonly string[]): Record<string, Told> =>
    Object.fromEntries(names.map((scope) => [scope, told(scopes[scope] ?? scope)]));
  return {
    scopes: sentencesOf(requestedScopes),
    explanations: Object.fromEntries(
      requestedScopes.flatMap((scope) => {
        const explanation = explanationOf(scope, explanations);
        return explanation === undefined ? [] : [[scope, told(explanation)]];
      }),
    ),
    impliedScopes: Object.fromEntries(
      requestedScopes.flatMap((scope) => {
        const implied = intersect(impliedScopes.get(scope) ?? [], request.grantableScopes);
        return implied.length === 0 ? [] : [[scope, sentencesOf(implied)]];
      }),
    ),
  };
}

/** The summary of a request, in the languages that the person reads. */
export function summarize(req: IncomingMessage, request: AuthorizationRequest): AuthorizationSummary {
  const { issuer, client, target, prompt, maxAge, acrValues, loginHint, uiLocales } = request;
  const { apiId, name, audience } = issuer.api;
  return {
    authMethodId: issuer.authMethodId,
    api: { apiId, name, audience },
    client: summarizeClient(client),
    destination: target.source,
    ...(target.device && { device: { userCode: target.device.userCode } }),
    ...scopeSentences(req, { request, tell: ({ text }) => text }),
    prompt: [...prompt],
    maxAge,
    acrValues: [...acrValues],
    loginHint,
    uiLocales,
  };
}
