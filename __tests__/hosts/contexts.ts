/** Hosts whose people choose a context, such as an organization, and what becomes of it. */
import express from "express";
import {
  type Authentication,
  type AuthorizationContext,
  type ConsentAnswer,
  memoryStorage,
  type TokenDecisionRequest,
} from "../../lib";
import { authorize, redirectParameters } from "../browser/authorize";
import type { Browser } from "../browser/browser";
import { redeem } from "../requests/client-requests";
import { clients } from "./clients";
import { onOwnPage } from "../browser/consent";
import { signedIn, type TestHost, testHost, type TestHostOptions } from "./host";
import { interactionOf } from "../browser/interaction";
import { watchWrites } from "../storage/slow-storage";
import { type TokenBody, tokensOf } from "../requests/token-requests";

/** An organization, with what the host wants to know of it. */
export const tea: AuthorizationContext = {
  key: "org-tea",
  data: { name: "Tea Traders", roles: ["buyer"] },
};
/** Another one. */
export const bikes: AuthorizationContext = { key: "org-bikes" };

/** Alice, who has chosen this context while she signed in. */
export const aliceIn = (context: AuthorizationContext | undefined): Authentication =>
  context === undefined ? signedIn : { ...signedIn, context };

/** A host whose consent step and own page can be changed, and what it was asked. */
export interface ContextHost {
  readonly host: TestHost;
  /** What `tokens.decide` was asked. */
  readonly asked: TokenDecisionRequest[];
  /** The writing calls that storage has had, in their order. */
  readonly writes: string[];
  /** What the host's consent page passes to `auth.approve`. */
  approval: object;
  /** What `consent.decide` answers. */
  answer: ConsentAnswer;
}

/** A host with a consent page of its own at /choose. */
export function contextHost(
  answer: ConsentAnswer = { kind: "ask" },
  options: TestHostOptions = {},
): ContextHost {
  const asked: TokenDecisionRequest[] = [];
  const { clients: records = Object.values(clients), ...others } = options;
  const { storage, writes } = watchWrites(options.storage ?? memoryStorage({ clients: records }));
  const host = testHost({
    revocationLagSeconds: 0,
    ...others,
    storage,
    consent: { decide: () => made.answer },
    tokens: {
      decide(request) {
        asked.push(request);
        return { kind: "issue" };
      },
    },
  });
  host.app.post("/choose", express.urlencoded({ extended: false }), (req, res) =>
    host.auth.approve(req, res, made.approval),
  );
  const made: ContextHost = { host, asked, writes, approval: {}, answer };
  return made;
}

/** The contexts that `tokens.decide` was told, in order. */
export const toldOf = ({ asked }: ContextHost): unknown[] =>
  asked.map(({ authorization }) => authorization?.context);

/** The tokens for a code. */
export async function tokensFor(host: TestHost, code: string): Promise<TokenBody> {
  return tokensOf(await redeem(host, { client: "web", code }));
}

/** Alice before the host's page: the interaction. */
export async function before(browser: Browser): Promise<string> {
  return interactionOf(await authorize(browser, { client: "web" }));
}

/** Approves on the host's own page, in this context if there is one. */
export async function choose(made: ContextHost, context?: AuthorizationContext): Promise<TokenBody> {
  const { host } = made;
  made.answer = onOwnPage;
  made.approval = context === undefined ? {} : { context };
  const browser = host.browser();
  const interaction = interactionOf(
    await authorize(browser, { client: "web", fields: { prompt: "consent" } }),
  );
  const { code = "" } = redirectParameters(await browser.post("/choose", { interaction }));
  return tokensFor(host, code);
}

const inOrder = (keys: readonly (string | undefined)[]): readonly (string | undefined)[] =>
  keys.toSorted((a = "none", b = "none") => a.localeCompare(b));

/** The context of each remembered consent of Alice. */
export async function contextKeys({ auth }: TestHost): Promise<readonly (string | undefined)[]> {
  return inOrder((await auth.consents.list("alice")).consents.map(({ contextKey }) => contextKey));
}

/** The context of each living authorization of Alice. */
export async function loginKeys({ auth }: TestHost): Promise<readonly (string | undefined)[]> {
  return inOrder(
    (await auth.authorizations.list("alice")).authorizations.map(({ contextKey }) => contextKey),
  );
}
