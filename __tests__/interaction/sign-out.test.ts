/** What the host, the browser and the events learn of a sign-out. OpenID Connect RP-Initiated Logout §2, §3. */
import type { Request } from "express";
import type { ClientPlace, RegisteredClient } from "../../lib/clients/client-lookup";
import type { NewEvent } from "../../lib/events/port";
import type { SignOutAnswer, SignOutRequest } from "../../lib/interaction/port";
import { signOutFlow, type SignOutOptions } from "../../lib/interaction/sign-out";
import { sealer } from "../../lib/signing/sealer";
import type { Pages } from "../../lib/pages/pages";
import { parametersFromObject } from "../../lib/protocol/parameters";
import { confidentialRecord, issuerRecord } from "../records/records";

const issuer = issuerRecord();
const ofUs = { iss: issuer.identifier, aud: "web", sub: "alice" };
const client = confidentialRecord({ postLogoutRedirectUris: ["https://web.example/bye"] });
const req = { headers: {}, url: "/" } as Request;

/** The flow of a server with one client, at a host where nobody is signed in, and what it has told. */
function server({
  claims,
  answer = { kind: "signed-out" },
}: { claims?: object; answer?: SignOutAnswer } = {}) {
  const [asked, events, places]: [SignOutRequest[], NewEvent[], ClientPlace[]] = [[], [], []];
  const signOut = (question: SignOutRequest) => {
    asked.push(question);
    return answer;
  };
  const options: SignOutOptions = {
    authMethods: { password: { authenticate: () => ({ kind: "denied" }), signOut } },
    clients: {
      async findRegistered(clientId, place) {
        places.push(place);
        return clientId === client.clientId ? ({ client } as RegisteredClient) : undefined;
      },
    },
    idTokens: { verify: () => claims as Record<string, unknown> | undefined, isOfNoKey: () => false },
    pages: { signedOut: () => "<html>" } as unknown as Pages,
    secrets: ["a secret"],
    emit: (event) => void events.push(event),
  };
  const flow = signOutFlow(options);
  const start = (parameters: Record<string, string>) =>
    flow.start(req, { issuer, parameters: parametersFromObject(parameters) });
  const resume = (ticket: object = {}) =>
    flow.resume(req, {
      issuer,
      sealed: sealer("authmount sign-out", options.secrets).seal({ issuer: issuer.identifier, ...ticket }),
    });
  return { flow, asked, events, places, start, resume };
}

describe("a sign-out", () => {
  it("fetches no document of a client, when it begins or ends: anyone can make the link", async () => {
    const { start, resume, places } = server();
    await start({ client_id: "https://app.example/client.json" });
    await resume({ clientId: "https://app.example/client.json" });
    expect(places.map((place) => [place.issuer, place.mayFetch()])).toEqual([
      [issuer, false],
      [issuer, false],
    ]);
  });

  it("goes on where nobody knows the client that is named", async () => {
    const { start, events } = server();
    expect(await start({ client_id: "nobody" })).toMatchObject({ kind: "redirect" });
    expect(events).toEqual([]);
  });

  it("tells host and events nothing that the request did not say", async () => {
    const { resume, asked, events } = server();
    const page = await resume();
    expect(page).toStrictEqual({ kind: "page", html: "<html>", formTargets: [] });
    expect(asked).toStrictEqual([{ req, uiLocales: undefined }]);
    expect(events).toStrictEqual([{ kind: "signed-out", issuer: issuer.identifier }]);
  });

  it("tells them of client and person where a hint names both", async () => {
    const { resume, asked, events } = server();
    await resume({ clientId: "web", subject: "alice", uiLocales: "de" });
    const ofClient = { clientId: "web", name: "Web Shop", confidential: true };
    expect(asked).toStrictEqual([{ req, client: ofClient, subject: "alice", uiLocales: "de" }]);
    expect(events).toEqual([
      { kind: "signed-out", issuer: issuer.identifier, clientId: "web", subject: "alice" },
    ]);
  });

  it.each<[string, object]>([
    ["several audiences", { ...ofUs, aud: ["web", "other"] }],
    ["no person", { ...ofUs, sub: undefined }],
    ["another issuer", { ...ofUs, iss: "https://other.example" }],
  ])("takes no hint with %s", async (_, claims) => {
    const { start, events } = server({ claims });
    expect(await start({ id_token_hint: "jwt" })).toMatchObject({ kind: "error-page", status: 400 });
    expect(events).toMatchObject([{ kind: "sign-out-refused", code: "logout-hint-not-ours" }]);
  });

  it("takes texts of 1,000 bytes in all", async () => {
    const { start } = server({ claims: ofUs });
    const [post_logout_redirect_uri = ""] = client.postLogoutRedirectUris ?? [];
    const state = "x".repeat(998 - post_logout_redirect_uri.length);
    const fields = { id_token_hint: "jwt", post_logout_redirect_uri, state };
    expect(await start({ ...fields, ui_locales: "de" })).toMatchObject({ kind: "redirect" });
    expect(await start({ ...fields, ui_locales: "deu" })).toMatchObject({ kind: "error-page" });
  });

  it.each<[string, object, RegExp]>([
    ["a key that it does not have", { kind: "signed-out", subject: "alice" }, /signOut returned .*subject/],
    ["no kind that there is", { kind: "denied" }, /signOut returned .*kind/],
    ["no URL of a page", { kind: "interaction", url: "page" }, /signOut returned .*url must be/],
  ])("names the callback that answered with %s", async (_, answer, message) => {
    const { resume, events } = server({ answer: answer as SignOutAnswer });
    expect(await resume()).toMatchObject({ kind: "error-page", status: 500 });
    expect(events).toMatchObject([
      {
        kind: "server-error",
        issuer: issuer.identifier,
        cause: { code: "wrong-answer-of-sign-out", message: expect.stringMatching(message) as string },
      },
    ]);
  });
});
