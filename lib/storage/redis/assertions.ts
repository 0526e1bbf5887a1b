/** Used client assertions in Redis. RFC 7523 §3. */
import type { ClientAssertionStore } from "../client-ports";
import { misread, textOf } from "./answers";
import { forgetAt, type RedisStoreOptions } from "./records";

/** Used assertions: one key each, which Redis removes. The write is replicated: a lost one could be used again. @rfc 7523 §3 */
export function redisAssertions({ prefix, sendReplicated }: RedisStoreOptions): ClientAssertionStore {
  return {
    // the key stays for some minutes after the assertion's end; the port leaves the answer open then
    async use(assertion) {
      const key = `${prefix}assertion:${assertion.digest}`;
      const command = ["SET", key, 1, "NX", "EXAT", forgetAt(assertion)];
      const told = textOf(await sendReplicated(key, command));
      if (told === undefined) return "used-before";
      if (told !== "OK") throw misread(told);
      return "used";
    },
  };
}
