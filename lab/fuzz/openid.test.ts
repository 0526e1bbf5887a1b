// Bent requests of relying parties: for sign-ins, to userinfo, and to the logout endpoint. CONTRIBUTING.md says how to send more of them.
import { fuzzConnection, valuesOf } from "./fuzz-connection";
import { openidHost, openidRequests } from "./fuzz-openid";
import { wireOf } from "./fuzz-requests";
import { fuzz, hearTroubles, wish } from "./fuzz-run";

hearTroubles();

describe(`bent requests of relying parties, seed ${wish.seed}`, () => {
  it("are good before they are bent", async () => {
    const fuzzed = await openidHost();
    const connection = fuzzConnection(fuzzed.server);
    const seen: Record<string, string> = {};
    for (const [name, requests] of Object.entries(openidRequests)) {
      const answers: string[] = [];
      for (const request of requests) {
        const bytes = wireOf(request, (text) => fuzzed.fill(text, 0));
        const answer = await connection.exchange(bytes);
        expect(answer && (await fuzzed.offenceOf?.(bytes, answer))).toBeUndefined();
        const [location = ""] = answer ? valuesOf(answer, "location") : [];
        const [, what = ""] = /[?&/](code|error=\w+|signin|sign-out|resume)\b/.exec(location) ?? [];
        answers.push(`${answer?.status} ${what}`.trim());
      }
      seen[name] = answers.join(", ");
    }
    connection.close();
    await fuzzed.close();
    const [led, refused] = ["302 resume, 302 resume, 303 resume", "400, 400, 400"];
    const signOuts = [led, led, led, refused, led, refused, refused, "302 sign-out, 302, 303 resume"];
    expect(seen).toEqual({
      // the second token of a form is not read where no body parser has run
      userinfo: "200, 401, 401, 401, 401, 200, 401, 401, 200, 401, 401, 401, 401, 200",
      "the logout endpoint": signOuts.join(", "),
      "the endpoint for pushed requests": "201, 201, 400, 400, 302 code, 302 signin, 400",
      "authorize for a sign-in":
        "302 code, 302 code, 302 error=login_required, 302 error=invalid_request, 302 error=invalid_request, 303, 302 code",
    });
  });

  it.each(Object.entries(openidRequests))(
    "to %s break no rule, and change nothing",
    async (name, requests) => {
      const { inputs } = await fuzz({ name, requests, open: async () => [await openidHost()] });
      expect(inputs).toBeGreaterThan(0);
    },
  );
});
