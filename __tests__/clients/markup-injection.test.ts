/** The `html` of the examples' pages: what it has not made itself is text, never markup. */
import * as demo from "../../examples/demo/page";
import * as ownSignIn from "../../examples/own-sign-in/page";

const script = "<script>alert(1)</script>";

/** What a JSON body, a query parser or a database can bring in place of a text. */
const bodies = [
  { html: script },
  { text: script },
  { html: script, text: script, made: true },
  [{ html: script }],
  [script],
  { toString: 1 },
  JSON.parse(`{ "__proto__": { "html": "${script}", "text": "${script}" } }`) as object,
  script,
];

const modules = Object.entries({ demo, "own-sign-in": ownSignIn });

describe.each(modules)(
  "examples/%s/page.js is given an object in place of a text (injection)",
  (_, { html }) => {
    // the types refuse it; the JSON of a request has none
    const write = html as unknown as (strings: TemplateStringsArray, ...values: unknown[]) => object;

    it.each(bodies.map((body) => [JSON.stringify(body), body]))("%s: no markup", (_json, body) => {
      const written = Object.values(write`<p>${body}</p>`).join("");
      expect(written).toMatch(/^<p>.*<\/p>$/);
      expect(written).not.toContain("<script");
    });

    it("takes what it has made itself as markup, and copies of it as nothing", () => {
      const made = write`<b>bold</b>`;
      expect(Object.values(write`<p>${made}</p>`)).toEqual(["<p><b>bold</b></p>"]);
      expect(Object.values(write`<p>${{ ...made }}</p>`)).toEqual(["<p></p>"]);
    });
  },
);
