/** Dovecot, started with the settings of a mail server whose people sign in with access tokens. */
import { existsSync } from "node:fs";
import { copyFile, readFile, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { userInfo } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { freePort, newFolder, runAs, startServer } from "../../__tests__/servers/server-process";

const command = "/usr/sbin/dovecot";

/** What the tests need, and whether it is here. */
export const dovecot = {
  name: "dovecot with IMAP",
  found: [command, "/usr/lib/dovecot/imap"].every((file) => existsSync(file)),
};

/** All of it in one folder, by one person who is not root. */
function configuration(folder: string, port: number): string {
  const name = runAs.uid === undefined ? userInfo().username : "nobody";
  return `
base_dir = ${folder}/run
state_dir = ${folder}/state
log_path = ${folder}/log
listen = 127.0.0.1
protocols = imap
ssl = no
default_internal_user = ${name}
default_internal_group =
default_login_user = ${name}
first_valid_uid = 1
mail_location = maildir:${folder}/mail/%u
auth_mechanisms = oauthbearer xoauth2
auth_failure_delay = 0
passdb {
  driver = oauth2
  mechanisms = oauthbearer xoauth2
  args = ${folder}/oauth2.conf.ext
}
userdb {
  driver = static
  args = uid=${name} gid=${runAs.gid ?? userInfo().gid} home=${folder}
}
service anvil {
  chroot =
  unix_listener anvil-auth-penalty {
    mode = 0
  }
}
service imap-login {
  chroot =
  inet_listener imap {
    port = ${port}
  }
}
`;
}

/** How a mail program says whose token it has. RFC 7628 §3.1; XOAUTH2 is what Google had before. */
const proofs = {
  OAUTHBEARER: (name: string, token: string) => `n,a=${name},\u0001auth=Bearer ${token}\u0001\u0001`,
  XOAUTH2: (name: string, token: string) => `user=${name}\u0001auth=Bearer ${token}\u0001\u0001`,
};

/** A way to sign in to a mail server. */
export type Mechanism = keyof typeof proofs;

/** Who signs in, and how. */
export interface MailSignIn {
  readonly mechanism: Mechanism;
  readonly name: string;
  readonly token: string;
}

/** The server's answer to the sign-in, without the words for people. */
async function signIn(port: number, { mechanism, name, token }: MailSignIn): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  try {
    const proof = Buffer.from(proofs[mechanism](name, token)).toString("base64");
    socket.write(`a AUTHENTICATE ${mechanism} ${proof}\r\n`);
    for await (const line of createInterface({ input: socket })) {
      // it says what is wrong, and wants to hear an empty answer
      if (line.startsWith("+")) socket.write("AQ==\r\n");
      if (line.startsWith("a ")) return /^a (OK|NO \[\w+\])/.exec(line)?.[1] ?? line;
    }
    throw new Error("Dovecot has closed the connection");
  } finally {
    socket.destroy();
  }
}

/** Starts it. The settings of its OAuth driver find `env` in their `${…}`. */
export async function startDovecot(
  file: string,
  env: Readonly<Record<string, string>>,
): Promise<{ signIn(as: MailSignIn): Promise<string>; stop(): Promise<void> }> {
  const folder = await newFolder("dovecot");
  // others may not read the files of the test
  const authorities = path.join(folder, "ca.pem");
  await copyFile(env["SSL_CERT_FILE"] ?? "", authorities);
  const known: Readonly<Record<string, string>> = { ...env, SSL_CERT_FILE: authorities };
  const settings = await readFile(file, "utf8");
  const filled = settings.replaceAll(/\$\{(\w+)\}/g, (_, name: string) => known[name] ?? "");
  await writeFile(path.join(folder, "oauth2.conf.ext"), filled);
  const port = await freePort();
  const whole = path.join(folder, "dovecot.conf");
  await writeFile(whole, configuration(folder, port));
  const server = await startServer({
    command,
    args: ["-F", "-c", whole],
    folder,
    isReady: () =>
      new Promise((resolve) => {
        const socket = connect(port, "127.0.0.1");
        socket.once("error", () => resolve(false));
        socket.once("data", () => resolve(socket.destroy().destroyed));
      }),
  });
  return {
    signIn: (as) => signIn(port, as),
    async stop() {
      await server.stop("SIGTERM");
      await server.close();
    },
  };
}
