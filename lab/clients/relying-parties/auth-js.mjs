import { ExpressAuth, getSession } from "@auth/express";
import express from "express";

const { ISSUER, CLIENT_SECRET, SESSION_SECRET, ORIGIN } = process.env;

const provider = {
  id: "partner",
  name: "Partner",
  type: "oidc",
  issuer: ISSUER,
  clientId: "web",
  clientSecret: CLIENT_SECRET,
  checks: ["pkce", "state", "nonce"],
};
const config = {
  providers: [provider],
  secret: SESSION_SECRET,
  trustHost: true,
  callbacks: {
    // people are found by their address here: only one that they have proved
    signIn: ({ profile }) => profile.email_verified === true,
  },
};

const app = express();
app.use("/auth", ExpressAuth(config));
app.get("/", async (req, res) => {
  const session = await getSession(req, config);
  res.json({ name: session?.user.name, email: session?.user.email });
});
app.listen(new URL(ORIGIN).port);
