// People who answer a device, at a real browser: its pages in each language, by keyboard, dark, narrow and from right to left. RFC 8628 §3.3.
import type { BrowserContextOptions, Page } from "playwright-core";
import { deviceGrant } from "../../__tests__/requests/device-requests";
import { webSecret } from "../../__tests__/hosts/clients";
import { describeWith } from "../../__tests__/servers/server-process";
import { builtInTexts } from "../../lib/pages/built-in-texts";
import { accessibilityFindings } from "./accessibility";
import { chromium, closeAll, closeChromium, newContext, signIn, startWebHost, watch } from "./chromium";

afterEach(closeAll);
afterAll(closeChromium);

/** A host whose client has asked as a device. */
async function startDevice() {
  const host = await startWebHost({
    grantTypes: [deviceGrant],
    forSite: () => ({
      apis: {
        orders: {
          audience: "https://api.example/orders",
          authMethods: ["password"],
          scopes: { "orders:read": "See your orders" },
          deviceAuthorization: true,
        },
      },
      rateLimit: () => ({ kind: "allowed" }),
    }),
  });
  const issuer = `${host.origin}/login/auth/password/api/orders`;
  const credentials = { client_id: "web", client_secret: webSecret.secret };
  const post = async (path: string, fields: Record<string, string>): Promise<Record<string, string>> => {
    const body = new URLSearchParams({ ...credentials, ...fields });
    return (await (await fetch(`${issuer}/${path}`, { method: "POST", body })).json()) as never;
  };
  const {
    device_code = "",
    user_code = "",
    verification_uri = "",
  } = await post("device_authorization", {
    scope: "orders:read",
  });
  const poll = (): Promise<Record<string, string>> => post("token", { grant_type: deviceGrant, device_code });
  return { host, userCode: user_code, link: verification_uri, poll };
}

/** Types the code and sends it, by keyboard alone. */
async function typeCode(page: Page, code: string): Promise<void> {
  await page.keyboard.press("Tab");
  await page.keyboard.type(code);
  await page.keyboard.press("Enter");
}

const looks: readonly BrowserContextOptions[] = Object.keys(builtInTexts).map((locale, index) => ({
  locale,
  colorScheme: index % 2 === 0 ? "light" : "dark",
  viewport: { width: index % 2 === 0 ? 1280 : 320, height: 640 },
}));

describeWith(chromium, {
  name: "the pages for a device in Chromium (RFC 8628 §3.3)",
  tests: () => {
    it.each(looks)(
      "have no accessibility violation in $locale, $colorScheme, and lead to the end",
      async (look) => {
        const { userCode, link, poll } = await startDevice();
        const page = await (await newContext(look)).newPage();
        const { complaints } = watch(page);
        const check = async (): Promise<void> => expect(await accessibilityFindings(page)).toEqual([]);
        await page.goto(link);
        await check();
        await typeCode(page, "BBBB-BBBB");
        await page.getByRole("alert").waitFor();
        await check();
        // Tab selects what stands in the field
        await typeCode(page, userCode.toLowerCase().replace("-", " "));
        await signIn(page, "alice");
        await page.getByText(userCode).waitFor();
        await check();
        expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(look.viewport?.width);
        const texts = builtInTexts[look.locale as keyof typeof builtInTexts];
        await page.getByRole("button", { name: texts?.allow ?? "", exact: true }).press("Enter");
        await page.getByRole("heading", { name: texts?.deviceAllowedTitle ?? "" }).waitFor();
        await check();
        expect(await poll()).toMatchObject({ scope: "orders:read" });
        expect(complaints.filter((each) => !each.includes("status of 400"))).toEqual([]);
      },
    );
  },
});
