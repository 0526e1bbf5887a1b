// @ts-check
/**
 * Takes the screenshots of the built-in pages and of the playground in docs/screenshots/ with Chromium:
 *
 *     npm run build
 *     node lab/pictures/make-screenshots.js
 *
 * To use another Chromium than /usr/bin/chromium, set AUTHMOUNT_TEST_CHROMIUM=/path/to/it
 */
const { randomBytes } = require("node:crypto");
const events = require("node:events");
const { mkdirSync, readdirSync, writeFileSync } = require("node:fs");
const path = require("node:path");
const express = require("express");
const { chromium } = require("playwright-core");
const sharp = require("sharp");
const { createAuthServer, generateClientSecret, generateSigningKey, memoryStorage } = require("../..");
const { accountPages, staffPages } = require("../../dist/portal");
const { takePlaygroundPictures } = require("./playground-pictures");

/** @typedef {import("../../lib/index").PagesOptions} PagesOptions */
/** @typedef {import("playwright-core").BrowserContextOptions} BrowserContextOptions */

const folder = path.join(__dirname, "../../docs/screenshots");

/** @param {string} shapes */
function svg(shapes) {
  const image = `<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40">${shapes}</svg>`;
  return `data:image/svg+xml;base64,${Buffer.from(image).toString("base64")}`;
}

const hostLogo = svg(
  '<rect width="40" height="40" rx="9" fill="#7a1fd0"/><path d="M29 10H12v20h17M12 20h14" fill="none" stroke="#fff" stroke-width="4"/>',
);
const clientLogo = svg(
  '<circle cx="20" cy="20" r="20" fill="#0b7a5b"/><path d="M11 16h18l-2 14H13zM15 16a5 6 0 0 1 10 0" fill="none" stroke="#fff" stroke-width="2.5"/>',
);

/** Client id → logo. */
const clientLogos = { shop: {}, "shop-with-logo": { logo: clientLogo } };

const storage = memoryStorage({
  clients: Object.entries(clientLogos).map(([clientId, logo]) => ({
    clientId,
    name: "Tea Shop",
    confidential: false,
    platform: "browser",
    redirectUris: ["https://shop.example/callback"],
    policyUri: "https://shop.example/privacy",
    tosUri: "https://shop.example/terms",
    subscriptions: { orders: {} },
    ...logo,
  })),
});

/** What the pages for staff show. */
const managed = memoryStorage({
  clients: [
    {
      clientId: "shop",
      name: "Tea Shop",
      confidential: true,
      secretDigests: [generateClientSecret(), generateClientSecret()].map(({ digest }) => digest),
      oldSecretUntil: Date.parse("2027-01-07T12:00:00Z") / 1000,
      redirectUris: ["https://shop.example/callback"],
      subscriptions: { orders: { scopes: ["orders:read", "orders:write"] } },
    },
    {
      clientId: "till",
      name: "Till",
      confidential: false,
      platform: "native",
      disabled: true,
      redirectUris: ["com.example.till:/callback"],
      subscriptions: { orders: {} },
    },
  ],
});

const scopes = {
  "orders:read": {
    en: "See your orders",
    de: "Ihre Bestellungen sehen",
    fr: "Voir vos commandes",
    ar: "الاطلاع على طلباتك",
  },
  "orders:write": {
    en: "Change your orders",
    de: "Ihre Bestellungen ändern",
    fr: "Modifier vos commandes",
    ar: "تعديل طلباتك",
  },
};

/** @param {{ baseUrl: string, pages: PagesOptions, isOpen: boolean }} options */
function authServer({ baseUrl, pages, isOpen }) {
  return createAuthServer({
    baseUrl,
    pages,
    storage,
    insecureLoopbackClients: isOpen,
    secrets: [randomBytes(32).toString("hex")],
    signingKeys: [generateSigningKey()],
    authMethods: {
      password: {
        authenticate: () => ({ kind: "authenticated", subject: "alice", displayName: "alice@example.com" }),
      },
    },
    apis: {
      orders: {
        name: "Orders",
        audience: "https://api.example/orders",
        authMethods: ["password"],
        scopes,
        ...(isOpen && { clientMetadataDocuments: { accept: () => ({ kind: "accepted" }) } }),
      },
    },
  });
}

/** A day of 2026, at noon. @param {string} day */
const at = (day) => Date.parse(`2026-${day}T12:00:00Z`) / 1000;

