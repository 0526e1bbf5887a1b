/** TypeScript programs as hosts write them, type-checked against the packed package. */
import { pack, type Packed, typeCheck } from "./packed-host";
import matrix from "./matrix.json";

let packed: Packed;

beforeAll(async () => {
  packed = await pack();
});

afterAll(() => packed.remove());

const clients = `
import { memoryStorage, type Client, type PublicClient } from "authmount";

memoryStorage({
  clients: [
    {
      clientId: "shop",
      name: "Shop",
      confidential: true,
      secretDigests: [],
      redirectUris: ["https://shop.example/callback"],
      subscriptions: { orders: { grantTypes: ["client_credentials"] } },
    },
    { clientId: "app", name: "App", confidential: false, platform: "native", redirectUris: [], subscriptions: {} },
  ],
});

const shop = {
  clientId: "shop",
  name: "Shop",
  confidential: true,
  secretDigests: [],
  redirectUris: ["https://shop.example/callback"],
  subscriptions: { orders: { scopes: ["read"], grantTypes: ["authorization_code", "refresh_token"] } },
} satisfies Client;
const app = { ...shop, clientId: "app", confidential: false, platform: "browser" } satisfies PublicClient;
memoryStorage({ clients: [shop, app] });
shop.subscriptions.orders.scopes.length;

const common = { name: "Shop", redirectUris: ["https://shop.example/"], subscriptions: { orders: {} } };
const listed = ["a", "b"].map((clientId): Client => ({ ...common, clientId, confidential: true, secretDigests: [] }));
const table = {
  a: { ...common, clientId: "a", confidential: true, secretDigests: [] },
  b: { ...common, clientId: "b", confidential: false, platform: "native" },
} satisfies Record<string, Client>;
memoryStorage({ clients: listed });
memoryStorage({ clients: Object.values(table) });
`;

const server = `
import express, { type NextFunction, type Request, type RequestHandler, type Response } from "express";
import type { AuthServer } from "authmount";

export declare const auth: AuthServer;
export const app = express();
const read = { api: "orders", scope: "read" } as const;
const readOfPeople = { ...read, subject: "required" } as const;
`;

/** Every way to write a protected route. */
const routes = `${server}
app.get("/plain/:id", auth.requireBearer(read), (req, res) => {
  const id: string = req.params.id;
  // @ts-expect-error: the path has no such parameter
  req.params.other;
  // @ts-expect-error: a token of a client has no subject
  const subject: string = auth.accessToken(req).subject;
  res.json({ id, subject, clientId: auth.accessToken(req).clientId });
});
app.get("/people/:id", auth.requireBearer(readOfPeople), async (req, res) => {
  const subject: string = auth.accessToken(req, { subject: "required" }).subject;
  res.json({ id: req.params.id.toUpperCase(), subject });
});
app.get("/handler/:id", auth.requireBearer(read, (req, res) => {
  const id: string = req.params.id!;
  res.json({ id, clientId: req.auth.clientId });
}));
app.get("/handler/:id", auth.requireBearer(readOfPeople, (req, res, next) => {
  const { auth: { subject } }: { auth: { subject: string } } = req;
  res.json({ subject });
  next();
}));
app.get("/named/:id", auth.requireBearer<{ id: string }>(readOfPeople, (req, res) => {
  // @ts-expect-error: the path has no such parameter
  req.params.other;
  res.json({ id: req.params.id.length, subject: req.auth.subject.length });
}));
app.get("/written/:id", auth.requireBearer(read, (req: Request<{ id: string }>, res: Response) => {
  res.json(req.params.id.length);
}));
app.route("/route/:id").get(auth.requireBearer(readOfPeople, (req, res) => {
  // @ts-expect-error: the path has no such parameter
  req.params.other;
  res.json({ id: req.params.id.length });
}));

const kept: RequestHandler = auth.requireBearer(read);
const keptToo: RequestHandler = auth.requireBearer(read, (req, res) => void res.json(req.auth));
app.use(kept, auth.requireBearer(read));
app.use("/below", keptToo, [auth.requireBearer(read)], (req: Request, res: Response, next: NextFunction) => next());
app.use("/below", auth.requireBearer(read, (req, res) => void res.json(req.auth)));
express.Router().use(auth.requireBearer(read)).post("/x", kept, (req, res) => void res.json(req.body));

interface Locals { readonly user: string }
app.get("/locals/:id", auth.requireBearer(read), (req: Request<{ id: string }>, res: Response<unknown, Locals>) => {
  res.json(res.locals.user + req.params.id);
});
app.get("/challenge/:id", auth.requireBearer(read), (req, res) => {
  auth.challenge(req, res, { api: "orders", scope: "write" });
});
auth.requireBearer({ api: "orders", scope: (req) => (req.method === "GET" ? "read" : "write") });
// @ts-expect-error: no such value
auth.requireBearer({ api: "orders", subject: "perhaps" });
// @ts-expect-error: a misspelt import must not leave the route without its handler
auth.requireBearer(read, undefined);
`;

