/** The address of the page names the story and what was chosen for it, so that people can link to it. */
import { readChoices } from "./choices.mjs";

/** `#story=run&clientId=web&method=password&api=orders` */
export function nameStory(story) {
  const { clientId, method, api } = readChoices();
  const query = new URLSearchParams({ story, clientId, method, api });
  history.replaceState(null, "", `#${query.toString()}`);
}

export const forgetName = () => history.replaceState(null, "", location.pathname);

/** What the address names: a `story`, if there is one, and choices. */
export const namedStory = () => Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
