/** Where the hidden iframe ends up: hands the answer to the page around it, if that is ours. */
window.parent.postMessage(location.search, location.origin);
