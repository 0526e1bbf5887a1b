/** The pages for people who sign in a device: one that asks for its code, and the last one. RFC 8628 §3.3, §5.4. */
import type { OAuthErrorCode } from "../protocol/oauth-error";
import type { Say } from "./merge-texts";
import { escapeHtml } from "./page-frame";

/** What the page asks, and where its form goes. */
export interface DevicePageInput {
  /** The URL that the form is posted to. */
  readonly action: string;
  /** The code that the field contains; `undefined` for an empty field. */
  readonly userCode: string | undefined;
  /** True when the code that was sent leads nowhere. */
  readonly isUnknown: boolean;
}

/** What the page that asks for a code shows. Every text is already HTML. */
export interface DevicePage {
  readonly kind: "device";
  readonly title: string;
  /** Says what to type. */
  readonly explanation: string;
  /** Says that the code which was sent leads nowhere; `undefined` before one was sent. */
  readonly problem: string | undefined;
  /** The label of the field. Its name is `user_code`. */
  readonly label: string;
  /** The value of the field. */
  readonly value: string;
  /** The URL that the form must be posted to. */
  readonly action: string;
  /** The label of the button. */
  readonly goOn: string;
}

/** What the last page shows. Every text is already HTML. */
export interface DeviceEndPage {
  readonly kind: "device-end";
  /** Whether the device gets access. */
  readonly outcome: "allowed" | "denied";
  readonly title: string;
  /** What to do now. */
  readonly explanation: string;
}

/** The content of the page that asks for a code. */
export function devicePageContent({ action, userCode, isUnknown }: DevicePageInput, say: Say): DevicePage {
  return {
    kind: "device",
    title: say("deviceTitle"),
    explanation: say("deviceExplanation"),
    problem: isUnknown ? say("deviceCodeUnknown") : undefined,
    label: say("deviceCode"),
    value: escapeHtml(userCode ?? ""),
    action: escapeHtml(action),
    goOn: say("goOn"),
  };
}

/** The content of the last page. `error` is that of a no. */
export function deviceEndContent({ error }: { readonly error?: OAuthErrorCode }, say: Say): DeviceEndPage {
  return error
    ? {
        kind: "device-end",
        outcome: "denied",
        title: say("deviceDeniedTitle"),
        explanation: say("deviceDeniedExplanation"),
      }
    : {
        kind: "device-end",
        outcome: "allowed",
        title: say("deviceAllowedTitle"),
        explanation: say("deviceAllowedExplanation"),
      };
}

/** The `main` element's content of the page that asks for a code. It never sends the code by itself: a link must not do that. */
export function deviceMain({ title, explanation, problem, label, value, action, goOn }: DevicePage): string {
  const [warning, described] =
    problem === undefined
      ? ["", ""]
      : [
          `<div class="warning" id="problem" role="alert"><p>${problem}</p></div>\n`,
          ' aria-invalid="true" aria-describedby="problem"',
        ];
  return `<h1>${title}</h1>
<p>${explanation}</p>
${warning}<form method="post" action="${action}">
<label><span>${label}</span><input type="text" name="user_code" value="${value}" dir="ltr" required autocomplete="off" autocapitalize="characters" spellcheck="false"${described}></label>
<p class="choices"><button class="primary">${goOn}</button></p>
</form>`;
}

/** The `main` element's content of the last page. */
export function deviceEndMain({ title, explanation }: DeviceEndPage): string {
  return `<h1>${title}</h1>\n<p>${explanation}</p>`;
}
