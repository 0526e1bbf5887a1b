/** The names of the texts on pages. RFC 6749 §10.2 (the end user must understand what is asked). */

/** The texts of the built-in pages. Names in braces are places: the page fills them in wherever they stand. */
export interface PageTexts {
  /** The question at the top of the consent page, with `{client}` and `{api}`. */
  readonly consentTitle: string;
  /** Says who is signed in, with `{user}`. */
  readonly signedInAs: string;
  /** The label of the button for a person who wants to use another account. */
  readonly switchAccount: string;
  /** Stands above the checkboxes, one for each scope. */
  readonly scopes: string;
  /** Says that nobody at this site has checked the client, with `{host}`: the host name of its metadata document. */
  readonly uncheckedFrom: string;
  /** The same of a client that has registered itself. */
  readonly unchecked: string;
  /** Follows one of these when the person has not allowed the client anything before. */
  readonly firstVisit: string;
  /** Follows them when the answer leads to a program on the person's device. */
  readonly thisDevice: string;
  /** Follows them when the answer leads to a website, with `{destination}`. */
  readonly otherSite: string;
  /** The label of the button that approves. */
  readonly allow: string;
  /** The label of the button that denies. */
  readonly deny: string;
  /** Says where either answer leads, with `{destination}`. */
  readonly continueTo: string;
  /** The link to `clientUri`. */
  readonly aboutClient: string;
  /** The link to `policyUri`. */
  readonly privacyPolicy: string;
  /** The link to `tosUri`. */
  readonly termsOfService: string;
  /** Opens the technical names of what is asked. */
  readonly details: string;
  /** Stands before the client's id, in the details. */
  readonly detailsClient: string;
  /** Stands before the API's audience, in the details. */
  readonly detailsApi: string;
  /** Stands before the names of the scopes, in the details. */
  readonly detailsScopes: string;
  /** The title of the error page, where the request itself is to blame. */
  readonly errorTitle: string;
  /** What has happened, where the request itself is to blame. */
  readonly errorExplanation: string;
  /** What the person can do after an error, with `{code}`, where the request itself is to blame. */
  readonly errorAdvice: string;
  /** The title when a sign-in took too long, was already finished, or was lost with its cookie. */
  readonly lostTitle: string;
  /** What has happened then. */
  readonly lostExplanation: string;
  /** What the person can do then. May contain `{code}`. */
  readonly lostAdvice: string;
  /** The title when a consent form was not sent from its page, or is incomplete. */
  readonly answerTitle: string;
  /** What has happened then. */
  readonly answerExplanation: string;
  /** What the person can do then. May contain `{code}`. */
  readonly answerAdvice: string;
  /** The title when the metadata document of an application cannot be fetched now. */
  readonly unreachedTitle: string;
  /** What has happened then. */
  readonly unreachedExplanation: string;
  /** What the person can do then, with `{code}`. */
  readonly unreachedAdvice: string;
  /** The title when the server has failed. */
  readonly failureTitle: string;
  /** What has happened then. */
  readonly failureExplanation: string;
  /** What the person can do then, with `{code}`. */
  readonly failureAdvice: string;
  /** Opens what developers need of an error. */
  readonly errorDetails: string;
}
