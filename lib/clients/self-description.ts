/** What a client that nobody registered says of itself: its name, and all of it in short. RFC 7591 §2; draft-ietf-oauth-client-id-metadata-document §6. */
import { hash } from "node:crypto";
import { type Client, isKeyClient, type SelfDescription } from "../protocol/client";
import { proofKindOf } from "../protocol/authorization";

/**
 * What a remembered consent is bound to: where answers may lead, how the client proves itself, and where its keys are. A person has
 * allowed a client that was like this. Its name or its links may change.
 */
export function selfDescriptionOf(client: Client, by: SelfDescription["by"]): SelfDescription {
  const keys = isKeyClient(client) ? (client.jwksUri ?? client.jwks) : undefined;
  const parts = [client.redirectUris.toSorted(), proofKindOf(client), keys];
  return { by, digest: hash("sha256", JSON.stringify(parts), "base64url") };
}

/** What a client sends about itself, without the members that are `null`: many programs write it for what they do not have. */
export function withoutNulls(sent: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(sent).filter(([, value]) => value !== null));
}

const maxLength = 100;

/** Marks on one letter, such as accents. More of them would be drawn over the lines above and below, and hide what these say. */
const surplusMarks = /(?<=\p{M}{4})\p{M}+/gu;

/**
 * The name as people may read it, or `undefined` when it is none. Control characters and those that change the direction of text are
 * removed, and so are those that nobody sees: with them a name could hide a part of itself, or look like a part of the page.
 */
export function readClientName(value: unknown): string | undefined {
  if (typeof value !== "string") return undefined;
  const name = value
    .slice(0, 10 * maxLength)
    .normalize("NFC")
    .replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gu, "")
    .replaceAll(surplusMarks, "")
    .replaceAll(/\s+/g, " ")
    .trim();
  return name === "" ? undefined : Array.from(name).slice(0, maxLength).join("");
}
