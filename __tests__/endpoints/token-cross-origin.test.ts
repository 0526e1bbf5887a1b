import request from "supertest";
import { type ClientStore, memoryStorage } from "../../lib";
import { pairPath } from "../hosts/apis";
import { codeVerifier } from "../browser/authorization-request";
import { authorize } from "../browser/authorize";
import { encode } from "../browser/browser";
import { stopClockForEachTest } from "../hosts/clock";
import { testHost } from "../hosts/host";
import { obtainCode } from "../browser/journey";
import { corsHeaders, formType, preflight } from "../requests/json-answers";
import { clientCredentials, maxFormBytes, postTokenText, tokenPath } from "../requests/token-requests";

stopClockForEachTest();

const registered = "https://spa.example";

describe("preflights of the token endpoint (Fetch standard, RFC 9700 §2.6)", () => {
  const others = [
    "https://evil.example",
    "https://spa.example.evil.example",
    "https://spa.example:8443",
    "http://spa.example",
    "https://SPA.example",
    "https://spa.example/",
    "https://web.example",
    "https://phone.example",
    "null",
  ];

  it("answers the preflight of a browser client's origin, without credentials", async () => {
    const response = await preflight(testHost(), tokenPath, registered);
    expect(response.status).toBe(204);
    expect(response.headers).toMatchObject({
      "access-control-allow-origin": registered,
      "access-control-allow-methods": "POST",
      "access-control-allow-headers": "content-type",
      "access-control-max-age": "600",
      vary: "Origin",
    });
    expect(response.headers["access-control-allow-credentials"]).toBeUndefined();
  });

  it("allows the headers that the script asks for, such as those of Swagger UI", async () => {
    const response = await request(testHost().app).options(tokenPath).set({
      Origin: registered,
      "Access-Control-Request-Method": "POST",
      "Access-Control-Request-Headers": "authorization,x-requested-with",
    });
    expect(response.headers["access-control-allow-headers"]).toBe("authorization,x-requested-with");
    expect(response.headers["access-control-allow-credentials"]).toBeUndefined();
  });

  it.each(others)("allows %s nothing", async (origin) => {
    const host = testHost();
    const asked = await preflight(host, tokenPath, origin);
    expect(asked.status).toBe(204);
    expect(asked.headers["vary"]).toBe("Origin");
    expect(corsHeaders(asked)).toEqual([]);
    const posted = await postTokenText(host, clientCredentials, { Origin: origin });
    expect(posted.status).toBe(200);
    expect(posted.headers["vary"]).toBe("Origin");
    expect(corsHeaders(posted)).toEqual([]);
  });

  it("varies by origin even where none was sent", async () => {
    const response = await postTokenText(testHost(), clientCredentials);
    expect(response.headers["vary"]).toBe("Origin");
    expect(corsHeaders(response)).toEqual([]);
  });
});

describe("cross-origin requests (Fetch standard, RFC 9700 §2.6)", () => {
  it("lets a browser client read its tokens", async () => {
    const host = testHost();
    const code = await obtainCode(host, { client: "spa" });
    const fields = { grant_type: "authorization_code", client_id: "spa", code, code_verifier: codeVerifier };
    const response = await postTokenText(host, encode(fields), { Origin: registered });
    expect(response.status).toBe(200);
    expect(response.headers["access-control-allow-origin"]).toBe(registered);
    expect(corsHeaders(response)).toEqual(["access-control-allow-origin", "access-control-expose-headers"]);
    expect(response.headers["vary"]).toBe("Origin");
  });

  it.each([
    ["a refusal", "", formType, 400],
    ["a wrong media type", "{}", "application/json", 400],
    ["a body that is too large", "x".repeat(maxFormBytes + 1), formType, 413],
  ])("lets a browser client read %s", async (_, body, type, status) => {
    const response = await postTokenText(testHost(), body, { Origin: registered, "Content-Type": type });
    expect(response.status).toBe(status);
    const readers = response.headers["access-control-allow-origin"] as unknown;
    // what was said before the origin was looked up may be read by everybody
    expect(["*", registered]).toContain(readers);
  });

  it("allows origins that the host's client table lists", async () => {
    const store: ClientStore = {
      find: async () => undefined,
      isBrowserOrigin: async (origin) => origin === "https://listed.example",
    };
    const host = testHost({ storage: { ...memoryStorage({ clients: [] }), clients: store } });
    const listed = await preflight(host, tokenPath, "https://listed.example");
    expect(listed.headers["access-control-allow-origin"]).toBe("https://listed.example");
    expect(corsHeaders(await preflight(host, tokenPath, registered))).toEqual([]);
  });

  it("allows no script to read the authorization endpoint", async () => {
    const host = testHost();
    const headers = { Origin: registered };
    const authorizePath = `${pairPath()}/authorize`;
    const redirected = await obtainCode(host, { client: "spa" }).then(() =>
      authorize(host.browser(), { client: "spa" }),
    );
    expect(redirected.status).toBe(302);
    const answers = [
      redirected,
      await request(host.app).get(authorizePath).set(headers),
      await request(host.app).options(authorizePath).set(headers),
      await request(host.app).get(`${authorizePath}/resume`).set(headers),
      await request(host.app).post(`${authorizePath}/consent`).set(headers).type("form").send("a=b"),
      await request(host.app).options(`${authorizePath}/consent`).set(headers),
    ];
    expect(answers.map(({ status }) => status)).toEqual([302, 400, 405, 400, 400, 405]);
    expect(answers.flatMap(corsHeaders)).toEqual([]);
  });

  it.each(["https://evil.example", undefined])(
    "lets every script, such as of %s, read the documents at the root (RFC 9728 §3)",
    async (origin) => {
      const response = await request(testHost().app)
        .get("/.well-known/oauth-protected-resource/orders")
        .set(origin === undefined ? {} : { Origin: origin });
      expect(response.status).toBe(200);
      expect(response.headers["access-control-allow-origin"]).toBe("*");
      expect(corsHeaders(response)).toEqual(["access-control-allow-origin"]);
    },
  );
});
