/** What comes before and after routes that answer by themselves. */
import express, { type ErrorRequestHandler, type RequestHandler } from "express";
import request from "supertest";
import { express4 } from "../servers/express4";
import { type TestHost, testHost } from "../hosts/host";
import { eventKinds, plainHost, stuckAt } from "../hosts/in-front";
import { everythingUnderWay } from "../storage/latch";
import {
  allConnectionsEnded,
  closeServersAfterEachTest,
  connectTo,
  form,
  keptForm,
  machineFields,
  machineForm,
  metadataPath,
  serverOf,
  statusesOf,
  talk,
  tokenPath,
  withoutBody,
} from "../requests/raw-connections";

closeServersAfterEachTest();

describe("a host that has answered already", () => {
  it.each(["at once", "while storage works"])("%s: has the last word", async (moment) => {
    const { storage, entered, answer } = stuckAt("clients.find");
    const host = plainHost({ storage });
    const front = host.auth.inFrontOf(host.app);
    const server = await serverOf((req, res) => {
      front(req, res);
      if (moment === "at once") res.writeHead(503).end("too late");
      else void entered.opened.then(() => res.writeHead(503).end("too late"));
    });
    const received = await talk(server, form(machineFields));
    answer.open();
    await everythingUnderWay();
    expect(received).toContain("too late");
    expect(statusesOf(received)).toEqual([503]);
    expect(eventKinds(host)).not.toContain("server-error");
  });

  it("keeps the connection for the next request", async () => {
    const { storage, entered, answer } = stuckAt("clients.find");
    const host = plainHost({ storage });
    const front = host.auth.inFrontOf(host.app);
    const server = await serverOf((req, res) => {
      front(req, res);
      if (req.method !== "POST") return;
      void entered.opened.then(() => {
        res.writeHead(503).end("too late");
        answer.open();
      });
    });
    expect(statusesOf(await talk(server, keptForm(machineForm), withoutBody("GET", metadataPath)))).toEqual([
      503, 200,
    ]);
  });

  it("by ending the connection: nothing throws", async () => {
    const { storage, entered, answer } = stuckAt("clients.find");
    const host = plainHost({ storage });
    const front = host.auth.inFrontOf(host.app);
    const server = await serverOf((req, res) => {
      front(req, res);
      void entered.opened.then(() => res.destroy());
    });
    const socket = await connectTo(server);
    socket.write(form(machineFields));
    await allConnectionsEnded(server);
    answer.open();
    await everythingUnderWay();
    expect(eventKinds(host)).toEqual(["token-issued"]);
  });

  it("only with headers of its own: they stay, and Vary is joined (RFC 9110 §12.5.5)", async () => {
    const host = plainHost();
    const front = host.auth.inFrontOf(host.app);
    const server = await serverOf((req, res) => {
      res.setHeader("Vary", "Accept-Encoding").setHeader("X-Ours", "stays");
      front(req, res);
    });
    const answer = await talk(server, form(machineFields));
    expect(answer).toContain("\r\nX-Ours: stays\r\n");
    expect(answer).toContain("\r\nVary: Accept-Encoding, Origin\r\n");
  });
});

/** As it is in production, where no check of the mounting is in between. */
function inProduction(): TestHost {
  jest.replaceProperty(process, "env", { ...process.env, NODE_ENV: "production" });
  return testHost();
}

const tellPlace: RequestHandler = (req, res) => {
  const { url, baseUrl, originalUrl } = req;
  res.status(418).json({ url, baseUrl, originalUrl });
};

const tellError: ErrorRequestHandler = (error: Error, _req, res, _next) =>
  void res.status(418).send(error.message);

const modes = { "in production": inProduction, "in development": (): TestHost => testHost() };

