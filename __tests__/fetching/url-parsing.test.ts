// Found by lab/fuzz/fetched-documents.test.ts: once V8 has compiled its caller, URL.canParse of Node 20 reads the bytes of a
// Latin-1 text as UTF-8. It then takes URLs that `new URL` refuses.
import { isClientLink } from "../../lib/clients/client-record";
import { isFetchableUrl } from "../../lib/fetching/fetchable-url";

const strange = [
  "https://1\u00d5\u008a",
  "https:\u00d1\u008b1",
  "https:/\u00c6\u0087e/x",
  "https://1\u00c6\u0092.",
];
const often = 100_000;

describe("a URL that looks good as UTF-8 and is bad as text (WHATWG URL §4.4)", () => {
  it("is not fetched, however often it is asked for", () => {
    for (let time = 0; time < often; time += 1) {
      const url = strange[time % strange.length] ?? "";
      if (isFetchableUrl(url, { insecureLoopback: false })) throw new Error(`${time}: ${encodeURI(url)}`);
    }
  });

  it("is no link of a client, however often it is named", () => {
    for (let time = 0; time < often; time += 1) {
      const url = strange[time % strange.length] ?? "";
      if (isClientLink(url)) throw new Error(`${time}: ${encodeURI(url)}`);
    }
  });
});
