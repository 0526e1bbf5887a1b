import type { Router } from "express";
import type { Response } from "supertest";
import type { ClientRegistrationAdapter } from "../lib";
import { authorize } from "./browser/authorize";
import { runBlock } from "./sources/doc-block";
import type { TestHost } from "./hosts/host";
import { answerOf, refusal } from "./requests/json-answers";
import { nativeMetadata, register, registrationHost } from "./requests/registration";

const page = "unregistered-clients.md";

/** A host with the limit of the page, behind a proxy. */
function limitedHost(): TestHost {
  const { registrationLimit } = runBlock({ page, heading: "A rate limit" }, {});
  return registrationHost(
    {},
    {
      before: (app) => {
        // as a proxy in front would: each test names its callers
        app.set("trust proxy", 1);
        app.use("/login", registrationLimit as Router);
      },
    },
  );
}

function registerFrom(host: TestHost, address: string): Promise<Response> {
  return register(host, nativeMetadata, { headers: { "X-Forwarded-For": address } });
}

/** A host with the adapter of the page that asks for a token. */
function invitingHost(env: Readonly<Record<string, string>>): TestHost {
  const heading = "Clients that register themselves";
  const { invited } = runBlock({ page, heading, index: 1 }, { process: { env } });
  return registrationHost(invited as ClientRegistrationAdapter);
}

describe("a rate limit in front of the registration endpoint (docs/unregistered-clients.md)", () => {
  it("answers 429 to the twenty-first registration of an address, and says when to come back", async () => {
    const host = limitedHost();
    const statuses: number[] = [];
    for (let count = 0; count < 20; count += 1) statuses.push((await registerFrom(host, "192.0.2.1")).status);
    const refused = await registerFrom(host, "192.0.2.1");
    expect(statuses).toEqual(Array.from({ length: 20 }, () => 201));
    expect(answerOf(refused)).toEqual(refusal(429, "temporarily_unavailable"));
    expect(Number(refused.headers["retry-after"])).toBeGreaterThan(0);
    expect((await registerFrom(host, "192.0.2.2")).status).toBe(201);
    expect((await authorize(host.browser(), { client: "web" })).status).toBe(200);
  });

  it("counts the addresses of one IPv6 network together", async () => {
    const host = limitedHost();
    for (let count = 0; count < 20; count += 1) await registerFrom(host, `2001:db8::${count + 1}`);
    expect((await registerFrom(host, "2001:db8::ffff")).status).toBe(429);
  });

  it.each([
    ["an address", (port: number) => `192.0.2.1:${port}`],
    ["an IPv6 address", (port: number) => `[2001:db8::1]:${port}`],
  ])("counts %s as one, although a proxy adds the port", async (_, from) => {
    const host = limitedHost();
    for (let count = 0; count < 20; count += 1) await registerFrom(host, from(50_000 + count));
    expect((await registerFrom(host, from(60_000))).status).toBe(429);
  });
});

describe("an initial access token (docs/unregistered-clients.md; RFC 7591 §1.2)", () => {
  it.each([
    ["the right one", { Authorization: "Bearer good" }, 201],
    ["a wrong one", { Authorization: "Bearer bad" }, 403],
    ["none", {}, 403],
  ])("with %s", async (_, headers, status) => {
    const host = invitingHost({ REGISTRATION_TOKEN: "good" });
    expect((await register(host, nativeMetadata, { headers })).status).toBe(status);
  });

  it("that the host has forgotten to set stops the start", () => {
    expect(() => invitingHost({})).toThrow("set REGISTRATION_TOKEN");
  });
});
