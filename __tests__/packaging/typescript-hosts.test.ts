/** TypeScript programs as hosts write them, type-checked against the packed package. */
import { pack, type Packed, typeCheck } from "../fixture/packed-host";

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

/**
 * What the published declarations of two libraries say about `req.auth`, in the two ways in which Express can be extended. They
 * are written by hand, as the libraries and what they bring along are larger than everything else that is installed here:
 * @modelcontextprotocol/sdk 1.32 (server/auth/middleware/bearerAuth, server/streamableHttp) and express-oauth2-jwt-bearer 1.10.
 */
const otherLibraries = {
  "node_modules/@modelcontextprotocol/sdk/package.json": JSON.stringify({
    name: "@modelcontextprotocol/sdk",
    exports: { "./*": { types: "./*.d.ts" } },
  }),
  "node_modules/@modelcontextprotocol/sdk/auth-info.d.ts": `
    export interface AuthInfo {
      token: string;
      clientId: string;
      scopes: string[];
      expiresAt?: number;
      resource?: URL;
      extra?: Record<string, unknown>;
    }`,
  "node_modules/@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js.d.ts": `
    import type { RequestHandler } from "express";
    import type { AuthInfo } from "../../../auth-info";
    declare module "express-serve-static-core" {
      interface Request { auth?: AuthInfo }
    }
    export declare function requireBearerAuth(options: { requiredScopes?: string[] }): RequestHandler;`,
  "node_modules/@modelcontextprotocol/sdk/server/streamableHttp.js.d.ts": `
    import type { IncomingMessage, ServerResponse } from "node:http";
    import type { AuthInfo } from "../auth-info";
    export declare class StreamableHTTPServerTransport {
      handleRequest(req: IncomingMessage & { auth?: AuthInfo }, res: ServerResponse, body?: unknown): Promise<void>;
    }`,
  "node_modules/express-oauth2-jwt-bearer/package.json": JSON.stringify({
    name: "express-oauth2-jwt-bearer",
    types: "index.d.ts",
  }),
  "node_modules/express-oauth2-jwt-bearer/index.d.ts": `
    import type { Handler } from "express";
    interface Verified { header: Record<string, unknown>; payload: { sub?: string }; token: string }
    declare global {
      namespace Express {
        interface Request { auth?: Verified }
      }
    }
    export declare const auth: (options?: { audience?: string }) => Handler;`,
};

const transport = `
import type { AuthInfo } from "@modelcontextprotocol/sdk/auth-info";
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

describe.each([
  ["express", "@types/express"],
  ["express4", "types-express4"],
] as const)("a TypeScript host with %s", (express, types) => {
  let host: string;

  beforeAll(async () => {
    host = await packed.newHost({ express, types });
  });

  it.each(Object.entries({ clients, routes, withoutGlobal, withGlobal }))(
    "compiles: %s",
    async (_, program) => {
      expect(await typeCheck(host, { files: { "host.ts": program } })).toBe("");
    },
  );

  it.each(Object.entries(others))("compiles without casts beside %s", async (_, program) => {
    expect(await typeCheck(host, { files: { ...otherLibraries, "host.ts": program } })).toBe("");
  });

  it("sees a collision only where it asks for the global type", async () => {
    const program = `import "express-oauth2-jwt-bearer";\n${withGlobal}`;
    const output = await typeCheck(host, { files: { ...otherLibraries, "host.ts": program } });
    expect(output).toContain("TS2717");
  });
});

describe.each(["express", "express4"] as const)("a host with %s and without its types", (express) => {
  let host: string;

  beforeAll(async () => {
    host = await packed.newHost({ express, types: false });
  });

  it("compiles when it is JavaScript, with the types of its libraries unchecked", async () => {
    const options = { skipLibCheck: true, allowJs: true, checkJs: true };
    const program = `const { createAuthServer } = require("authmount");\nmodule.exports = createAuthServer;\n`;
    expect(await typeCheck(host, { files: { "host.js": program }, options })).toBe("");
  });

  it("is told what to install when it is TypeScript", async () => {
    const output = await typeCheck(host, { files: { "host.ts": routes } });
    expect(output).toContain("npm i --save-dev @types/express");
  });
});
