// @ts-check
/** A host app with people, an authorization server, two protected APIs, and clients that use them. */
const path = require("node:path");
const cookieParser = require("cookie-parser");
const express = require("express");
const { protectedApis } = require("./api");
const { createDemoAuthServer } = require("./auth");
const { registerClients } = require("./clients");
const { newEventLog } = require("./events");
const { accountPage, signInPages } = require("./host-pages");
const { newPeople, newSessions } = require("./people");
const { personRoutes } = require("./person");
const { portalPages } = require("./portal");
const { clientPrograms } = require("./programs");
const { backPage, startPage } = require("./start-page");
const { openStorage } = require("./storage");

const { PORT = "3000" } = process.env;
const origin = `http://localhost:${PORT}`;
const passwords = { alice: "down the rabbit hole", bob: "can we fix it", sam: "play it again" };

const people = newPeople(passwords);
const sessions = newSessions({ secure: origin.startsWith("https:") });
const { clients, secrets } = registerClients(origin);
const { tieEvents, onEvent } = newEventLog();
const { storage, keys, folder, ready } = openStorage(clients);
const { auth, options } = createDemoAuthServer({ origin, storage, keys, people, sessions, onEvent });

const app = express();
app.disable("x-powered-by");
app.use(cookieParser());

/** Where the answers of hidden iframes end. */
const backPaths = ["/back", "/browser/callback"];

/** Other sites may not frame our pages, run scripts in them or receive our forms. */
app.use((req, res, next) => {
  const framedBy = backPaths.includes(req.path) ? "'self'" : "'none'";
  // forms and hidden iframes lead to the clients' redirect URIs, and the phone app's is at 127.0.0.1
  const policy = [
    "default-src 'self'",
    "img-src data:",
    "base-uri 'none'",
    `frame-ancestors ${framedBy}`,
    `frame-src 'self' http://127.0.0.1:${PORT}`,
    `form-action 'self' http://127.0.0.1:${PORT}`,
  ];
  res.set({
    "Cache-Control": "no-store",
    "Content-Security-Policy": policy.join("; "),
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
  });
  next();
});

/** Cookies and `baseUrl` belong to localhost; only the phone app's callback is served at 127.0.0.1. */
app.use((req, res, next) => {
  if (req.headers.host === new URL(origin).host || req.path === "/native/callback") next();
  else res.redirect(origin);
});

const programs = clientPrograms({ origin, secrets });
app.use(programs.recordHops, tieEvents);
app.use("/login", auth.router);
app.use(auth.wellKnown);
app.use(protectedApis(auth));

/** Browsers send the origin with every form and every POST of a script, so forms of other sites are refused here. */
app.use((req, res, next) => {
  if (req.method === "POST" && req.headers.origin !== origin) res.sendStatus(403);
  else next();
});
app.use(programs.router);
app.use(express.urlencoded({ extended: false }));
const host = { auth, people, sessions, passwords };
app.use(signInPages(host));
app.use(accountPage(host));
app.use(portalPages({ ...host, options }));
app.use(personRoutes(host));

const start = startPage({ passwords, secrets });
app.get("/", (_req, res) => void res.send(start));
app.get(backPaths, (_req, res) => void res.send(backPage));
app.use(express.static(path.join(__dirname, "public")));

/** @type {(values: Readonly<Record<string, string>>) => string} */
const rows = (values) =>
  Object.entries(values)
    .map(([name, value]) => `  ${name.padEnd(10)} ${value}\n`)
    .join("");

/** How the options of the demo stand to the standards, a line each. Only on request: `npm run demo -- --assessment`. */
function assessmentText() {
  const standards = Object.entries(auth.assessment().summary).map(([standard, counts]) => {
    const { met, weakened, host: ours } = counts;
    const text = `${met} met, ${weakened} weakened, ${counts["not-met"]} not met, ${ours} for the host`;
    return [standard, text];
  });
  return `How the options stand to standards\n${rows(Object.fromEntries(standards))}`;
}

function listen() {
  app.listen(Number(PORT), "127.0.0.1", (error) => {
    if (error) {
      console.error(`${error.message}. To choose another port: PORT=3001 npm run demo`);
      process.exitCode = 1;
      return;
    }
    const kept = folder ? `\nKept in ${folder}. Delete that folder to begin anew.\n` : "";
    if (process.argv.includes("--assessment")) console.log(assessmentText());
    console.log(`Open ${origin}/
${kept}
Sign in as
${rows(passwords)}
One-time codes appear here.

Confidential clients, for your own program
${rows(secrets)}`);
  });
}

void ready.then(listen);
