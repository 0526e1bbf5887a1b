/** Why a step was refused: the error that the client gets, and the reason that only the host gets. */

const inLocation = ({ location: target }) =>
  Object.fromEntries(new URL(target || "/", location.href).searchParams);

/** `undefined` for a step that was not refused. */
export function refusalOf({ status, sent, headers, body, events }) {
  const told = [body, inLocation(headers), sent].find(({ error }) => error);
  if (!told && status < 400) return undefined;
  const event = events.find(({ reason }) => reason);
  return {
    error: told?.error ?? event?.error,
    error_description: told?.error_description ?? body.page,
    "reason (host's event)": event?.reason,
  };
}

/** The end of a story in a sentence. */
export function summaryOf(steps) {
  const count = steps.length === 1 ? "1 step" : `${steps.length} steps`;
  const refusals = steps.flatMap((step, index) => {
    const refusal = refusalOf(step);
    return refusal ? [`step ${index + 1} (${refusal.error ?? step.status})`] : [];
  });
  return refusals.length === 0 ? `${count}, none refused.` : `${count}. Refused: ${refusals.join(", ")}.`;
}
