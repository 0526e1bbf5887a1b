/** What is loaded before it is needed. By itself, because it replaces the loading of modules. */
import type * as Authmount from "../lib";
import { goodOptions } from "./records/options";

describe("what a server in production does not need", () => {
  const parts = [
    "adapters/memory/storage",
    "bearer/bound-tokens",
    "bearer/note-use",
    "bearer/seen-proofs",
    "clients/check-proof",
    "clients/assertion-keys",
    "clients/client-assertion",
    "clients/verify-proof",
    "protocol/dpop-proof",
    "protocol/identity-assertion",
    "end-user/ends",
    "end-user/list-authorizations",
    "end-user/vouched-person",
    "endpoints/device-authorization",
    "endpoints/pushed-request",
    "endpoints/rate-limit",
    "fetching/fetch-document",
    "grants/device-code",
    "grants/identity-assertion",
    "http/device-route",
    "http/mount-check",
    "http/registration-route",
    "interaction/device-page",
    "review/assess",
    "strangers/document-clients",
  ];
  const loaded: string[] = [];

  beforeEach(() => {
    jest.replaceProperty(process.env, "NODE_ENV", "production");
    for (const part of parts)
      jest.doMock(`../lib/${part}`, () => {
        loaded.push(part);
        return jest.requireActual<object>(`../lib/${part}`);
      });
  });
  afterEach(() => {
    for (const part of parts) jest.dontMock(`../lib/${part}`);
    jest.restoreAllMocks();
  });

  it("is not loaded before it is asked for", () => {
    jest.isolateModules(() => {
      const { createAuthServer, memoryStorage } = require("../lib") as typeof Authmount;
      const auth = createAuthServer(goodOptions);
      expect(loaded).toEqual([]);
      memoryStorage({ clients: [] });
      auth.assessment();
      expect(loaded).toEqual(expect.arrayContaining(["adapters/memory/storage", "review/assess"]));
    });
  });
});
