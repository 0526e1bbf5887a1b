/** Takes the browser to the authorization endpoint and waits until it is back at the client. */

const backAtClient = new BroadcastChannel("playground");
export const delay = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** The query of the URL where the authorization request with this URL ends, found by its `state`. */
function answerTo(url, signal) {
  const state = new URL(url).searchParams.get("state");
  return new Promise((resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason));
    const take = ({ data }) => {
      const answer = new URLSearchParams(data);
      if (answer.get("state") === state) resolve(answer);
    };
    backAtClient.addEventListener("message", take, { signal });
  });
}

/** In a hidden iframe, where no page is shown. */
export async function visitInFrame(url, { signal }) {
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(new Error("The hidden iframe did not respond.")), 10_000);
  const frame = document.createElement("iframe");
  frame.hidden = true;
  frame.title = "Authorization request without a page";
  frame.src = url;
  const answer = answerTo(url, AbortSignal.any([signal, stop.signal]));
  document.body.append(frame);
  return answer.finally(() => {
    clearTimeout(timer);
    frame.remove();
  });
}

/** Beside the picture, so that it can be seen growing. */
export function openWindow(url) {
  const size = `width=460,height=640,left=${window.screenX + 40},top=${window.screenY + 160}`;
  const opened = window.open(url, "authmount-person", `popup,${size}`);
  opened?.focus();
  return opened;
}

/**
 * In a window where the person signs in and decides. `onWait` is called with whether the window is open, and
 * `onMoment` again and again until it has come to its end.
 */
export async function visitInWindow(url, { signal, onWait, onMoment }) {
  const stop = new AbortController();
  const answer = answerTo(url, AbortSignal.any([signal, stop.signal]));
  const opened = openWindow(url);
  onWait(opened !== null);
  for (;;) {
    // the window closes itself just after it has sent the answer
    const wasClosed = opened?.closed;
    const found = await Promise.race([answer, delay(300)]);
    await onMoment();
    if (found) return found;
    if (wasClosed) stop.abort(new Error("The window was closed before the flow was finished."));
  }
}
