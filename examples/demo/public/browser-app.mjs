/** The browser app: a public client in this page. Its tokens live as long as the page. */
import { clientProgram } from "./client-program.mjs";
import { addSteps } from "./steps.mjs";

const callbackPath = "/browser/callback";
const program = clientProgram({
  name: "Browser App",
  clientId: "browser",
  redirectUri: location.origin + callbackPath,
  origin: location.origin,
  record: (step) => addSteps([step]),
});

/** The query of the URL where a hidden iframe ends up. Because of `prompt=none` it always gets there without a page. */
function answerOfFrame(url) {
  const frame = document.createElement("iframe");
  frame.hidden = true;
  frame.title = "Silent refresh";
  return new Promise((resolve, reject) => {
    const timeUp = AbortSignal.timeout(10_000);
    timeUp.addEventListener("abort", () => reject(new Error("The iframe gave no answer.")));
    window.addEventListener(
      "message",
      ({ source, origin, data }) => {
        if (source === frame.contentWindow && origin === location.origin) resolve(new URLSearchParams(data));
      },
      { signal: timeUp },
    );
    frame.src = url;
    document.body.append(frame);
  }).finally(() => frame.remove());
}

async function take(answer, request) {
  if (!(await program.takeAnswer(answer, request))) throw new Error("The answer belongs to no request.");
}

export const browserApp = {
  run: (action, choices) => program.run(action, choices),
  /** The request must outlive the redirect, so it waits in sessionStorage. */
  async requestUrl(choices) {
    const { url, request } = await program.newRequest(choices);
    sessionStorage.setItem("request", JSON.stringify(request));
    return url;
  },
  /** Handles the answer if this page was loaded as the redirect URI. */
  async finish() {
    if (location.pathname !== callbackPath) return;
    const request = JSON.parse(sessionStorage.getItem("request") ?? "{}");
    const answer = new URLSearchParams(location.search);
    sessionStorage.removeItem("request");
    history.replaceState(null, "", "/");
    await take(answer, request);
  },
  async silentRefresh(choices) {
    const { url, request } = await program.newRequest({ ...choices, prompt: "none" });
    await take(await answerOfFrame(url), request);
  },
};
