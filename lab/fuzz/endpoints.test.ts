// Requests of whole journeys, bent in many ways, to every endpoint. CONTRIBUTING.md says how to send more of them.
import { fuzz, hearTroubles, wish } from "./fuzz-run";
import { fuzzHost, goodRequests } from "./fuzz-host";

hearTroubles();

const openBoth = () => Promise.all([fuzzHost("in Express"), fuzzHost("in front of Express")]);
const everything = Object.values(goodRequests).flat();

describe(`bent requests, seed ${wish.seed}`, () => {
  it.each(Object.entries(goodRequests))("to %s break no rule", async (name, requests) => {
    const { inputs } = await fuzz({ name, requests, open: async () => [await fuzzHost()] });
    expect(inputs).toBeGreaterThan(0);
  });

  it("of all kinds in turn break no rule", async () => {
    const { inputs } = await fuzz({
      name: "everything",
      requests: everything,
      open: async () => [await fuzzHost()],
    });
    expect(inputs).toBeGreaterThan(0);
  });

  it("are answered alike in Express and in front of it (inFrontOf)", async () => {
    const { token, introspect, revoke, register, documents, authorize } = goodRequests;
    const requests = [...token, ...introspect, ...revoke, ...register, ...documents, ...authorize];
    expect((await fuzz({ name: "inFrontOf", requests, open: openBoth })).inputs).toBeGreaterThan(0);
  });
});