/** What the page of alice's apps finds: a registered app that was used, and one that nobody registered. */
const lists = {
  consents: [
    {
      clientId: "shop",
      scopes: ["orders:read", "orders:write"],
      grantedAt: at("04-02"),
      expiresAt: at("12-30"),
    },
    {
      clientId: "https://editor.example/client.json",
      scopes: ["orders:read"],
      grantedAt: at("03-05"),
      expiresAt: at("09-05"),
    },
  ].map((consent) => ({ ...consent, subject: "alice", apiId: "orders", contextKey: "", endMarks: [] })),
  authorizations: [
    {
      authorizationId: "a",
      clientId: "shop",
      apiId: "orders",
      contextKey: "",
      authMethodId: "password",
      scopes: ["orders:read"],
      createdAt: at("04-02"),
      lastUsedAt: at("05-20"),
      expiresAt: at("07-02"),
    },
  ],
};

const nothing = async () => undefined;
/** As a server would give it. */
const listing = {
  consents: { list: async () => ({ consents: lists.consents }), revoke: nothing, narrow: nothing },
  authorizations: { list: async () => ({ authorizations: lists.authorizations }), revoke: nothing },
  subjects: { revoke: nothing },
};

/** @type {Readonly<Record<string, PagesOptions>>} Path where a server is mounted → its pages. */
const hosts = {
  plain: {},
  /** Lets in clients that nobody registered. */
  open: {},
  branded: { name: "Example Ltd", logo: hostLogo, accentColor: "#7a1fd0" },
};

/** @typedef {{ host: string, fields: Readonly<Record<string, string>>, status: number }} Visit */

/** The page of alice's apps, which is no page of an authorization request. */
const apps = { host: "apps", fields: {}, status: 200 };
/** The pages for staff: all clients, and one of them. */
const allClients = { host: "clients", fields: {}, status: 200 };
const oneClient = { ...allClients, fields: { client: "shop" } };

const consent = { host: "plain", fields: {}, status: 200 };
const arabicConsent = { ...consent, fields: { ui_locales: "ar" } };
const brandedConsent = { ...consent, host: "branded", fields: { client_id: "shop-with-logo" } };
/** @type {Visit} A client that nobody registered. */
const stranger = {
  host: "open",
  fields: { redirect_uri: "http://127.0.0.1:33418/callback" },
  status: 200,
};
const refusal = { host: "plain", fields: { client_id: "nobody" }, status: 400 };

const tall = { width: 640, height: 700 };
const taller = { width: 640, height: 770 };
const tallest = { width: 640, height: 920 };
const highest = { width: 640, height: 1110 };
const low = { width: 640, height: 440 };
const desktop = { width: 1280, height: 800 };
const narrow = { width: 390, height: 700 };

/** @type {readonly (BrowserContextOptions & { name: string, visit: Visit })[]} */
const pictures = [
  { name: "consent-light", visit: consent, viewport: tall },
  { name: "consent-dark", visit: consent, viewport: tall, colorScheme: "dark" },
  { name: "consent-desktop", visit: consent, viewport: desktop },
  { name: "consent-narrow", visit: consent, viewport: narrow },
  { name: "consent-right-to-left", visit: arabicConsent, viewport: tall },
  { name: "consent-branded-light", visit: brandedConsent, viewport: taller },
  { name: "consent-branded-dark", visit: brandedConsent, viewport: taller, colorScheme: "dark" },
  { name: "stranger-light", visit: stranger, viewport: tallest },
  { name: "stranger-dark", visit: stranger, viewport: tallest, colorScheme: "dark" },
  { name: "stranger-narrow", visit: stranger, viewport: { ...narrow, height: 1010 }, locale: "de" },
  { name: "stranger-french", visit: stranger, viewport: { ...tallest, height: 990 }, locale: "fr" },
  { name: "stranger-right-to-left", visit: stranger, viewport: tallest, locale: "ar" },
  { name: "error-light", visit: refusal, viewport: low },
  { name: "error-dark", visit: refusal, viewport: low, colorScheme: "dark" },
  { name: "error-narrow", visit: refusal, viewport: narrow },
  { name: "error-right-to-left", visit: refusal, viewport: low, locale: "ar" },
  { name: "apps-light", visit: apps, viewport: highest },
  { name: "apps-dark", visit: apps, viewport: highest, colorScheme: "dark" },
  { name: "apps-right-to-left", visit: apps, viewport: highest, locale: "ar" },
  { name: "clients-light", visit: allClients, viewport: tall },
  { name: "client-light", visit: oneClient, viewport: highest },
  { name: "client-dark", visit: oneClient, viewport: highest, colorScheme: "dark" },
];

/** The metadata document of the stranger is served here, and its pictures show another host name. */
const documentPath = "/client.json";
const strangersHost = "editor.example";

