/** Storage that answers in time or fails. RFC 6749 §4.1.2.1, §5.2 (`temporarily_unavailable`). */
import { lateError } from "../protocol/oauth-error";
import type { Storage } from "./port";

const limitSeconds = 5;

async function inTime<T>(name: string, call: () => T): Promise<Awaited<T>> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const message = `${name} has not answered within ${limitSeconds} seconds`;
    timer = setTimeout(() => reject(lateError(message)), limitSeconds * 1000);
  });
  try {
    return await Promise.race([call(), late]);
  } finally {
    clearTimeout(timer);
  }
}

function limited<Port extends object>(port: Port, portName: string): Port {
  return new Proxy({} as Port, {
    get(_, name) {
      const method: unknown = Reflect.get(port, name);
      if (typeof method !== "function") return method;
      return (...args: unknown[]) =>
        inTime(`${portName}.${String(name)}`, () => Reflect.apply(method, port, args) as unknown);
    },
  });
}

/**
 * The same storage, each call given five seconds. A call that is given up may still do its work: the request has failed by
 * then, so a code or token that it spends stays spent and nothing is issued for it.
 */
export function timeLimited(storage: Storage): Storage {
  return {
    clients: limited(storage.clients, "clients"),
    consents: limited(storage.consents, "consents"),
    authorizations: limited(storage.authorizations, "authorizations"),
    authorizationCodes: limited(storage.authorizationCodes, "authorizationCodes"),
    refreshTokens: limited(storage.refreshTokens, "refreshTokens"),
    accessTokens: limited(storage.accessTokens, "accessTokens"),
  };
}