/** Tests of an app with the routers in it. */
function routersHandOn({ newApp, newHost }: { newApp: typeof express; newHost: () => TestHost }): void {
  it("routes that the host has added are served after ours", async () => {
    const { auth } = newHost();
    const app = newApp();
    auth.router.get("/x", (_req, res) => void res.send("added"));
    auth.router.post("/auth/password/api/orders/token", (_req, res) => void res.send("taken over"));
    auth.router.get("/jwks", (_req, res) => void res.send("taken over"));
    auth.wellKnown.get("/y", (_req, res) => void res.send("added"));
    auth.wellKnown.get("/.well-known/oauth-protected-resource/orders", (_req, res) => void res.send("taken"));
    app.use("/login", auth.router);
    app.use(auth.wellKnown);
    app.use(tellPlace);
    expect((await request(app).get("/login/x")).text).toBe("added");
    expect((await request(app).get("/y")).text).toBe("added");
    const ours = await request(app).post(tokenPath).type("form").send(machineForm);
    expect(ours.body).toMatchObject({ token_type: "bearer" });
    expect((await request(app).get("/login/jwks")).body).toHaveProperty("keys");
    const document = await request(app).get("/.well-known/oauth-protected-resource/orders");
    expect(document.body).toHaveProperty("authorization_servers");
    expect((await request(app).get("/login/z")).body).toEqual({
      url: "/login/z",
      baseUrl: "",
      originalUrl: "/login/z",
    });
  });

  it("an error of a route that the host has added goes to the host", async () => {
    const { auth } = newHost();
    const app = newApp();
    auth.router.get("/x", (_req, _res, next) => next(new Error("of the host's route")));
    app.use("/login", auth.router);
    app.use(tellError);
    expect((await request(app).get("/login/x")).text).toBe("of the host's route");
  });

  it("errors of middleware ahead pass them by, even on our paths", async () => {
    const { auth } = newHost();
    const app = newApp();
    app.use((_req, _res, next) => next(new Error("of the host")));
    app.use("/login", auth.router);
    app.use(auth.wellKnown);
    app.use(tellError);
    const answers = [
      await request(app).get("/login/jwks"),
      await request(app).post(tokenPath),
      await request(app).get("/.well-known/oauth-protected-resource/orders"),
      await request(app).get("/x"),
    ];
    expect(answers.map(({ text }) => text)).toEqual(Array(4).fill("of the host"));
  });

  it("leave url and baseUrl to what comes after as they were", async () => {
    const { auth } = newHost();
    const app = newApp();
    app.use("/login", auth.router, auth.wellKnown, (req, _res, next) => {
      expect([req.baseUrl, req.url]).toEqual(["/login", "/x?a=b"]);
      next();
    });
    app.use(tellPlace);
    expect((await request(app).get("/login/x?a=b")).body).toEqual({
      url: "/login/x?a=b",
      baseUrl: "",
      originalUrl: "/login/x?a=b",
    });
  });

  it("leave url, baseUrl and parameters as they were in routers of the host", async () => {
    const { auth } = newHost();
    const app = newApp();
    const [outer, inner] = [newApp.Router({ mergeParams: true }), newApp.Router({ mergeParams: true })];
    app.use("/a/:tenant", outer);
    outer.use("/b", inner, tellPlace);
    inner.use("/login", auth.router);
    inner.use(auth.wellKnown);
    inner.get("/login/mine", (req, res) => void res.json(req.params));
    expect((await request(app).get("/a/one/b/login/mine")).body).toEqual({ tenant: "one" });
    expect((await request(app).get("/a/one/b/login/x?a=b")).body).toEqual({
      url: "/login/x?a=b",
      baseUrl: "/a/one/b",
      originalUrl: "/a/one/b/login/x?a=b",
    });
  });

  it("let the host answer OPTIONS for its own routes beside them", async () => {
    const { auth } = newHost();
    const app = newApp();
    app.use("/login", auth.router);
    app.get("/login/mine", tellPlace);
    expect((await request(app).options("/login/mine")).headers["allow"]).toMatch(/^GET, ?HEAD$/);
  });
}

describe.each([
  ["Express 5", express],
  ["Express 4", express4],
])("%s: routers that answer by themselves", (_, newApp) => {
  it.each(["router", "wellKnown"] as const)("%s hands on in the same turn", async (name) => {
    const { auth } = inProduction();
    const app = newApp();
    const handedOn: boolean[] = [];
    let sameTurn = false;
    app.use((_req, _res, next) => {
      sameTurn = true;
      next();
      sameTurn = false;
    });
    app.use("/login", auth[name]);
    app.use(auth[name]);
    app.use((_req, res) => {
      handedOn.push(sameTurn);
      res.end();
    });
    for (const path of ["/", "/login", "/login/x", "/login/auth/x", "/.well-known/x"])
      await request(app).get(path);
    expect(handedOn).toEqual([true, true, true, true, true]);
  });

  describe.each(Object.entries(modes))("%s", (__, newHost) => routersHandOn({ newApp, newHost }));
});
