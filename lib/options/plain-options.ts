/** The options of `createAuthServer` as they were at the start. The host may change its objects later, and the server does not. RFC 6749 §10. */
import type { AuthServerOptions } from "./options";
import { plainObject, plainRecord } from "./plain";
import { optionNames } from "./schema";

const lifetimes = plainObject(optionNames.lifetimes);
const scopes = plainRecord(plainObject(optionNames.scope));
const apis = plainRecord(plainObject(optionNames.api, { scopes, lifetimes }));
const copyOptions = plainObject(optionNames.server, { apis, lifetimes });

/** A plain copy of options, which need not be right. Functions, keys, storage, adapters and pages are the host's own. */
export function plainOptions(options: AuthServerOptions): AuthServerOptions {
  return copyOptions(options) as AuthServerOptions;
}
