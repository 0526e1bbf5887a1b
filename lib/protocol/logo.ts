/** Logos as the pages can show them. RFC 7591 §2 (`logo_uri`), without a request to anywhere. */

/** A picture within its own URI. */
export const logoPattern: RegExp = /^data:image\/(?:png|jpeg|gif|webp|svg\+xml);base64,[A-Za-z0-9+/]+={0,2}$/;
