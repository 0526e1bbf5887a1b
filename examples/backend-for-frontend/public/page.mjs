/** The page: it knows no token, and talks to its own backend only. */
const find = (id) => document.querySelector(`#${id}`);

/** The header proves that a script of this origin asks; the backend refuses all else. */
const ask = (path, method = "GET") =>
  fetch(path, { method, headers: { "X-Order-Desk": "1" }, cache: "no-store" });

const reasons = {
  "not-asked": "This sign-in wasn’t started in this browser. ",
  refused: "Not signed in. ",
  failed: "Something went wrong. ",
};

let loads = 0;

function show({ status, orders = "", signedIn }) {
  find("status").textContent = status;
  find("orders").textContent = orders;
  find("sign-in").hidden = signedIn;
  find("load").hidden = find("sign-out").hidden = !signedIn;
}

async function load() {
  const answer = await ask("/api/orders");
  if (answer.status === 401) return show({ status: "Please sign in.", signedIn: false });
  if (!answer.ok) return show({ status: "Something went wrong. Try again.", signedIn: true });
  loads += 1;
  show({ status: `Signed in. Loaded ${loads}.`, orders: await answer.text(), signedIn: true });
}

async function signOut() {
  const { revoked } = await (await ask("/session", "DELETE")).json();
  const status = revoked
    ? "You are signed out."
    : "You are signed out here, but the authorization server couldn’t be reached.";
  show({ status, signedIn: false });
}

async function start() {
  const failed = reasons[new URLSearchParams(location.search).get("sign-in")] ?? "";
  const { signedIn } = await (await ask("/session")).json();
  if (signedIn) return load();
  show({ status: `${failed}Please sign in.`, signedIn: false });
}

const report = () => show({ status: "Something went wrong. Reload the page.", signedIn: false });
find("load").addEventListener("click", () => load().catch(report));
find("sign-out").addEventListener("click", () => signOut().catch(report));

await start().catch(report);
