/** What OWASP ASVS 5.0 asks in chapter 10 of clients, APIs and OpenID Connect. OWASP ASVS 5.0 V10. */
import type { Requirement } from "./requirement";

/** Requirements for clients and for APIs: V10.1 to V10.3. */
export const asvs5Others: readonly Requirement[] = [
  {
    section: "10.1.1",
    title: "Tokens are sent only to parts that need them",
    state: "host",
    note: "Clients do it. For an app in the browser, the backend-for-frontend example keeps tokens on the server.",
    tests: ["clients/backend-for-frontend"],
  },
  {
    section: "10.1.2",
    title: "A client accepts a code only for a request that it began",
    state: "host",
    note: "Clients do it, by PKCE and state. The server sends state back unchanged.",
  },
  {
    section: "10.2.1",
    title: "The client guards its redirect URI against forged requests",
    state: "host",
    note: "Clients do it, by PKCE or state.",
  },
  {
    section: "10.2.2",
    title: "The client guards itself against mix-up",
    state: "host",
    note: "Clients compare iss, which every answer of the authorization endpoint has.",
    tests: ["endpoints/authorization"],
  },
  {
    section: "10.2.3",
    title: "The client asks only for scopes that it needs",
    state: "host",
    note: "Clients do it. People see what is asked for.",
  },
  {
    section: "10.3.1",
    title: "An API accepts only tokens that are meant for it",
    state: "met",
    note: "requireBearer compares the audience exactly.",
    tests: ["attacks/token-substitution", "endpoints/require-bearer"],
  },
  {
    section: "10.3.2",
    title: "An API decides by what the token allows",
    state: "host",
    note: "Name scope and subject in requireBearer, and look at req.auth in your handlers.",
    tests: ["endpoints/bearer-routes"],
  },
  {
    section: "10.3.3",
    title: "An API identifies a person by claims that nobody else gets",
    state: "host",
    note: "A subject must be one person for ever. req.auth has issuer and subject.",
  },
  {
    section: "10.3.4",
    title: "An API that needs a recent or strong sign-in looks for it",
    state: "host",
    note: "Put what your API needs into claims with tokens.decide, and compare it there.",
    tests: ["grants/token-decision"],
  },
  {
    section: "10.3.5",
    title: "An API requires tokens that are bound to their sender",
    state: "not-met",
    note: "Neither DPoP nor mutual TLS is offered.",
  },
];

/** Requirements of OpenID Connect, an item each: V10.5, V10.6. */
export const asvs5OpenId: readonly Requirement[] = [
  {
    section: "10.5",
    title: "A client of OpenID Connect checks ID tokens",
    state: "not-applicable",
    note: "There are no ID tokens.",
  },
  {
    section: "10.6",
    title: "An OpenID provider guards its response types and its logout",
    state: "not-applicable",
    note: "This is no OpenID provider.",
  },
];
