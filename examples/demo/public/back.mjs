/** Runs where a window or a hidden iframe ends: hands the answer to the playground, and closes the window. */
new BroadcastChannel("playground").postMessage(location.search);
window.close();
