/**
 * Rolling restarts of the two processes of docs/deployment.md behind nginx and Caddy, while clients refresh, get tokens, call the API
 * and people sign in: no request is lost. Meanwhile `secrets` and `signingKeys` change as the page says.
 */
import { generateSigningKey } from "../../lib";
import { lengthOf } from "../../__tests__/servers/cluster-processes";
import { deploy, type Deployment, newSecret, type Settings, until } from "./deployed";
import { caddy, type FrontProxy, nginx, type ProxyKind } from "./front-proxy";
import { expectStatus, type FrontClient, frontClient, shopClient, visit } from "./front-visitor";
import { postgres } from "../../__tests__/servers/postgres-server";
import { describeWith } from "../../__tests__/servers/server-process";

/** Steady load through one proxy. Each loop throws as soon as an answer is not what it must be. */
interface Load {
  /** How many requests of each kind were answered as they must be. */
  readonly counts: Readonly<Record<string, number>>;
  readonly problems: readonly string[];
  stop(): Promise<void>;
}

type Shop = ReturnType<typeof shopClient>;

async function refreshes(shop: Shop, front: FrontClient) {
  const { code } = await visit(front.send);
  let { refresh_token, access_token: old } = await shop.redeem(code);
  return async () => {
    const next = await shop.refresh(refresh_token);
    // the token from before the restart, from keys before the change, is as good as the new one
    expectStatus(await shop.call(old), 200);
    expectStatus(await shop.call(next.access_token), 200);
    refresh_token = next.refresh_token;
  };
}

function startLoad(deployment: Deployment, front: FrontClient): Load {
  const shop = shopClient(deployment, front.send);
  const counts: Record<string, number> = {};
  const problems: string[] = [];
  const stopping = new AbortController();
  async function loop(name: string, prepare: () => Promise<() => Promise<unknown>>): Promise<void> {
    try {
      const round = await prepare();
      while (!stopping.signal.aborted) {
        await round();
        counts[name] = (counts[name] ?? 0) + 1;
      }
    } catch (error) {
      problems.push(`${name}: ${String(error)}`);
      if (!stopping.signal.aborted) await loop(name, prepare);
    }
  }
  const journey = async () => {
    const { code } = await visit(front.send);
    await shop.redeem(code);
  };
  const machine = async () => {
    const { access_token } = await shop.own();
    expectStatus(await shop.call(access_token), 200);
    if (!(await shop.introspect(access_token)).active) throw new Error("not active");
  };
  const loops = [
    ...Array.from({ length: 4 }, () => loop("refresh", () => refreshes(shop, front))),
    ...Array.from({ length: 2 }, () => loop("journey", async () => journey)),
    ...Array.from({ length: 3 }, () => loop("machine", async () => machine)),
  ];
  return {
    counts,
    problems,
    async stop() {
      stopping.abort();
      await Promise.all(loops);
    },
  };
}

function restarts({ kind: { start }, at }: Shape): void {
  let deployment: Deployment;
  let proxy: FrontProxy;
  let front: FrontClient;

  beforeAll(async () => {
    deployment = await deploy({ at });
    const [one, two] = deployment.processes;
    proxy = await start([one.address, two.address]);
    front = frontClient(proxy);
  });
  afterAll(async () => {
    front?.close();
    await proxy?.close();
    await deployment?.close();
  });

  /** A restarted process answers through the proxy again: only then the next one may stop. */
  const untilProxyUses = (pid: number) =>
    until(async () => (await front.send({ path: "/healthz" })).servedBy === String(pid));

  /** One process after the other gets these settings. */
  async function roll(settings: Settings): Promise<void> {
    for (const each of deployment.processes) {
      const before = each.pid();
      expect(await each.stop()).toBe(0);
      await each.start(settings);
      expect(each.pid()).not.toBe(before);
      await untilProxyUses(each.pid());
    }
  }

  it("loses no request, family or code, while secrets and keys change (RFC 6749 §4.1.2, §6)", async () => {
    const load = startLoad(deployment, front);
    const started = Object.values(deployment.processes).map((each) => each.pid());
    let { secrets, signingKeys } = deployment.settings;
    for (let change = 0; change < lengthOf({ short: 1, long: 5 }); change += 1) {
      const [secret, key] = [newSecret(), generateSigningKey()];
      // first all processes know them, then all use them
      await roll({ secrets: [...secrets, secret], signingKeys: [...signingKeys, key] });
      [secrets, signingKeys] = [
        [secret, ...secrets],
        [key, ...signingKeys],
      ];
      await roll({ secrets, signingKeys });
    }
    await load.stop();
    expect(load.problems).toEqual([]);
    expect(Object.keys(load.counts).toSorted()).toEqual(["journey", "machine", "refresh"]);
    for (const each of deployment.processes) {
      expect(started).not.toContain(each.pid());
      // neither a replay nor a failure of the server
      expect(each.printed()).toBe("");
    }
  });
}

interface Shape {
  readonly kind: ProxyKind;
  readonly at: "ports" | "sockets";
}

const shapes: readonly Shape[] = [
  { kind: nginx, at: "sockets" },
  { kind: caddy, at: "ports" },
];

for (const shape of shapes) {
  const { name, found } = shape.kind;
  describeWith(
    { name, found: found && postgres.found },
    { name: `rolling restarts behind ${name}, processes at ${shape.at}`, tests: () => restarts(shape) },
  );
}
