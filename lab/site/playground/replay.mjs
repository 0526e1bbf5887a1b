/** Stands in for public/play.mjs of the demo where there is no server: plays what record.mjs has written down. */
import { addSteps, toldStories } from "./happened.mjs";

const recorded = "http://localhost:3999";
const read = globalThis.fetch;

const isCalm = matchMedia("(prefers-reduced-motion: reduce)").matches;
const pause = () => new Promise((resolve) => setTimeout(resolve, isCalm ? 0 : 300));

const readText = async (file) => (await read(`recorded/${file}.json`)).text();

/** The page only asks which pairs are valid. */
globalThis.fetch = async (path) => {
  const metadata = await readText(path.split("/").at(-1));
  return new Response(metadata.replaceAll(recorded, location.origin));
};

/** Nobody is signed in, and nothing is sent. */
export const post = () => Promise.resolve({});

export async function play({ choices: { clientId, method, api }, signal }) {
  const stories = toldStories();
  const file = [...stories.map(({ name }) => name), clientId, method, api].join(".");
  if (!JSON.parse(await readText("files")).includes(file))
    throw new Error("This is a recording, and it ends here. Run the flow to continue from it.");
  const told = JSON.parse(await readText(file));
  // what a story continues is of the same recording, with the same tokens
  for (const [index, steps] of told.slice(0, -1).entries()) stories[index].steps = steps;
  for (const step of told.at(-1)) {
    await pause();
    signal.throwIfAborted();
    addSteps([step]);
  }
}