/** @type {(origins: { host: string, stranger: string }, visit: Visit) => string} */
function urlOf(origins, { host, fields }) {
  if (host === apps.host) return `${origins.host}/apps`;
  if (host === allClients.host) return `${origins.host}/clients?${new URLSearchParams(fields).toString()}`;
  const query = new URLSearchParams({
    client_id: host === "open" ? origins.stranger + documentPath : "shop",
    response_type: "code",
    redirect_uri: "https://shop.example/callback",
    scope: "orders:read orders:write",
    code_challenge: randomBytes(32).toString("base64url"),
    code_challenge_method: "S256",
    ...fields,
  });
  return `${origins.host}/${host}/auth/password/api/orders/authorize?${query.toString()}`;
}

/** @param {import("express").Express} app */
async function listen(app) {
  const server = app.listen(0, "localhost");
  await events.once(server, "listening");
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  return { server, origin: `http://localhost:${port}` };
}

/** Not the origin of the hosts: there, its document would be refused. */
async function startStranger() {
  const app = express();
  const { server, origin } = await listen(app);
  app.get(documentPath, (_, res) => {
    res.json({
      client_id: origin + documentPath,
      client_name: "Code Editor",
      client_uri: `https://${strangersHost}/`,
      policy_uri: `https://${strangersHost}/privacy`,
      redirect_uris: ["http://127.0.0.1/callback"],
    });
  });
  return { server, origin };
}

async function startHosts() {
  const app = express();
  const { server, origin } = await listen(app);
  for (const [host, pages] of Object.entries(hosts)) {
    const isOpen = host === "open";
    // in production, error pages show nothing that is meant for developers, and strangers must not come from localhost
    process.env["NODE_ENV"] = isOpen ? "development" : "production";
    app.use(`/${host}`, authServer({ baseUrl: `${origin}/${host}`, pages, isOpen }).router);
  }
  const api = { name: "Orders", audience: "https://api.example/orders", authMethods: ["password"], scopes };
  const shown = accountPages({
    auth: listing,
    options: { baseUrl: `${origin}/plain`, apis: { orders: api }, storage },
    person: () => ({ kind: "authenticated", subject: "alice", displayName: "alice@example.com" }),
  });
  app.use("/apps", shown);
  const managing = staffPages({
    auth: { ...listing, clients: { revoke: nothing } },
    options: { baseUrl: `${origin}/plain`, apis: { orders: api }, storage: managed },
    person: () => ({ kind: "authenticated", subject: "sam" }),
    mayManage: () => true,
  });
  app.use("/clients", managing);
  return { origin, server };
}

/** @type {(page: import("playwright-core").Page, origins: { host: string, stranger: string }) => Promise<void>} */
async function renameStranger(page, origins) {
  await page.route(`${origins.host}/**`, async (route) => {
    const response = await route.fetch();
    const body = (await response.text()).replaceAll(new URL(origins.stranger).host, strangersHost);
    await route.fulfill({ response, body });
  });
}

/** @param {import("playwright-core").Browser} browser */
async function takePagePictures(browser) {
  const [mounted, unknown] = [await startHosts(), await startStranger()];
  const origins = { host: mounted.origin, stranger: unknown.origin };
  try {
    for (const { name, visit, ...look } of pictures) {
      const context = await browser.newContext({ locale: "en", colorScheme: "light", ...look });
      const page = await context.newPage();
      if (visit.host === "open") await renameStranger(page, origins);
      const response = await page.goto(urlOf(origins, visit));
      if (response?.status() !== visit.status) throw new Error(`${name}: status ${response?.status()}`);
      await page.screenshot({ path: path.join(folder, `${name}.png`) });
      await context.close();
    }
  } finally {
    for (const { server } of [mounted, unknown]) {
      server.close();
      server.closeAllConnections();
    }
  }
}

/** A palette makes them a third as big: the package carries some of them. */
async function shrinkPictures() {
  for (const name of readdirSync(folder).filter((each) => each.endsWith(".png"))) {
    const file = path.join(folder, name);
    writeFileSync(file, await sharp(file).png({ palette: true }).toBuffer());
  }
}

async function takePictures() {
  mkdirSync(folder, { recursive: true });
  const browser = await chromium.launch({
    executablePath: process.env["AUTHMOUNT_TEST_CHROMIUM"] ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-quic", "--disable-background-networking"],
  });
  try {
    await takePagePictures(browser);
    await takePlaygroundPictures(browser, folder);
  } finally {
    await browser.close();
  }
  await shrinkPictures();
}

void takePictures();
