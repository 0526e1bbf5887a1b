import { type OpenTrace, tracedRequests, traceRequest, whileTraced } from "../../lib/http/request-trace";
import { hearAnswers, hearRequests, unsubscribeAfterEachTest } from "../requests/channels";

unsubscribeAfterEachTest();

const begin = (): OpenTrace => ({ endpoint: "token", method: "POST" });

describe("watching requests", () => {
  it("is noticed while somebody has subscribed", () => {
    expect(tracedRequests.hasSubscribers).toBe(false);
    hearRequests("start", () => undefined);
    expect(tracedRequests.hasSubscribers).toBe(true);
  });

  it("gives what the work has given, and tells nobody of it", async () => {
    const answers = hearAnswers();
    const trace = begin();
    expect(await traceRequest(trace, async () => "the work's own")).toBe("the work's own");
    expect(answers).toEqual([trace]);
    expect(answers[0]).not.toHaveProperty("result", expect.anything());
  });

  it("rejects with what the work has thrown", async () => {
    hearAnswers();
    const failing = traceRequest(begin(), () => Promise.reject(new Error("of the work")));
    await expect(failing).rejects.toThrow("of the work");
  });

  it("gives the work a trace to complete, and none while nobody watches", async () => {
    const unwatched = await whileTraced(begin(), async (trace) => trace);
    const answers = hearAnswers();
    const watched = await whileTraced(begin(), async (trace) => trace);
    expect(unwatched).toBeUndefined();
    expect(answers[0]).toBe(watched);
  });
});
