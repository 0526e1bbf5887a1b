// "A sign-in page on another host" of docs/recipes.md as it is printed, over two hosts: a browser keeps cookies for each.
import express, { type Express, type Request, type Response as Answer } from "express";
import request, { type Response } from "supertest";
import { authorizationParameters } from "./browser/authorization-request";
import { encode } from "./browser/browser";
import { runBlock } from "./sources/doc-block";
import { testHost } from "./hosts/host";
import type { AuthMethod, ConsentAdapter } from "../lib";

const heading = "A sign-in page on another host";
const apps: Record<string, Express> = {};

/** Follows redirects between the two hosts. A cookie goes back to the host that has set it, or to all of its `Domain`. */
function newVisitor() {
  const jar: { readonly host: string; readonly name: string; readonly value: string }[] = [];
  async function go(url: string, form?: Record<string, string>): Promise<Response> {
    const { host, pathname, search } = new URL(url);
    const app = apps[host];
    if (!app) throw new Error(`leads to ${url}`);
    const cookie = jar
      .filter((one) => host === one.host || host.endsWith(`.${one.host}`))
      .map(({ name, value }) => `${name}=${value}`)
      .join("; ");
    const agent = form ? request(app).post(pathname + search) : request(app).get(pathname + search);
    void agent.set({ Host: host, Cookie: cookie, Accept: "text/html" });
    const response = await (form ? agent.type("form").send(encode(form)) : agent);
    for (const line of (response.headers["set-cookie"] as string[] | undefined) ?? []) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      jar.push({ host: /Domain=([^;]+)/.exec(line)?.[1] ?? host, name, value });
    }
    const next: string | undefined = response.headers["location"];
    if (next === undefined || new URL(next, url).host === "web.example") return response;
    return go(new URL(next, url).href);
  }
  return go;
}

const nameIn = ({ headers }: Request): string | undefined => /session=(\w+)/.exec(headers.cookie ?? "")?.[1];

/** What the second block keeps in the database of the host. */
function consentElsewhere() {
  const questions: object[] = [];
  const answers = new Map<string, "yes" | "no">();
  const given = {
    keepQuestion: async (question: object) => String(questions.push(question) - 1),
    async takeAnswer(question: object) {
      const answer = answers.get(JSON.stringify(question));
      answers.delete(JSON.stringify(question));
      return answer;
    },
  };
  const { consent } = runBlock({ heading, index: 1 }, given) as { consent: ConsentAdapter };
  const decide = (id: string, answer: "yes" | "no"): void =>
    void answers.set(JSON.stringify(questions[Number(id)]), answer);
  return { consent, decide };
}

const signIn = async (_: Request, res: Answer): Promise<boolean> => {
  res.setHeader("Set-Cookie", "session=alice; Domain=example.com; Path=/");
  return true;
};

function twoHosts(consent?: { consent: ConsentAdapter; decide: (id: string, answer: "yes" | "no") => void }) {
  const password: AuthMethod = {
    authenticate({ req }) {
      const subject = nameIn(req);
      return subject === undefined
        ? { kind: "interaction", url: "https://accounts.example.com/sign-in" }
        : { kind: "authenticated", subject };
    },
  };
  const host = testHost({
    baseUrl: "https://id.example.com/login",
    authMethods: { password, otp: password, sso: password },
    ...(consent && { consent: consent.consent }),
  });
  const accounts = express();
  accounts.get(
    "/sign-in",
    (req, res) => void res.type("html").send(`<form method="post" action="${req.url}">`),
  );
  runBlock({ heading }, { app: host.app, auth: host.auth, accounts, signIn });
  accounts.get("/allow", (req, res) => {
    const { question, interaction, answer } = req.query as Record<string, string>;
    consent?.decide(question ?? "", answer === "no" ? "no" : "yes");
    res.redirect(303, `https://id.example.com/back?interaction=${interaction}`);
  });
  apps["id.example.com"] = host.app;
  apps["accounts.example.com"] = accounts;
}

async function signedIn(go: ReturnType<typeof newVisitor>): Promise<Response> {
  const fields = { ...authorizationParameters("web"), scope: "orders:read" };
  const page = await go(`https://id.example.com/login/auth/password/api/orders/authorize?${encode(fields)}`);
  const action = /action="([^"]+)"/.exec(page.text)?.[1] ?? "";
  return go(`https://accounts.example.com${action}`, {});
}

it("leads back to the consent page, by the route at baseUrl", async () => {
  twoHosts();
  const page = await signedIn(newVisitor());
  expect(page.status).toBe(200);
  expect(page.text).toContain("<bdi>alice</bdi>");
});

it("takes the no of a consent page on the other host", async () => {
  const elsewhere = consentElsewhere();
  twoHosts({ ...elsewhere, decide: (id) => elsewhere.decide(id, "no") });
  const answered = await signedIn(newVisitor());
  expect(answered.headers["location"]).toContain("error=access_denied");
});

it("leads to a consent page on the other host and back, whose answer decides", async () => {
  twoHosts(consentElsewhere());
  const answered = await signedIn(newVisitor());
  expect(answered.headers["location"]).toMatch(/^https:\/\/web\.example\/callback\?code=/);
});
