import { protectRoutes, type RequireBearerOptions } from "../../lib/bearer/protect-routes";
import { stopClockForEachTest } from "../hosts/clock";
import { testHost } from "../hosts/host";
import { callApi, obtainTokens } from "../browser/journey";
import { ownAccessToken } from "../requests/bearer-answers";
import { apiRecord } from "../records/records";

stopClockForEachTest();

const verify = () => Promise.reject(new Error("nobody asks"));
const { requireBearer } = protectRoutes({
  apis: [apiRecord(), apiRecord({ apiId: "reports" })].map((api) => ({ api, verify })),
  emit: () => undefined,
  clock: () => 0,
});
const scopeProblem =
  "scope must name scopes of orders, and no others. Known scopes: orders:read, orders:write.";

describe("the options of a route are checked when it is made (RFC 6750 §3.1)", () => {
  it.each<[string, object]>([
    ["the API alone", {}],
    ["an end user", { subject: "required" }],
    ["no end user", { subject: "forbidden" }],
    ["a scope", { scope: "orders:read" }],
    ["scopes in one text", { scope: "orders:read orders:write" }],
    ["a list of scopes", { scope: ["orders:read", "orders:write"] }],
    ["no scope", { scope: [] }],
    ["a function", { scope: () => "orders:read" }],
  ])("takes %s", (_, options) => {
    expect(requireBearer({ api: "orders", ...options })).toBeInstanceOf(Function);
  });

  it.each(["Required", "optional", "either", "", null, true, ["required"]])(
    "refuses subject %j",
    (subject) => {
      expect(() => requireBearer({ api: "orders", subject } as RequireBearerOptions)).toThrow(
        expect.objectContaining({ code: "unknown-subject-of-route" }),
      );
    },
  );

  it.each([null, "", "orders:delete", "orders:read  orders:write", ["orders:read", 7], [undefined], 7, {}])(
    "refuses scope %j",
    (scope) => {
      expect(() => requireBearer({ api: "orders", scope } as RequireBearerOptions)).toThrow(
        expect.objectContaining({ code: "unknown-scope-of-route" }),
      );
    },
  );

  it.each<[string, object]>([
    [
      "a misspelt name that they inherit",
      Object.assign(Object.create({ scopes: "orders:read" }), { api: "orders" }),
    ],
    ["undefined that they inherit", Object.assign(Object.create({ scope: undefined }), { api: "orders" })],
    [
      "a getter that gives undefined",
      new (class {
        readonly api = "orders";
        get scope(): undefined {
          return undefined;
        }
      })(),
    ],
  ])("refuses %s: the route would be open", (_, options) => {
    expect(() => requireBearer(options as RequireBearerOptions)).toThrow(
      expect.objectContaining({ code: "not-plain" }),
    );
  });

  it("refuses a list with a hole", () => {
    const scope: string[] = ["orders:read"];
    scope[2] = "orders:write";
    expect(() => requireBearer({ api: "orders", scope })).toThrow(
      expect.objectContaining({ code: "unknown-scope-of-route" }),
    );
  });

  it.each([
    ["an unknown API", { api: "nothing" }],
    ["no API", {}],
    ["no options", undefined],
  ])("refuses %s", (_, options) => {
    const message = "requireBearer: api is not an id in apis. Write one of: orders, reports.";
    expect(() => requireBearer(options as RequireBearerOptions)).toThrow(
      expect.objectContaining({ code: "unknown-api-of-route", message }),
    );
  });

  it.each([
    ["an unknown option", { scopes: "orders:read" }, "unknown-key"],
    ["an option without a value", { subject: undefined }, "undefined-key"],
  ])("refuses %s", (_, options, code) => {
    expect(() => requireBearer({ api: "orders", ...options } as RequireBearerOptions)).toThrow(
      expect.objectContaining({ code }),
    );
  });
});

describe("a scope function that gives no scopes (RFC 6750 §3.1)", () => {
  it.each([
    ["undefined", () => undefined],
    ["an empty list", () => []],
    ["a promise", () => Promise.resolve("orders:read")],
    ["a scope of another API", () => "files:read"],
  ])("is the host's mistake, and the event says so: %s", async (_, scope) => {
    const host = testHost();
    host.app.get("/mine", host.auth.requireBearer({ api: "orders", scope: scope as () => string }));
    const { access_token } = await obtainTokens(host, { client: "web" });
    expect((await callApi(host, "/mine", access_token)).status).toBe(500);
    expect(host.events.at(-1)).toMatchObject({
      kind: "server-error",
      cause: new TypeError(
        `requireBearer: the scope function returned no scopes, or a wrong value (it must not be async): ${scopeProblem}`,
      ),
    });
  });
});

describe("auth.accessToken (RFC 6749 §4.4)", () => {
  it("also gives a client's own token, where no subject is asked for", async () => {
    const host = testHost();
    host.app.get("/any", host.auth.requireBearer({ api: "orders" }), (req, res) => {
      const { clientId, subject } = host.auth.accessToken(req);
      res.json({ clientId, subject: subject ?? "nobody" });
    });
    const answer = await callApi(host, "/any", await ownAccessToken(host, {}));
    expect(answer.body).toEqual({ clientId: "machine", subject: "nobody" });
  });
});
