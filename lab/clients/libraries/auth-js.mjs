import { ExpressAuth, getSession } from "@auth/express";
import express from "express";

const { ISSUER, API, CLIENT_SECRET, SESSION_SECRET, ORIGIN } = process.env;

const provider = {
  id: "orders",
  name: "Orders",
  type: "oauth",
  issuer: ISSUER, // compared with `iss` of the answer (RFC 9207)
  authorization: { url: `${ISSUER}/authorize`, params: { scope: "read" } },
  token: `${ISSUER}/token`,
  userinfo: API, // a route of your API, see below
  clientId: "web",
  clientSecret: CLIENT_SECRET,
  checks: ["pkce", "state"],
  profile({ subject }) {
    // the library also brings the error of an API that fails: it must sign nobody in
    if (typeof subject !== "string") throw new Error("no subject");
    return { id: subject, name: subject };
  },
};
const config = { providers: [provider], secret: SESSION_SECRET, trustHost: true };

const app = express();
app.use("/auth", ExpressAuth(config)); // Express 5; in Express 4 "/auth/*"
app.get("/", async (req, res) => {
  const session = await getSession(req, config);
  res.json({ subject: session?.user.name });
});
app.listen(new URL(ORIGIN).port);
