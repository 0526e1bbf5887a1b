/** How long things live. RFC 6749 §4.1.2, §10.4. */

/** Lifetimes in seconds. */
export interface Lifetimes {
  readonly authorizationCodeSeconds: number;
  readonly interactionSeconds: number;
  readonly refreshTokenIdleSeconds: number;
  readonly refreshTokenSeconds: number;
  /** 0: no consent is remembered, and none that was is looked up. */
  readonly consentSeconds: number;
}
