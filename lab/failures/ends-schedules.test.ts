// Something ends what a person or a client has, while something else is under way. The order in which storage answers is drawn by
// chance. Whatever it is, once the end has resolved, nothing that began before it works.
import { memoryStorage, type Storage } from "../../lib";
import { endApi, endAuthorization, endClient, endSubject, withdrawConsent } from "../../lib/end-user/ends";
import { apiEndKey, clientEndKey } from "../../lib/protocol/end-mark";
import { digestToken } from "../../lib/protocol/token-value";
import { confidentialRecord, issuerRecord } from "../../__tests__/records/records";
import { type RuleServer, ruleServerOfAlice, type ShownPage } from "../../__tests__/hosts/rule-server";
import { randomOf, scheduled } from "./schedule";

const seed = Number(process.env["AUTHMOUNT_SEED"] ?? Date.now() % 2 ** 31);
/** Of each pair of an end and what is under way. */
const schedules = Number(process.env["AUTHMOUNT_SCHEDULES"] ?? 60);
const now = 1_800_000_000;
const client = confidentialRecord();
const issuer = issuerRecord({ accessTokenFormat: "opaque" });
const { clientId } = client;
const longestLifeSeconds = 1_000_000;
const consent = { subject: "alice", clientId, apiId: "orders" };

/** What the client, or a thief, has collected. */
interface Loot {
  readonly codes: string[];
  readonly refreshTokens: string[];
  readonly accessTokens: string[];
}

/** A server at which Alice has allowed everything, and what the client has got of it before anything ends. */
interface Scene {
  readonly server: RuleServer;
  readonly loot: Loot;
  readonly page: ShownPage;
  readonly unredeemed: string;
  readonly refreshToken: string;
  /** Access tokens that the client got for itself. */
  readonly ownTokens: string[];
  /** Signs Alice out of the host, as it must before it ends everything of hers. */
  readonly signOut: () => void;
  readonly authorizationIds: () => Promise<readonly string[]>;
}

type Operation = (scene: Scene) => Promise<void>;

function keep({ loot }: Scene, tokens: Awaited<ReturnType<RuleServer["redeem"]>>): void {
  if (!tokens) return;
  loot.accessTokens.push(tokens.access_token);
  if (tokens.refresh_token !== undefined) loot.refreshTokens.push(tokens.refresh_token);
}

async function keepCode(scene: Scene, visit: Promise<{ readonly code: string | undefined }>): Promise<void> {
  const { code } = await visit;
  if (code !== undefined) scene.loot.codes.push(code);
}

const underWay = {
  "a yes on the consent page": (scene) => keepCode(scene, scene.server.allow(scene.page)),
  "a silent approval": (scene) => keepCode(scene, scene.server.silent()),
  "an exchange": async (scene) => keep(scene, await scene.server.redeem(scene.unredeemed)),
  "a refresh": async (scene) => keep(scene, await scene.server.refresh(scene.refreshToken)),
  "client credentials": async (scene) => {
    const tokens = await scene.server.clientCredentials();
    if (tokens) scene.ownTokens.push(tokens.access_token);
  },
} satisfies Record<string, Operation>;

const ends = {
  "auth.consents.revoke": ({ server }) =>
    withdrawConsent(server.ports, { selection: consent, longestLifeSeconds }),
  "auth.authorizations.revoke of each": async ({ server, authorizationIds }) => {
    for (const authorizationId of await authorizationIds())
      await endAuthorization(server.ports, { subject: "alice", authorizationId });
  },
  "auth.subjects.revoke": ({ server, signOut }) => {
    signOut();
    return endSubject(server.ports, { subject: "alice", end: "keep-consents", longestLifeSeconds });
  },
  "auth.subjects.revoke with consents": ({ server, signOut }) => {
    signOut();
    return endSubject(server.ports, { subject: "alice", end: "revoke-consents", longestLifeSeconds });
  },
  "auth.subjects.erase": ({ server, signOut }) => {
    signOut();
    return endSubject(server.ports, { subject: "alice", end: "erase", longestLifeSeconds });
  },
  "auth.clients.revoke": ({ server }) => endClient(server.ports, clientId),
  "auth.apis.revoke": ({ server }) => endApi(server.ports, { apiId: "orders", apis: [issuer.api] }),
} satisfies Record<string, Operation>;

type End = keyof typeof ends;

const allEnds = Object.keys(ends) as readonly End[];
/** Those that also end approvals which nobody has seen yet. */
const winsAgainstApprovals = (end: End): boolean => end !== "auth.authorizations.revoke of each";

async function codeOf(server: RuleServer): Promise<string> {
  const { code } = await server.silent();
  if (code === undefined) throw new Error("the first visits got no code");
  return code;
}

