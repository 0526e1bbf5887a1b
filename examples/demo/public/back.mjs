/** Runs where a window or a hidden iframe ends: hands the answer to the playground, and closes the window. */
// a channel has no target: only pages of this origin hear it
// oxlint-disable-next-line unicorn/require-post-message-target-origin
new BroadcastChannel("playground").postMessage(location.search);
window.close();
