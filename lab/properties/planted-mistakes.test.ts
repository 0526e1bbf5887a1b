// A server that is wrong on purpose: the property of the model must find each mistake. Otherwise it proves nothing about a right one.
import type { Express, Request } from "express";
import { type Authorization, memoryStorage } from "../../lib";
import { checkProperty, counterexampleOf, disagreement, type PropertyOptions } from "./protocol-property";
import { clientRecords } from "./protocol-clients";
import { hostMistakes, type Mistake } from "./protocol-mistakes";

/** The pair in the URL of the request that is under way: steps are taken one after the other. */
let current = { issuer: "", authMethodId: "", apiId: "" };

function notePair(app: Express): void {
  app.use((req: Request, _res, next) => {
    const [, authMethodId = "", apiId = ""] = /\/auth\/(\w+)\/api\/(\w+)\//.exec(req.path) ?? [];
    const issuer = `https://host.example/login/auth/${authMethodId}/api/${apiId}`;
    current = { issuer, authMethodId, apiId };
    next();
  });
}

/** Takes a parameter out of every request. */
function without(parameter: RegExp): NonNullable<Mistake["before"]> {
  return (app) => {
    app.use((req, _res, next) => {
      req.url = req.url.replace(parameter, "");
      next();
    });
  };
}

/** Every authorization as it is stored, changed. */
function withAuthorizations(
  change: (found: Authorization) => Partial<Authorization>,
): NonNullable<Mistake["storage"]> {
  return ({ authorizations }) => ({
    authorizations: {
      ...authorizations,
      async find(authorizationId, now) {
        const found = await authorizations.find(authorizationId, now);
        return found && { ...found, ...change(found) };
      },
    },
  });
}

const codesOnceMore: NonNullable<Mistake["storage"]> = ({ authorizationCodes: codes }) => ({
  authorizationCodes: {
    ...codes,
    async find(handle, now) {
      const found = await codes.find(handle, now);
      return found && { ...found, consumed: false };
    },
    async consume(handle, now) {
      await codes.consume(handle, now);
      return "consumed";
    },
  },
});

