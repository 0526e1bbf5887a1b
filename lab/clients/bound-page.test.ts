// The attacker takes access tokens out of a page, which are bound to a key that stays there. They did not get an answer. RFC 9449
// §7.1, §11.4.
import path from "node:path";
import { describeWith } from "../../__tests__/servers/server-process";
import { chromium, closeAll, closeChromium } from "./chromium";
import { callInPage, comeBackToPage, openBrowserClient } from "./library-page";

interface Bound {
  readonly access_token: string;
  readonly token_type: string;
}

const alice = { email: "alice@example.org" };
const program = path.join(__dirname, "bound-page.mjs");

describeWith(chromium, {
  name: "oidc-client-ts in Chromium, with tokens bound to a key that can't be exported",
  tests() {
    afterEach(closeAll);
    afterAll(closeChromium);

    it("gets a bound token, renews it in an iframe, and is the only one who can use it", async () => {
      const opened = await openBrowserClient(program, { claims: () => alice }, {});
      const { host, page } = opened;
      const { href } = await comeBackToPage(opened);
      const issuer = `${host.origin}/login/auth/password/api/orders`;
      const first = (await callInPage(page, `finish(${JSON.stringify(href)})`)) as unknown as Bound;
      const next = (await callInPage(page, "renew()")) as unknown as Bound;
      expect([first.token_type, next.token_type, next.access_token === first.access_token]).toEqual([
        "DPoP",
        "DPoP",
        false,
      ]);
      expect(await callInPage(page, "userinfo()")).toMatchObject({
        status: 200,
        body: alice,
      });
      for (const { access_token: token } of [first, next])
        for (const scheme of ["Bearer", "DPoP"]) {
          const answer = await fetch(`${issuer}/userinfo`, {
            headers: { Authorization: `${scheme} ${token}` },
          });
          expect([scheme, answer.status]).toEqual([scheme, 401]);
        }
      expect(await callInPage(page, "exportKey()")).toBe("InvalidAccessError");
    });
  },
});
