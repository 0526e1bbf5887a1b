/** What pages and adapters may know of an authorization request. RFC 6749 §3.1, §10.2. */
import type { IncomingMessage } from "node:http";
import type { AuthorizationRequest, Prompt } from "../protocol/authorization-request";
import type { Client } from "../protocol/client";
import type { ScopeSentence } from "../protocol/issuer";
import { intersect } from "../protocol/scope";
import { chooseLanguage, wantedLanguages } from "./language";
import { fallbackLanguage } from "./page-texts";

/** A client as pages may show it. */
export interface ClientSummary {
  readonly clientId: string;
  readonly name: string;
  readonly confidential: boolean;
  /** A `data:` URI. */
  readonly logo?: string;
  readonly clientUri?: string;
  readonly policyUri?: string;
  readonly tosUri?: string;
}

/** Who asks for what. */
export interface AuthorizationSummary {
  readonly authMethodId: string;
  readonly api: { readonly apiId: string; readonly name: string; readonly audience: string };
  readonly client: ClientSummary;
  /** Where either answer leads: the origin of the redirect URI, or its scheme. */
  readonly destination: string;
  /** Requested scope → its sentence for people, in their language where the API has it. */
  readonly scopes: Readonly<Record<string, string>>;
  /** Requested scope that implies others → the scopes that are granted with it, each with its sentence. Show them beneath it. */
  readonly impliedScopes: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly prompt: readonly Prompt[];
  /** Seconds. */
  readonly maxAge: number | undefined;
  readonly loginHint: string | undefined;
  /** Preferred languages (BCP 47, separated by spaces). */
  readonly uiLocales: string | undefined;
}

function summarizeClient({
  clientId,
  name,
  confidential,
  logo,
  clientUri,
  policyUri,
  tosUri,
}: Client): ClientSummary {
  return {
    clientId,
    name,
    confidential,
    ...(logo !== undefined && { logo }),
    ...(clientUri !== undefined && { clientUri }),
    ...(policyUri !== undefined && { policyUri }),
    ...(tosUri !== undefined && { tosUri }),
  };
}

/** The sentence in the first of these languages that it is written in, else in English, else the one written first. */
function sentenceIn(wanted: () => readonly string[], sentence: ScopeSentence): string {
  if (typeof sentence === "string") return sentence;
  const languages = Object.keys(sentence);
  return sentence[chooseLanguage([...wanted(), fallbackLanguage], languages) ?? languages[0] ?? ""] ?? "";
}

/** What pages and adapters may know of the request, in the languages that the person reads. */
export function summarize(req: IncomingMessage, request: AuthorizationRequest): AuthorizationSummary {
  const { issuer, client, target, requestedScopes, prompt, maxAge, loginHint, uiLocales } = request;
  const { apiId, name, audience, scopes, impliedScopes } = issuer.api;
  const wanted = (): readonly string[] => wantedLanguages(req, uiLocales);
  const sentencesOf = (names: readonly string[]): Record<string, string> =>
    Object.fromEntries(names.map((scope) => [scope, sentenceIn(wanted, scopes[scope] ?? scope)]));
  return {
    authMethodId: issuer.authMethodId,
    api: { apiId, name, audience },
    client: summarizeClient(client),
    destination: target.source,
    scopes: sentencesOf(requestedScopes),
    impliedScopes: Object.fromEntries(
      requestedScopes.flatMap((scope) => {
        const implied = intersect(impliedScopes.get(scope) ?? [], request.grantableScopes);
        return implied.length === 0 ? [] : [[scope, sentencesOf(implied)]];
      }),
    ),
    prompt: [...prompt],
    maxAge,
    loginHint,
    uiLocales,
  };
}
