/** The page: two buttons and the answer of the API. */
import { finishSignIn, readOrders, signIn } from "./client.mjs";

const find = (id) => document.querySelector(`#${id}`);
let loads = 0;

async function show() {
  const orders = await readOrders();
  loads += 1;
  find("status").textContent = orders ? `Signed in. Loaded ${loads}.` : "Please sign in.";
  find("orders").textContent = orders ?? "";
  find("sign-in").hidden = orders !== undefined;
  find("load").hidden = orders === undefined;
}

function report(error) {
  find("status").textContent = `Something went wrong: ${error.error ?? error.message}`;
  find("sign-in").hidden = false;
}

find("sign-in").addEventListener("click", () => signIn().catch(report));
find("load").addEventListener("click", () => show().catch(report));

// a reloaded page has lost its token, and gets another one without asking the person
await finishSignIn().then(show).catch(report);
