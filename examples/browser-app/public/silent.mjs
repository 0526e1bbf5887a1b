/** The hidden iframe ends up here. Passes the answer to the page around it, if that page has the same origin. */
window.parent.postMessage(location.search, location.origin);
