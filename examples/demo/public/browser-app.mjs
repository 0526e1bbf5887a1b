/** The browser app: a public client in this page. Its tokens live as long as the page. */
import { clientProgram } from "./client-program.mjs";
import { addSteps } from "./happened.mjs";

const program = clientProgram({
  name: "Browser App",
  clientId: "browser",
  redirectUri: `${location.origin}/browser/callback`,
  origin: location.origin,
  record: (step) => addSteps([step]),
});

export const browserApp = {
  run: (action, choices) => program.run(action, choices),
  /** The request stays here while a window or an iframe fetches its answer. */
  async newRequest(choices) {
    const { url, request } = await program.newRequest(choices);
    const take = async (answer) => {
      if (!(await program.takeAnswer(answer, request))) throw new Error("The answer belongs to no request.");
    };
    return { url, take };
  },
};
