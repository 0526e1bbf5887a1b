/** The recipe of docs/observability.md for OpenTelemetry, with many requests at once, failures and refusals. */
import { AsyncLocalStorage } from "node:async_hooks";
import {
  type Context,
  context,
  type ContextManager,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import type { Express } from "express";
import request from "supertest";
import { memoryStorage } from "../../lib";
import { pairPath } from "../../__tests__/hosts/apis";
import { authorize } from "../../__tests__/browser/authorize";
import { flows } from "../../__tests__/attacks/canary-flows";
import { newWorld } from "../../__tests__/hosts/canary-host";
import { channelsOfTest, unsubscribeAfterEachTest } from "../../__tests__/requests/channels";
import { ownToken, postToken, refresh } from "../../__tests__/requests/client-requests";
import { clients, credentials } from "../../__tests__/hosts/clients";
import { runBlock } from "../../__tests__/sources/doc-block";
import { type TestHost, testHost } from "../../__tests__/hosts/host";
import { callApi, obtainTokens } from "../../__tests__/browser/journey";
import { deepText } from "../../__tests__/requests/marked-secrets";
import { intercept } from "../../__tests__/storage/slow-storage";

const page = "observability.md";
const heading = "OpenTelemetry";
const tokenRoute = "POST /login/auth/:authMethodId/api/:apiId/token";

const exporter = new InMemorySpanExporter();

/** In place of `AsyncLocalStorageContextManager`; what the recipe replaces is missing. */
function bareManager(): ContextManager {
  const manager: ContextManager = {
    active: () => ROOT_CONTEXT,
    with: (_, work, self, ...given) => work.apply(self, given),
    bind: (_, target) => target,
    enable: () => manager,
    disable: () => manager,
  };
  return manager;
}

beforeAll(() => {
  trace.setGlobalTracerProvider(
    new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }),
  );
});

beforeEach(() => {
  const contexts = new AsyncLocalStorage<Context>();
  const { keepContextsIn } = runBlock({ page, heading }, {});
  const keep = keepContextsIn as (store: typeof contexts, manager: ContextManager) => ContextManager;
  context.setGlobalContextManager(keep(contexts, bareManager()));
  const modules = { "node:diagnostics_channel": channelsOfTest };
  const { traceRequests } = runBlock({ page, heading, index: 1, modules }, {});
  (traceRequests as (store: typeof contexts) => void)(contexts);
});

unsubscribeAfterEachTest();
afterEach(() => {
  context.disable();
  exporter.reset();
  jest.restoreAllMocks();
});

afterAll(() => trace.disable());

const tracer = trace.getTracer("the host");

/** As the HTTP instrumentation does: a span around each request of the app. */
function underSpans(app: Express): void {
  app.use((req, res, next) => {
    const span = tracer.startSpan(`server ${req.get("X-Number") ?? ""}`, { kind: SpanKind.SERVER });
    res.once("finish", () => span.end());
    context.with(trace.setSpan(context.active(), span), next);
  });
}

/** A host with such spans, and a span around each query of its database. */
function tracedHost({ broken }: { readonly broken?: string } = {}): TestHost {
  const memory = memoryStorage({ clients: Object.values(clients) });
  const storage = intercept(memory, (name, call) =>
    tracer.startActiveSpan(`query ${name}`, async (span) => {
      await new Promise(setImmediate);
      try {
        if (name === broken) throw new Error("password=s3cret");
        return await call();
      } finally {
        span.end();
      }
    }),
  );
  return testHost({ storage, revocationLagSeconds: 0, before: underSpans });
}

function spans(name: string): readonly ReadableSpan[] {
  return exporter.getFinishedSpans().filter((span) => span.name === name);
}

function parentOf(span: ReadableSpan | undefined): ReadableSpan | undefined {
  const id = span?.parentSpanContext?.spanId;
  return exporter.getFinishedSpans().find((other) => other.spanContext().spanId === id);
}

