// @ts-check
/**
 * The client programs outside the browser: two web apps, a phone app and a night job. In reality they would be
 * separate apps. Here they share a process with the authorization server, but talk to it over HTTP.
 */
const { randomBytes } = require("node:crypto");
const { json, Router } = require("express");
const { html, page } = require("./page");

/** @typedef {import("express").Request} Request */
/** @typedef {import("./types").Workbench} Workbench */

const cookieName = "demo_workbench";
/** The requests of an authorization flow that come with the cookie: all but the phone app's callback. And the host's switch. */
const hops =
  /^\/(?:login\/device|login\/auth\/[^/]+\/api\/[^/]+\/authorize|signin\/|(?:web|portal|browser)\/callback|person\/)/;

/**
 * Records a request of the browser, without its form: forms contain passwords.
 *
 * @type {(workbench: Workbench, exchange: import("./types").Exchange) => Promise<void>}
 */
async function recordHop({ steps }, { req, res }) {
  const { clock, readEvents, shownHeaders } = await import("./public/recorded-fetch.mjs");
  const step = { at: clock(), by: "Browser", method: req.method, url: req.path, sent: { ...req.query } };
  /** @param {string} name */
  const header = (name) => [res.getHeader(name) ?? []].flat().join(", ");
  res.on("finish", () => {
    const headers = Object.fromEntries(shownHeaders.map((name) => [name, header(name)]));
    const events = readEvents(header("demo-event"));
    steps.push({ ...step, until: clock(), status: res.statusCode, headers, body: {}, events });
  });
}

/** @param {{ origin: string, secrets: Record<"web" | "portal" | "machine", string> }} options */
function clientPrograms({ origin, secrets: { web, portal, machine } }) {
  const loading = import("./public/client-program.mjs");
  const loopback = origin.replace("localhost", "127.0.0.1");
  const registrations = [
    { name: "Web Shop", clientId: "web", secret: web, basic: true, redirectUri: `${origin}/web/callback` },
    { name: "Company Portal", clientId: "portal", secret: portal, redirectUri: `${origin}/portal/callback` },
    { name: "Phone App", clientId: "native", redirectUri: `${loopback}/native/callback` },
    { name: "Night Job", clientId: "machine", secret: machine },
  ];
  /** @type {Map<string, Workbench>} */
  const workbenches = new Map();
  /** By `state`. @type {Map<string, import("./types").Run>} */
  const runs = new Map();
  const router = Router();

  /** @param {Request} req */
  const findWorkbench = (req) => workbenches.get(req.cookies[cookieName]);

  /** @type {import("express").RequestHandler} */
  const recordHops = async (req, res, next) => {
    // a script of the page records its own requests
    const isHop = hops.test(req.path) && req.headers["sec-fetch-dest"] !== "empty";
    const workbench = isHop ? findWorkbench(req) : undefined;
    if (workbench) await recordHop(workbench, { req, res });
    next();
  };

  router.get("/", async (req, res, next) => {
    if (!findWorkbench(req)) {
      const { clientProgram } = await loading;
      const id = randomBytes(32).toString("base64url");
      /** @type {Workbench} */
      const workbench = { steps: [], programs: new Map() };
      const record = (/** @type {import("./types").Step} */ step) => void workbench.steps.push(step);
      for (const registration of registrations) {
        workbench.programs.set(registration.clientId, clientProgram({ ...registration, origin, record }));
      }
      workbenches.set(id, workbench);
      res.cookie(cookieName, id, { httpOnly: true, sameSite: "lax", secure: origin.startsWith("https:") });
    }
    next();
  });

  /** The steps since the last request for steps. */
  router.post("/steps", (req, res) => {
    res.json(findWorkbench(req)?.steps.splice(0) ?? []);
  });

  /** What the buttons do with a program. `start` returns the URL that the browser has to go to. */
  router.post("/programs/:clientId/:action", json(), async (req, res) => {
    const { clientId, action } = req.params;
    const choices = req.body ?? {};
    const workbench = findWorkbench(req);
    const program = workbench?.programs.get(clientId);
    if (!workbench || !program) return void res.sendStatus(404);
    if (action !== "start") {
      return void res.json((await program.run(action, choices)) ?? {});
    }
    const { url, request } = await program.newRequest(choices);
    runs.set(request.state, { clientId, workbench, program, request });
    res.json({ url });
  });

  router.get(["/web/callback", "/portal/callback", "/native/callback"], async (req, res) => {
    const [, clientId = ""] = req.path.split("/");
    const answer = new URL(req.originalUrl, origin).searchParams;
    const run = runs.get(answer.get("state") ?? "");
    // the phone app has a separate window without our cookie: there only the state is checked
    const isHere = clientId === "native" || run?.workbench === findWorkbench(req);
    if (run?.clientId === clientId && isHere) {
      runs.delete(run.request.state);
      if (clientId === "native") await recordHop(run.workbench, { req, res });
      const isAnswer = await run.program.takeAnswer(answer, run.request);
      if (isAnswer) return res.redirect(303, `${origin}/back?state=${run.request.state}`);
    }
    const main = html`<p>This answer belongs to no request of this client.</p>`;
    res.status(400).send(page({ title: "Not asked for", main }));
  });
  return { recordHops, router };
}

module.exports = { clientPrograms };
