/** What pages and adapters may know of an authorization request. RFC 6749 §3.1, §10.2. */
import type { Request } from "express";
import type { AuthorizationRequest } from "../protocol/authorization-request";
import type { Client } from "../protocol/client";
import type { ScopeSentence } from "../protocol/issuer";
import { intersect } from "../protocol/scope";
import { chooseLanguage, wantedLanguages } from "./language";
import { fallbackLanguage } from "./page-texts";
import type { AuthorizationSummary, ClientSummary } from "./port";

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

export function summarize(req: Request, request: AuthorizationRequest): AuthorizationSummary {
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
