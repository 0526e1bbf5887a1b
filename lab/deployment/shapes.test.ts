/** What docs/deployment.md and docs/recipes.md say to write instead, behind nginx: each way serves a whole journey. */
import { once } from "node:events";
import { Agent, get, type IncomingMessage } from "node:http";
import { addressOf, deploy, type Deployment, hostName, type Shape, until } from "./deployed";
import { caddy, type FrontProxy, nginx, type ProxyKind } from "./front-proxy";
import { type FrontClient, frontClient, issuerPath, shopClient, visit } from "./front-visitor";
import { postgres } from "../../__tests__/servers/postgres-server";
import { describeWith } from "../../__tests__/servers/server-process";

/** Replaces what must be there. */
const instead =
  (...pairs: readonly (readonly [string, string])[]) =>
  (text: string): string => {
    let changed = text;
    for (const [from, to] of pairs) {
      if (!changed.includes(from)) throw new Error(`the page does not print ${from} any more`);
      changed = changed.replace(from, to);
    }
    return changed;
  };

const mountedAtRoot = instead(["app.use(pathname, auth.router)", "app.use(auth.router)"]);

const location = /( {4}location \/) (\{[^}]*\})/;

interface Case {
  readonly name: string;
  readonly kind: ProxyKind;
  readonly shape: Shape;
  readonly configuration?: (printed: string) => string;
}

const cases: readonly Case[] = [
  {
    name: "nginx removes /oauth, and the router is mounted at the root",
    kind: nginx,
    shape: { change: mountedAtRoot },
    configuration: (printed) =>
      printed.replace(location, (all, start: string, block: string) => {
        const removing = block.replace("http://app;", "http://app/;");
        return `${start}oauth/ ${removing}\n${all}`;
      }),
  },
  {
    name: "Caddy removes /oauth, and the router is mounted at the root",
    kind: caddy,
    shape: { change: mountedAtRoot },
    configuration: (printed) =>
      printed.replace(
        /\treverse_proxy [^]*?\n\t\}\n/,
        (all) => `\thandle_path /oauth/* {\n${all}\t}\n${all}`,
      ),
  },
  {
    name: "clients are answered in front of Express",
    kind: nginx,
    shape: {
      change: instead(
        [
          'import express from "express";',
          'import express from "express";\nimport { createServer } from "node:http";',
        ],
        ["app.listen(address", "createServer(auth.inFrontOf(app)).listen(address"],
      ),
    },
  },
  { name: "Caddy asks Unix sockets", kind: caddy, shape: { at: "sockets" } },
];

/** The status of `/readyz`, and what the process will do with the connection. */
async function askReady(address: string, agent: Agent): Promise<readonly [number | undefined, unknown]> {
  const asked = get({ ...addressOf(address), path: "/readyz", agent });
  const [response] = (await once(asked, "response")) as [IncomingMessage];
  response.resume();
  await once(response, "end");
  return [response.statusCode, response.headers.connection];
}

function serves({ kind, shape, configuration }: Case): void {
  let deployment: Deployment;
  let proxy: FrontProxy;
  let front: FrontClient;

  beforeAll(async () => {
    deployment = await deploy(shape);
    const [one, two] = deployment.processes;
    proxy = await kind.start([one.address, two.address], configuration);
    front = frontClient(proxy);
  });
  afterAll(async () => {
    front?.close();
    await proxy?.close();
    await deployment?.close();
  });

  it("leads a person to the API, and names the public URLs", async () => {
    const shop = shopClient(deployment, front.send);
    const { code, subject } = await visit(front.send);
    const { refresh_token } = await shop.redeem(code);
    const call = await shop.call((await shop.refresh(refresh_token)).access_token);
    expect(JSON.parse(call.text)).toEqual({ orders: [], for: subject });
    const document = await front.send({ path: `/.well-known/oauth-authorization-server${issuerPath}` });
    expect(JSON.parse(document.text)).toMatchObject({
      issuer: `https://${hostName}${issuerPath}`,
      token_endpoint: `https://${hostName}${issuerPath}/token`,
    });
    const { keys } = JSON.parse((await front.send({ path: "/oauth/jwks" })).text) as { keys: unknown[] };
    expect(keys).toHaveLength(1);
  });

  it("says Connection: close while it stops, and ends with exit code 0; the other process serves", async () => {
    const [one, two] = deployment.processes;
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    expect(await askReady(one.address, agent)).toEqual([200, "keep-alive"]);
    const ended = one.stop();
    let last: readonly unknown[] = [];
    await until(async () => {
      last = await askReady(one.address, agent);
      return last[0] !== 200;
    });
    expect(last).toEqual([503, "close"]);
    expect(await ended).toBe(0);
    agent.destroy();
    expect((await front.send({ path: "/healthz" })).servedBy).toBe(String(two.pid()));
    await one.start(deployment.settings);
    expect(one.printed()).toBe("");
  });
}

for (const each of cases) {
  const { name, found } = each.kind;
  describeWith({ name, found: found && postgres.found }, { name: each.name, tests: () => serves(each) });
}
