/** The diff of docs/openid-connect.md, applied to the program of docs/getting-started.md, which then signs people in to another app. */
import { type ChildProcess, spawn } from "node:child_process";
import { createHash, createPublicKey, type JsonWebKey, randomBytes } from "node:crypto";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import jwt from "jsonwebtoken";
import { buildOnce } from "../servers/build-once";
import { newWebBrowser } from "../servers/example";
import { freePort } from "../servers/server-process";
import { codeBelow } from "../sources/doc-block";

const repository = path.resolve(__dirname, "../..");

/** The program after the change. Each part of it must be found once. */
function changed(program: string, diff: string): string {
  const parts = diff.split(/^@@\n/m).filter((part) => part !== "");
  return parts.reduce((text, part) => {
    const lines = part.trimEnd().split("\n");
    const without = (mark: string): string =>
      lines.flatMap((line) => (line.startsWith(mark) ? [] : [line.slice(1)])).join("\n");
    const [before, after] = [without("+"), without("-")];
    expect(text.split(before)).toHaveLength(2);
    return text.replace(before, () => after);
  }, program);
}

const json = async <T>(response: Response): Promise<T> => (await response.json()) as T;

describe("the change that makes an app an OpenID provider", () => {
  const [program = ""] = codeBelow("getting-started.md", "1. An app with an authorization server");
  const [diff = ""] = codeBelow("openid-connect.md", "Add it", "diff");
  let folder: string;
  let child: ChildProcess;
  let origin: string;

  beforeAll(async () => {
    buildOnce();
    folder = await mkdtemp(path.join(tmpdir(), "authmount-openid-page-"));
    const modules = path.join(folder, "node_modules");
    await mkdir(modules);
    await symlink(repository, path.join(modules, "authmount"), "junction");
    for (const name of ["express", "cookie-parser"])
      await symlink(path.join(repository, "node_modules", name), path.join(modules, name), "junction");
    const port = await freePort();
    origin = `http://localhost:${port}`;
    const code = changed(program, diff).replaceAll(/\b(localhost:|listen\()3000\b/g, `$1${port}`);
    await writeFile(path.join(folder, "server.mjs"), code);
    child = spawn(process.execPath, ["server.mjs"], {
      cwd: folder,
      env: { ...process.env, NODE_ENV: "development" },
    });
    let printed = "";
    await new Promise<void>((resolve, reject) => {
      child.once("close", () => reject(new Error(`the program ended: ${printed}`)));
      for (const output of [child.stdout, child.stderr])
        output?.on("data", (chunk: Buffer) => {
          printed += chunk.toString();
          if (printed.includes(origin)) resolve();
        });
    });
  });
  afterAll(async () => {
    child.kill();
    await rm(folder, { recursive: true, force: true });
  });

  it("is at most 12 lines", () => {
    expect(diff.split("\n").filter((line) => line.startsWith("+")).length).toBeLessThanOrEqual(12);
  });

  it("signs a person in with a relying party that knows the issuer only (OpenID Connect Core §3.1)", async () => {
    const issuer = `${origin}/oauth/auth/account/api/accounts`;
    const metadata = await json<Record<string, string>>(
      await fetch(`${issuer}/.well-known/openid-configuration`),
    );
    const verifier = randomBytes(32).toString("base64url");
    const redirect_uri = "http://localhost:4000/callback";
    const query = new URLSearchParams({
      client_id: "shop",
      response_type: "code",
      redirect_uri,
      scope: "openid profile email",
      nonce: "a nonce",
      code_challenge: createHash("sha256").update(verifier).digest("base64url"),
      code_challenge_method: "S256",
    });
    const browser = newWebBrowser();
    const signIn = await browser.open(
      `${metadata["authorization_endpoint"]}?${query.toString()}`,
      redirect_uri,
    );
    const consent = await browser.submit(signIn, { password: "wonderland" }, redirect_uri);
    expect(consent.text).toContain("Sign you in");
    const { url } = await browser.submit(consent, { decision: "approve" }, redirect_uri);
    const tokens = await json<{ id_token: string; access_token: string }>(
      await fetch(metadata["token_endpoint"] ?? "", {
        method: "POST",
        headers: { authorization: `Basic ${btoa("shop:only-for-trying-it-out")}` },
        body: new URLSearchParams({
          grant_type: "authorization_code",
          code: url.searchParams.get("code") ?? "",
          redirect_uri,
          code_verifier: verifier,
        }),
      }),
    );
    const { keys } = await json<{ keys: (JsonWebKey & { kid: string })[] }>(
      await fetch(metadata["jwks_uri"] ?? ""),
    );
    const { header } = jwt.decode(tokens.id_token, { complete: true }) ?? { header: { kid: "" } };
    const jwk = keys.find(({ kid }) => kid === header.kid) ?? {};
    const claims = jwt.verify(tokens.id_token, createPublicKey({ key: jwk, format: "jwk" }), {
      algorithms: ["RS256"],
      issuer,
      audience: "shop",
      nonce: "a nonce",
    });
    const person = { sub: "alice", name: "alice", email: "alice@example.com", email_verified: true };
    expect(claims).toMatchObject(person);
    const headers = { authorization: `Bearer ${tokens.access_token}` };
    expect(await json(await fetch(metadata["userinfo_endpoint"] ?? "", { headers }))).toEqual(person);
  });
});
