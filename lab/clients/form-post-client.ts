/** A client that is answered by a form. OAuth 2.0 Form Post Response Mode §2. */
import type { Request, Response } from "express";
import helmet from "helmet";
import { htmlPage, startWebHost, type WebHost } from "./chromium";

/** Asks for it. */
export const asForm = { response_mode: "form_post" };

/** What the client's server has got at its redirect URI. */
interface Posted {
  readonly method: string;
  readonly origin: string | undefined;
  readonly referer: string | undefined;
  readonly type: string | undefined;
  readonly fields: Record<string, string>;
}

async function read(req: Request): Promise<Posted> {
  const { origin, referer, "content-type": type } = req.headers;
  let body = "";
  for await (const chunk of req) body += String(chunk);
  return { method: req.method, origin, referer, type, fields: Object.fromEntries(new URLSearchParams(body)) };
}

/** A client that keeps what it gets at `/callback`, and answers as its framework does. */
export async function startClient(
  answer: (res: Response, host: WebHost) => unknown,
): Promise<{ host: WebHost; posted: Posted[] }> {
  const posted: Posted[] = [];
  // WebKit would send the forms of http://localhost to https
  const contentSecurityPolicy = { directives: { upgradeInsecureRequests: null } };
  const host = await startWebHost({ before: (app) => void app.use(helmet({ contentSecurityPolicy })) });
  host.pages.set("/callback", async (req, res) => {
    posted.push(await read(req));
    answer(res, host);
  });
  host.pages.set("/welcome", htmlPage("Welcome", ""));
  return { host, posted };
}