const mistakes: Readonly<Record<string, Mistake>> = {
  ...hostMistakes,
  "what is taken back stays in authorizations": {
    storage: ({ authorizations }) => ({ authorizations: { ...authorizations, narrowAll: async () => 0 } }),
  },
  "what is taken back does not look at the context": {
    storage: ({ authorizations }) => ({
      authorizations: {
        ...authorizations,
        narrowAll: ({ selection: { contextKey: _any, ...selection }, scopes }, now) =>
          authorizations.narrowAll({ selection, scopes }, now),
      },
    }),
  },
  "a client may not name at a refresh what was taken back": {
    storage: withAuthorizations(({ grantedScopes }) => ({ approvedScopes: grantedScopes })),
  },
  "a code can be redeemed twice": { storage: codesOnceMore },
  "a code never expires": {
    storage: ({ authorizationCodes: codes }) => ({
      authorizationCodes: {
        ...codes,
        async find(handle, now) {
          const found = await codes.find(handle, now);
          return found && { ...found, redeemBefore: Number.MAX_SAFE_INTEGER };
        },
      },
    }),
  },
  "PKCE is forgotten": {
    storage: ({ authorizationCodes: codes }) => ({
      authorizationCodes: {
        ...codes,
        create({ codeChallenge: _forgotten, ...code }, now) {
          return codes.create(code, now);
        },
      },
    }),
  },
  "scope widens at refresh": {
    storage: withAuthorizations(({ apiId, grantedScopes }) =>
      apiId === "orders" ? { grantedScopes: [...new Set([...grantedScopes, "orders:write"])] } : {},
    ),
  },
  "a code or token of a pair works at another one": {
    before: notePair,
    storage: withAuthorizations(() => (current.issuer === "" ? {} : current)),
  },
  "a used refresh token works again": {
    storage: ({ refreshTokens }) => ({
      refreshTokens: {
        ...refreshTokens,
        async find(handle, now) {
          const found = await refreshTokens.find(handle, now);
          return found && { ...found, used: false };
        },
        async rotate({ to }, now) {
          await refreshTokens.create(to, now);
          return "rotated";
        },
      },
    }),
  },
  "a lost answer is repeated for ever": {
    storage: ({ refreshTokens }) => ({
      refreshTokens: {
        ...refreshTokens,
        async find(handle, now) {
          const found = await refreshTokens.find(handle, now);
          return found?.use ? { ...found, use: { ...found.use, usedAt: now } } : found;
        },
      },
    }),
  },
  "a person's end is forgotten": {
    storage: ({ authorizations }) => ({
      authorizations: { ...authorizations, revokeAll: async () => 1 },
    }),
  },
  "a client's end is forgotten": {
    storage: ({ endMarks }) => ({
      endMarks: { ...endMarks, save: async () => undefined },
    }),
  },
  "the end of one authorization is forgotten": {
    storage: ({ authorizations }) => ({
      authorizations: { ...authorizations, revoke: async () => undefined },
    }),
  },
  "a revoked access token works": {
    storage: ({ accessTokens }) => ({
      accessTokens: { ...accessTokens, isRevoked: async () => false },
    }),
  },
  "a consent counts in every context": {
    storage: ({ consents }) => ({
      consents: {
        ...consents,
        save: (consent, now) => consents.save({ ...consent, contextKey: "" }, now),
        find: (key, now) => consents.find({ ...key, contextKey: "" }, now),
      },
    }),
  },
  "a browser client gets refresh tokens": {
    storage: ({ clients }) => ({
      clients: {
        ...clients,
        async find(clientId) {
          const found = await clients.find(clientId);
          return found && !found.confidential ? { ...found, platform: "native" } : found;
        },
      },
    }),
  },
  "a redirect URI that nobody registered is good": {
    storage: ({ clients }) => ({
      clients: {
        ...clients,
        async find(clientId) {
          const found = await clients.find(clientId);
          return (
            found && { ...found, redirectUris: [...found.redirectUris, "https://evil.example/callback"] }
          );
        },
      },
    }),
  },
  "a client may do more than its subscription says": {
    storage: ({ clients }) => ({
      clients: {
        ...clients,
        async find(clientId) {
          const found = await clients.find(clientId);
          return found && { ...found, subscriptions: { ...found.subscriptions, orders: {} } };
        },
      },
    }),
  },
  "max_age is forgotten": { before: without(/max_age=\d+/) },
  "prompt=login is forgotten": { before: without(/prompt=login/) },
  "prompt=select_account is forgotten": { before: without(/prompt=select_account/) },
  "what a person unticks stays allowed": {
    storage: ({ consents }) => ({
      consents: {
        ...consents,
        async save(consent, now) {
          const earlier = await consents.find({ contextKey: "", ...consent }, now);
          await consents.save(
            { ...consent, scopes: [...new Set([...consent.scopes, ...(earlier?.scopes ?? [])])] },
            now,
          );
        },
      },
    }),
  },
  "answers with tokens may be kept": {
    before(app) {
      app.use((req, res, next) => {
        if (req.path.endsWith("/token")) {
          const writeHead = res.writeHead.bind(res);
          res.writeHead = ((...given: Parameters<typeof writeHead>) => {
            res.removeHeader("Cache-Control");
            const dropped = given.map((part) =>
              typeof part === "object" && !Array.isArray(part)
                ? { ...part, "Cache-Control": "private" }
                : part,
            );
            return writeHead(...(dropped as Parameters<typeof writeHead>));
          }) as typeof writeHead;
        }
        next();
      });
    },
  },
};

function wrong(
  { storage: change, before, tokens }: Mistake,
  search: Pick<PropertyOptions, "counterexample" | "path"> = { counterexample: "any" },
) {
  let stored = memoryStorage({ clients: clientRecords });
  return checkProperty({
    name: "a planted mistake",
    open: () => {
      stored = memoryStorage({ clients: clientRecords });
      return { storage: { ...stored, ...change?.(stored) } };
    },
    ...(before && { before }),
    ...(tokens && { tokens: (right) => tokens(right, stored) }),
    sequences: 400,
    seed: 1,
    ...search,
  });
}

describe("the property of the model finds a planted mistake", () => {
  it.each(Object.entries(mistakes))("%s", async (_, mistake) => {
    const checked = await wrong(mistake);
    expect(checked.details.failed).toBe(true);
    const { errorInstance } = checked.details;
    expect((errorInstance as Error).message).toMatch(/the model says|without no-store|redirect/);
  });

  it("as a few steps, which it prints and can repeat", async () => {
    const { "scope widens at refresh": mistake } = mistakes;
    const checked = await wrong({ ...mistake }, { counterexample: "shorter" });
    const steps = counterexampleOf(checked) ?? [];
    expect(steps.length).toBeLessThanOrEqual(8);
    expect(steps.map((step) => step.do)).toContain("redeem");
    expect(disagreement(checked, "a planted mistake")).toMatch(
      /differ\.\n(?:step \d+ of \d+|a look at what is left), [^]*\n\{"do":"authorize"[^]*AUTHMOUNT_SEED=1 AUTHMOUNT_PATH=[\d:]+ /,
    );
    const path = checked.details.counterexamplePath ?? "";
    const again = await wrong({ ...mistake }, { counterexample: "any", path });
    expect(again.details.numRuns).toBe(1);
    expect(counterexampleOf(again)).toEqual(steps);
  });
});
