import { once } from "node:events";
import net from "node:net";
import { systemNetwork } from "../../lib/fetching/network";
import { everythingUnderWay, newLatch } from "../storage/latch";
import { closeStrangeHosts, plainHost } from "./strange-host";

afterEach(async () => {
  jest.restoreAllMocks();
  await closeStrangeHosts();
});

describe("the connections of this machine", () => {
  it("lead to the addresses that are given, under a name that DNS never has (RFC 6761 §6.4)", async () => {
    const { port } = await plainHost(() => undefined);
    const connecting = jest.spyOn(net, "connect");
    const socket = systemNetwork.connect({ addresses: ["127.0.0.1"], port });
    await once(socket, "connect");
    expect(connecting.mock.calls).toEqual([[expect.objectContaining({ host: "checked.invalid", port })]]);
    expect(socket.remoteAddress).toBe("127.0.0.1");
    socket.destroy();
  });
});

describe("the time limit of this machine", () => {
  it("ends what takes too long", async () => {
    const isLate = newLatch();
    systemNetwork.startTimer(1, () => isLate.open());
    await isLate.opened;
  });

  it("is over when it is stopped", async () => {
    const ended: string[] = [];
    const isLate = newLatch();
    const stop = systemNetwork.startTimer(1, () => ended.push("stopped"));
    // a later one with the same time ends after it
    systemNetwork.startTimer(1, () => isLate.open());
    stop();
    await isLate.opened;
    await everythingUnderWay();
    expect(ended).toEqual([]);
  });
});
