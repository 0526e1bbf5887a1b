/** Nothing goes on behind an answer: simultaneous calls of storage that write are waited for, also where one of them fails. */
import ts from "typescript";
import { filesUnder, offences } from "./sources/source-files";

/** `Promise.all` fails with the first failure, and the others go on. */
const explained: Readonly<Record<string, string>> = {
  "lib/adapters/redis/eviction.ts": "reads settings",
  "lib/adapters/redis/records.ts": "reads",
  "lib/adapters/redis/replication.ts":
    "the commands were sent before, in one turn, and the queue waits for each",
  "lib/bearer/userinfo.ts": "reads",
  "lib/clients/client-lookup.ts": "reads",
  "lib/clients/presented-grant.ts": "reads",
  "lib/end-user/approval-basis.ts": "reads",
  "lib/end-user/narrow.ts": "reads",
  "lib/endpoints/introspection.ts": "reads",
  "lib/endpoints/revocation.ts": "reads",
  "lib/grants/authorization-code.ts": "reads",
  "lib/grants/refresh-token.ts": "reads",
  "lib/grants/token-exchange.ts": "reads",
  "lib/portal/account-apps.ts": "reads",
  "lib/portal/staff.ts": "reads",
  "lib/storage/calls.ts": "allStored, which waits for all",
  "lib/tokens/identity.ts": "reads",
  "lib/tokens/read-access-token.ts": "reads",
};

function promiseAll(node: ts.Node): string | undefined {
  return ts.isCallExpression(node) && node.expression.getText() === "Promise.all" ? "" : undefined;
}

it("Promise.all is for reads; whatever writes is waited for by allStored", () => {
  // the contract is no part of a server
  const files = filesUnder("lib").filter(({ path }) => !path.startsWith("lib/testing/"));
  const using = files.filter((file) => offences(file, promiseAll).length > 0);
  expect(using.map(({ path }) => path).toSorted()).toEqual(Object.keys(explained).toSorted());
});