describe("OpenTelemetry", () => {
  it("gives a token request a span with the names of the semantic conventions", async () => {
    await ownToken(tracedHost(), { client: "web" });
    const [span] = spans(tokenRoute);
    expect(span?.attributes).toEqual({
      "http.request.method": "POST",
      "http.route": "/login/auth/:authMethodId/api/:apiId/token",
      "http.response.status_code": 200,
      "authmount.endpoint": "token",
      "authmount.issuer": "https://host.example/login/auth/password/api/orders",
      "authmount.api": "orders",
    });
    expect([span?.kind, span?.status.code]).toEqual([SpanKind.INTERNAL, SpanStatusCode.UNSET]);
  });

  it("puts the span below that of the host, and queries below it, each in its own trace among 30 requests", async () => {
    const host = tracedHost();
    const numbers = Array.from({ length: 30 }, (_, number) => number);
    const fields = { grant_type: "client_credentials", ...credentials("web") };
    await Promise.all(
      numbers.map((number) =>
        request(host.app)
          .post(`${pairPath()}/token`)
          .set("X-Number", String(number))
          .type("form")
          .send(fields),
      ),
    );
    const own = spans(tokenRoute);
    expect(own).toHaveLength(30);
    expect(new Set(own.map((span) => parentOf(span)?.name))).toEqual(
      new Set(numbers.map((number) => `server ${number}`)),
    );
    const queries = exporter.getFinishedSpans().filter(({ name }) => name.startsWith("query "));
    expect(queries.length).toBeGreaterThan(29);
    const astray = queries.filter((query) => {
      const parent = parentOf(query);
      return parent?.name !== tokenRoute || parent.spanContext().traceId !== query.spanContext().traceId;
    });
    expect(astray.map(({ name }) => name)).toEqual([]);
  });

  it("says what was refused, which is no error of the server", async () => {
    await postToken(tracedHost(), { fields: { ...credentials("web"), grant_type: "password" } });
    const [span] = spans(tokenRoute);
    expect(span?.attributes).toMatchObject({
      "http.response.status_code": 400,
      "authmount.error": "unsupported_grant_type",
    });
    expect(span?.attributes).not.toHaveProperty("error.type");
    expect(span?.status.code).toBe(SpanStatusCode.UNSET);
  });

  it("marks failures of storage as errors, and not with what they said", async () => {
    await ownToken(tracedHost({ broken: "clients.find" }), { client: "web" });
    const [span] = spans(tokenRoute);
    expect(span?.attributes).toMatchObject({
      "http.response.status_code": 500,
      "error.type": "server_error",
    });
    expect(span?.status).toEqual({ code: SpanStatusCode.ERROR });
    expect(span?.events.map(({ name }) => name)).toEqual(["authmount.server-error"]);
    expect(JSON.stringify([span?.attributes, span?.events])).not.toContain("s3cret");
  });

  it("puts the events of a request on its span, with the client", async () => {
    const host = tracedHost();
    const { refresh_token: refreshToken = "" } = await obtainTokens(host, { client: "web" });
    exporter.reset();
    await refresh(host, { client: "web", refreshToken });
    await refresh(host, { client: "web", refreshToken });
    const told = spans(tokenRoute).map(({ events }) =>
      events.map(({ name, attributes }) => [name, attributes?.["authmount.client_id"]]),
    );
    expect(told[0]).toEqual([["authmount.token-refreshed", "web"]]);
    expect(told[1]).toContainEqual(["authmount.replay-detected", "web"]);
  });

  it("ends the span of requireBearer before the route, whose spans are beside it", async () => {
    const host = tracedHost();
    host.app.get("/shop", host.auth.requireBearer({ api: "orders" }), (_req, res) => {
      tracer.startSpan("route").end();
      res.end();
    });
    const { access_token: accessToken } = await obtainTokens(host, { client: "web" });
    exporter.reset();
    await callApi(host, "/shop", accessToken);
    const [check] = spans("requireBearer orders");
    expect(check?.attributes).not.toHaveProperty("http.response.status_code");
    expect(parentOf(check)?.name).toBe("server ");
    expect(parentOf(spans("route")[0])?.name).toBe("server ");
  });

  it("names a method that the conventions do not know as they say", async () => {
    await request(tracedHost().app).propfind(`${pairPath()}/token`);
    const [span] = spans(tokenRoute.replace("POST", "HTTP"));
    expect(span?.attributes).toMatchObject({
      "http.request.method": "_OTHER",
      "http.response.status_code": 405,
    });
  });

  it("has a span for the browser's requests, without their parameters", async () => {
    const host = tracedHost();
    await authorize(host.browser(), { client: "web", fields: { login_hint: "alice@example.org" } });
    const [span] = spans("GET /login/auth/:authMethodId/api/:apiId/authorize");
    expect(span?.attributes).toMatchObject({ "http.response.status_code": 200 });
    expect(JSON.stringify([span?.attributes, span?.events])).not.toContain("alice");
  });

  it.each(Object.entries(flows))("has no secret in a span: %s", async (_, flow) => {
    const world = newWorld({ before: underSpans });
    await flow(world);
    const finished = exporter
      .getFinishedSpans()
      .map(({ name, attributes, events, status }) => ({ name, attributes, events, status }));
    expect(finished.length).toBeGreaterThan(5);
    expect(world.secrets.findIn(deepText(finished))).toEqual([]);
  });
});
