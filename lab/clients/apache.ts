/** Apache with mod_auth_openidc, started with the settings of a relying party. */
import { existsSync } from "node:fs";
import { copyFile, mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { newFolder, startServer } from "../../__tests__/servers/server-process";

const command = "/usr/sbin/apache2";
const modules = "/usr/lib/apache2/modules";
const loaded = [
  "mpm_event",
  "authn_core",
  "authz_core",
  "authz_user",
  "auth_openidc",
  "dir",
  "env",
  "include",
];

/** What the tests need, and whether it is here. */
export const apache = {
  name: "apache2 with mod_auth_openidc",
  found: [command, `${modules}/mod_auth_openidc.so`].every((file) => existsSync(file)),
};

/** The page says who is signed in. */
const page = `<!--#if expr="-n reqenv('REMOTE_USER')" -->{"name":"<!--#echo var="OIDC_CLAIM_name" -->","email":"<!--#echo var="OIDC_CLAIM_email" -->"}<!--#else -->{}<!--#endif -->`;

function configuration(folder: string, { port, file }: { port: string; file: string }): string {
  return [
    ...loaded.map((name) => `LoadModule ${name}_module ${modules}/mod_${name}.so`),
    `ServerName localhost:${port}`,
    `Listen 127.0.0.1:${port}`,
    `PidFile ${folder}/pid`,
    `Mutex file:${folder}`,
    `ErrorLog ${folder}/error.log`,
    `DocumentRoot ${folder}/pages`,
    "DirectoryIndex front",
    `<Directory ${folder}/pages>`,
    "Options +Includes",
    "SetOutputFilter INCLUDES",
    "</Directory>",
    `Include ${file}`,
    "",
  ].join("\n");
}

/** Starts it at the port of `env.ORIGIN`. The settings find `env` in their `${…}`. */
export async function startApache(
  file: string,
  env: Readonly<Record<string, string>>,
): Promise<{ stop(): Promise<void> }> {
  const folder = await newFolder("apache");
  const origin = new URL(env["ORIGIN"] ?? "");
  // it does not run as root, and others may not read the files of the test
  const authorities = path.join(folder, "ca.pem");
  await copyFile(env["SSL_CERT_FILE"] ?? "", authorities);
  const settings = path.join(folder, "relying-party.conf");
  await copyFile(file, settings);
  await mkdir(path.join(folder, "pages"));
  for (const name of ["front", "sign-in"]) await writeFile(path.join(folder, "pages", name), page);
  const whole = path.join(folder, "apache.conf");
  await writeFile(whole, configuration(folder, { port: origin.port, file: settings }));
  const defined = Object.entries({ ...env, SSL_CERT_FILE: authorities });
  const definitions = defined.flatMap(([name, value]) => ["-C", `Define ${name} "${value}"`]);
  // one process: whoever kills it leaves no others behind
  const server = await startServer({
    command,
    args: ["-X", "-d", folder, "-f", whole, ...definitions],
    folder,
    isReady: async () => (await fetch(origin)).ok,
  });
  return {
    async stop() {
      await server.stop("SIGTERM");
      await server.close();
    },
  };
}
