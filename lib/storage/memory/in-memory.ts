/** Tells the ports of the memory storage from others, so that a host can be told what a restart loses. RFC 6749 §10.5. */
import type { Storage } from "../port";

// a registered symbol: a second copy of this package must know the ports too
const mark = Symbol.for("authmount.in-memory");

/** The same storage; its ports can be told by `isInMemory`. The clients are not marked: they are given anew at each start. */
export function markedInMemory(storage: Storage): Storage {
  for (const [name, port] of Object.entries(storage)) {
    // not enumerable: code that iterates over a port must find its methods only
    if (name !== "clients") Object.defineProperty(port, mark, { value: true });
  }
  return storage;
}

/** True for a port whose records are lost when the process ends. */
export function isInMemory(port: object): boolean {
  return Reflect.get(port, mark) === true;
}