const withoutGlobal = `${server}
app.get("/orders", auth.requireBearer(read), (req, res) => {
  // @ts-expect-error: declared by authmount/express only
  res.json(req.auth);
});
`;

const withGlobal = `${server}
import "authmount/express";
app.get("/orders", auth.requireBearer(readOfPeople), (req, res) => {
  // @ts-expect-error: also routes without requireBearer have this type
  req.auth.clientId;
  res.json({ clientId: req.auth?.clientId, subject: req.auth?.subject });
});
app.get("/mine", auth.requireBearer(readOfPeople, (req, res) => void res.json(req.auth.subject.length)));
`;

const transport = `
import type { AuthInfo } from "@modelcontextprotocol/sdk/server/auth/types.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
app.post("/mcp/:room", auth.requireBearer(readOfPeople), async (req, res) => {
  const { subject } = auth.accessToken(req, { subject: "required" });
  const authInfo: AuthInfo = auth.mcpAuth(req);
  const withAuthInfo: typeof req & { auth: AuthInfo } = Object.create(req, { auth: { value: authInfo } });
  await new StreamableHTTPServerTransport().handleRequest(withAuthInfo, res, { subject, room: req.params.room });
});
`;

const others = {
  "the transport of @modelcontextprotocol/sdk": `${server}${transport}`,
  "the middleware and the transport of @modelcontextprotocol/sdk": `${server}${transport}
import { requireBearerAuth } from "@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js";
declare const theirs: Parameters<typeof requireBearerAuth>[0];
app.get("/theirs", requireBearerAuth(theirs), (req, res) => void res.json(req.auth?.token));
app.get("/ours", auth.requireBearer(readOfPeople, (req, res) => void res.json(req.auth.subject.length)));
`,
  "express-oauth2-jwt-bearer": `${server}
import { auth as jwt } from "express-oauth2-jwt-bearer";
app.get("/theirs", jwt(), (req, res) => void res.json(req.auth?.payload.sub));
app.get("/ours/:id", auth.requireBearer(readOfPeople), (req, res) => {
  res.json({ id: req.params.id, subject: auth.accessToken(req, { subject: "required" }).subject.length });
});
app.get("/ours", auth.requireBearer(readOfPeople, (req, res) => void res.json(req.auth.subject.length)));
`,
};

/** What the compiler says about each of them when the host asks for the global type of `req.auth` too. */
const collisions: Record<keyof typeof others, RegExp> = {
  "the transport of @modelcontextprotocol/sdk": /^$/,
  "the middleware and the transport of @modelcontextprotocol/sdk": /TS2430|TS2717/,
  "express-oauth2-jwt-bearer": /TS2717/,
};

describe.each(["4", "5"] as const)("a TypeScript host with Express %s", (express) => {
  let host: string;

  beforeAll(async () => {
    const types = `@types/express@${matrix.expressTypes[express]}`;
    const libraries = [
      `@modelcontextprotocol/sdk@${matrix.mcpSdk}`,
      `express-oauth2-jwt-bearer@${matrix.expressOauth2JwtBearer}`,
    ];
    host = await packed.install(`express@${express}`, types, ...libraries);
  });

  it.each(Object.entries({ clients, routes, withoutGlobal, withGlobal }))(
    "compiles: %s",
    async (_, program) => {
      expect(await typeCheck(host, { files: { "host.ts": program } })).toBe("");
    },
  );

  it.each(Object.entries(others))("compiles without casts beside %s", async (_, program) => {
    expect(await typeCheck(host, { files: { "host.ts": program } })).toBe("");
  });

  it.each(Object.entries(others))("with authmount/express, beside %s", async (name, program) => {
    const output = await typeCheck(host, {
      files: { "host.ts": `import "authmount/express";\n${program}` },
    });
    expect(output).toMatch(collisions[name as keyof typeof others]);
  });
});

describe("a host without types", () => {
  let host: string;

  beforeAll(async () => {
    host = await packed.install(`express@${matrix.express.at(-1)}`);
  });

  it("compiles when it is JavaScript, with the types of its libraries unchecked", async () => {
    const options = { skipLibCheck: true, allowJs: true, checkJs: true, noImplicitAny: false, types: [] };
    const program = `import { createAuthServer } from "authmount";\nexport const server = createAuthServer;\n`;
    expect(await typeCheck(host, { files: { "host.mjs": program }, options })).toBe("");
  });

  it("is told what to install when it is TypeScript", async () => {
    const output = await typeCheck(host, { files: { "host.ts": routes }, options: { types: [] } });
    expect(output).toContain("npm i --save-dev @types/express");
    expect(output).toContain("npm i --save-dev @types/node");
  });
});
