/** An API with `dpop` in two processes of its own, behind nginx, which serves it below /v1: proofs name the URL that clients see. */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { DpopOptions } from "../../lib";
import { hostName } from "./deployed";
import { type FrontProxy, nginx } from "./front-proxy";
import { type FrontAnswer, type FrontClient, frontClient } from "./front-visitor";
import { boundApis, ownBound, ownKey } from "../../__tests__/requests/bound-requests";
import { proofOf } from "../../__tests__/requests/dpop-proofs";
import { type RemoteServer, remoteApi, remoteServer } from "../../__tests__/resource-server/remote";
import { describeWith } from "../../__tests__/servers/server-process";

const location = /( {4}location \/) (\{[^}]*\})/;

/** nginx removes /v1. */
function belowV1(printed: string): string {
  return printed.replace(location, (_, start: string, block: string) => {
    return `${start}v1/ ${block.replace("http://app;", "http://app/;")}`;
  });
}

function changesPaths(): void {
  const publicUrl = `https://${hostName}/v1`;
  let server: RemoteServer;
  let apps: Server[];
  let proxy: FrontProxy;
  let front: FrontClient;

  async function start(dpop: DpopOptions): Promise<void> {
    server = await remoteServer({ apis: boundApis() });
    const orders = {
      audience: "https://api.example/orders",
      scopes: ["orders:read", "orders:write"],
      dpop,
    };
    // what each has seen is its own, as in two processes
    apps = [1, 2].map(() => createServer(remoteApi(server, { apis: { orders } }).app).listen(0, "127.0.0.1"));
    await Promise.all(apps.map((app) => once(app, "listening")));
    const [one = "", two = ""] = apps.map((app) => String((app.address() as AddressInfo).port));
    proxy = await nginx.start([one, two], belowV1);
    front = frontClient(proxy);
  }
  afterEach(async () => {
    front?.close();
    await proxy?.close();
    for (const app of apps) app.close().closeAllConnections();
    await server?.stop();
  });

  async function boundToken(): Promise<string> {
    const url = `${server.baseUrl}/auth/password/api/orders/token`;
    const { body } = await ownBound(server.host, {
      proofs: [proofOf({ method: "POST", url, key: ownKey })],
    });
    return (body as { access_token: string }).access_token;
  }
  function call(token: string, proof: string): Promise<FrontAnswer> {
    return front.send({ path: "/v1/orders", headers: { Authorization: `DPoP ${token}`, DPoP: proof } });
  }

  it("pass with publicUrl, once in each process", async () => {
    await start({ publicUrl });
    const token = await boundToken();
    const proof = proofOf({ url: `${publicUrl}/orders`, token, key: ownKey });
    const statuses: number[] = [];
    for (let count = 0; count < 4; count += 1) statuses.push((await call(token, proof)).status);
    expect(statuses.toSorted((a, b) => a - b)).toEqual([200, 200, 401, 401]);
  });

  it("are refused without it", async () => {
    await start({});
    const token = await boundToken();
    const { status, headers } = await call(
      token,
      proofOf({ url: `${publicUrl}/orders`, token, key: ownKey }),
    );
    expect([status, headers["www-authenticate"]]).toEqual([
      401,
      expect.stringContaining('error="invalid_dpop_proof"'),
    ]);
  });
}

describeWith(nginx, {
  name: "bound tokens behind a proxy that changes paths (RFC 9449 §4.3)",
  tests: changesPaths,
});
