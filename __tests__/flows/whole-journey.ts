/** A journey by a browser, to an app that the router is mounted in somehow. */
import express, { type Express } from "express";
import request, { type Response } from "supertest";
import { origin } from "../hosts/apis";
import { authorizationParameters, codeVerifier } from "../browser/authorization-request";
import { redirectParameters } from "../browser/authorize";
import { encode, formFields, localPath, newBrowser } from "../browser/browser";
import { credentials } from "../hosts/clients";
import { signedIn, signedOut, type TestHost } from "../hosts/host";

/** The path of password and orders below the mount point. */
export const pairBelowMount = "/auth/password/api/orders";

/** Headers of a request. */
export type Headers = Readonly<Record<string, string>>;

/** What `travel` has met. */
export interface Journey {
  /** Every answer on the way. */
  readonly answers: readonly Response[];
  readonly iss: string | undefined;
  /** What the API route saw. */
  readonly seen: unknown;
}

/** From the sign-in page to an API call, by a browser that is sent to the host's sign-in page first. */
export async function travel(
  host: TestHost,
  { app = host.app, path, headers = {} }: { app?: Express; path: string; headers?: Headers },
): Promise<Journey> {
  const browser = newBrowser(app);
  const answers: Response[] = [];
  const keep = (response: Response): Response => {
    answers.push(response);
    return response;
  };
  const visit = (response: Response): Promise<Response> =>
    browser.get(localPath(response.headers["location"] as string), {}, headers);

  host.session = signedOut;
  const sentToSignIn = keep(
    await browser.get(`${path}${pairBelowMount}/authorize`, authorizationParameters("web"), headers),
  );
  const signIn = new URL(sentToSignIn.headers["location"] as string, origin);
  const interaction = signIn.searchParams.get("interaction") ?? "";
  keep(await browser.get(signIn.pathname, { interaction }, headers));
  host.session = signedIn;
  const sentBack = keep(await browser.get("/signed-in", { interaction }, headers));
  const page = keep(await visit(sentBack));
  const form = { ...formFields(page.text), decision: "approve" };
  const sentToClient = keep(await browser.post(`${path}${pairBelowMount}/authorize/consent`, form, headers));
  const { code = "", iss } = redirectParameters(sentToClient);
  const redemption = {
    grant_type: "authorization_code",
    ...credentials("web"),
    code,
    code_verifier: codeVerifier,
  };
  const tokens = keep(
    await request(app)
      .post(`${path}${pairBelowMount}/token`)
      .set(headers)
      .type("form")
      .send(encode(redemption)),
  );
  const { access_token } = tokens.body as { access_token: string };
  const call = keep(
    await request(app)
      .get("/orders")
      .set({ ...headers, Authorization: `Bearer ${access_token}` }),
  );
  keep(await request(app).get("/orders").set(headers));
  keep(await request(app).get("/.well-known/oauth-protected-resource/orders").set(headers));
  return { answers, iss, seen: call.body as unknown };
}

/** The statuses of a journey where everything goes well. */
export const wholeJourney = [302, 200, 302, 200, 303, 200, 200, 401, 200];

/** The pages that `travel` goes by. Left out of the host's, as a body parser ahead may take their form. */
export function addPages(host: TestHost, app: Express): void {
  app.get("/signin", async (req, res) => void res.json(await host.auth.interaction(req)));
  app.get("/signed-in", (req, res) => host.auth.resume(req, res));
}

/** Another app of the host with the same server in it; the router is mounted by `mount`. */
export function otherApp(host: TestHost, mount: (app: Express) => void, app: Express = express()): Express {
  mount(app);
  app.use(host.auth.wellKnown);
  addPages(host, app);
  app.get("/orders", host.auth.requireBearer({ api: "orders" }), (req, res) => void res.json(req.auth));
  app.use((req, res) => void res.status(418).json({ host: req.originalUrl }));
  return app;
}