async function newScene(number: number) {
  const random = randomOf(seed + number);
  const { storage, run } = scheduled(memoryStorage({ clients: [client] }), { random });
  const { server, signOut } = ruleServerOfAlice(storage, { client, issuer, now });
  const first = await server.show("orders:read");
  if (!first) throw new Error("no page was shown");
  const { code = "" } = await server.allow(first);
  const loot: Loot = { codes: [], refreshTokens: [], accessTokens: [] };
  const tokens = await server.redeem(code);
  const unredeemed = await codeOf(server);
  loot.codes.push(await codeOf(server), unredeemed);
  const scene: Scene = {
    server,
    loot,
    page: (await server.show("orders:write")) as ShownPage,
    unredeemed,
    refreshToken: tokens?.refresh_token ?? "",
    ownTokens: [],
    signOut,
    authorizationIds: async () =>
      (await storage.authorizations.list("alice", { limit: 100 }, now)).map((one) => one.authorizationId),
  };
  keep(scene, tokens);
  keep(scene, await server.redeem(await codeOf(server)));
  return { scene, storage, run };
}

/** What of the loot still buys or opens something. */
async function alive({ server, loot }: Scene): Promise<readonly string[]> {
  const works: string[] = [];
  for (const accessToken of loot.accessTokens)
    if (await server.accepts(accessToken)) works.push("an access token");
  for (const refreshToken of loot.refreshTokens)
    if (await server.refresh(refreshToken)) works.push("a refresh token");
  for (const code of loot.codes) if (await server.redeem(code)) works.push("a code");
  return works;
}

/** Own tokens that live on though they were issued before the newest mark of the client or the API. */
async function outlived({ server, ownTokens }: Scene, storage: Storage): Promise<readonly string[]> {
  const keys = [clientEndKey(clientId), apiEndKey(issuer.api.audience)];
  const [ofClient, ofApi] = await storage.endMarks.find(keys, now);
  const works: string[] = [];
  for (const token of ownTokens) {
    const stored = await storage.accessTokens.find(digestToken(token), now);
    const isOlder = stored?.clientEndMark !== ofClient || stored?.apiEndMark !== ofApi;
    if (isOlder && (await server.accepts(token))) works.push("a token of the client itself");
  }
  return works;
}

const pairs = allEnds.flatMap((end) => Object.keys(underWay).map((operation) => [end, operation] as const));
const pairsOfEnds = allEnds.flatMap((end, place) =>
  allEnds.slice(place).map((other) => [end, other] as const),
);

async function tellEach(tell: (number: number) => Promise<string | undefined>): Promise<void> {
  for (let number = 0; number < schedules; number += 1) {
    const wrong = await tell(number);
    if (wrong !== undefined) throw new Error(`seed ${seed}, schedule ${number}: ${wrong}`);
  }
}

describe(`ends against what is under way (RFC 7009 §2.1), storage answers in any order, seed ${seed}`, () => {
  it.each(pairs)("%s ends everything, while %s is under way", async (end, operation) => {
    await tellEach(async (number) => {
      const { scene, storage, run } = await newScene(number);
      // from before the end, so that there is one in each schedule
      await underWay["client credentials"](scene);
      const isApproval = operation === "a yes on the consent page" || operation === "a silent approval";
      await run([
        async () => (underWay as Record<string, Operation>)[operation]?.(scene),
        () => ends[end](scene),
      ]);
      if (isApproval && !winsAgainstApprovals(end)) scene.loot.codes.splice(2);
      const works = [...(await alive(scene)), ...(await outlived(scene, storage))];
      return works.length === 0 ? undefined : `alive: ${works.join(", ")}`;
    });
  });

  it.each(pairsOfEnds)("%s and %s at once end everything", async (end, other) => {
    await tellEach(async (number) => {
      const { scene, run } = await newScene(number);
      await run([() => ends[end](scene), () => ends[other](scene)]);
      const works = await alive(scene);
      return works.length === 0 ? undefined : `alive: ${works.join(", ")}`;
    });
  });

  it.each(["a yes on the consent page", "a silent approval", "an exchange", "a refresh"] as const)(
    "auth.subjects.erase leaves no record that names the person, while %s is under way",
    async (operation) => {
      await tellEach(async (number) => {
        const { scene, storage, run } = await newScene(number);
        await run([() => underWay[operation](scene), () => ends["auth.subjects.erase"](scene)]);
        const left = await storage.authorizations.erase({ subject: "alice" }, now);
        const consents = await storage.consents.list("alice", now);
        return left + consents.length === 0
          ? undefined
          : `${left} authorizations, ${consents.length} consents`;
      });
    },
  );
});
