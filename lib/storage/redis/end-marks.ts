/** End marks in Redis. RFC 7009 §2.1. */
import type { EndMark } from "../../protocol/end-mark";
import type { EndMarkStore } from "../port";
import { readRecord, readValues, type RedisStoreOptions, setRecord } from "./records";

/** End marks: one key each. They are replicated, because with a lost mark, what was ended would count again. @rfc 7009 §2.1 */
export function redisEndMarks(options: RedisStoreOptions): EndMarkStore {
  // the braces keep the marks of one person in one slot, so that one command reads them at one moment
  const keyOf = (key: string): string => `${options.prefix}end:${key.replace(/^([^.]+)\./, "{$1}.")}`;
  return {
    async find(keys, now) {
      const values = await readValues(options, keys.map(keyOf));
      return values.map((value) => readRecord<EndMark>(value, now)?.record.mark);
    },
    async save(endMark) {
      const key = keyOf(endMark.key);
      await options.sendReplicated(key, setRecord(key, { record: endMark }));
    },
  };
}
