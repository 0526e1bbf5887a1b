/** Debian's nginx and Caddy with the configurations that docs/deployment.md prints: only ports, paths and certificates are others. */
import { existsSync } from "node:fs";
import { chmod, readFile, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import path from "node:path";
import { type Certificate, newAuthority } from "../../__tests__/servers/certificates";
import { hostName } from "./deployed";
import { codeBelow } from "../../__tests__/sources/doc-block";
import { freePort, newFolder, startServer } from "../../__tests__/servers/server-process";

/** A proxy that runs. */
export interface FrontProxy {
  readonly port: number;
  /** The port of plain http. */
  readonly httpPort: number;
  readonly ca: string;
  /** What it has written so far. */
  readonly accessLog: () => Promise<string>;
  readonly errorLog: () => Promise<string>;
  readonly close: () => Promise<void>;
}

/** How a proxy is started in front of the processes at these ports. */
export interface ProxyKind {
  readonly name: string;
  readonly found: boolean;
  readonly start: (upstreams: Upstreams, change?: (printed: string) => string) => Promise<FrontProxy>;
}

/** Where the two processes listen: ports, or paths of Unix sockets. */
export type Upstreams = readonly [string, string];

/** As nginx and Caddy write an address. */
const named = (address: string, unix: string): string =>
  address.startsWith("/") ? `${unix}${address}` : `127.0.0.1:${address}`;

interface Place {
  readonly folder: string;
  readonly port: number;
  readonly httpPort: number;
  readonly upstreams: Upstreams;
}

function replaceAll(text: string, pairs: readonly (readonly [string, string])[]): string {
  let replaced = text;
  for (const [from, to] of pairs) {
    if (!replaced.includes(from)) throw new Error(`deployment.md does not print ${from} any more`);
    replaced = replaced.replaceAll(from, to);
  }
  return replaced;
}

function nginxFile({ folder, port, httpPort, upstreams }: Place, printed: string): string {
  const site = replaceAll(printed, [
    ["127.0.0.1:3000", named(upstreams[0], "unix:")],
    ["127.0.0.1:3001", named(upstreams[1], "unix:")],
    ["listen 443 ", `listen 127.0.0.1:${port} `],
    ["listen 80;", `listen 127.0.0.1:${httpPort};`],
    ["/etc/ssl/host.example.pem", path.join(folder, "cert.pem")],
    ["/etc/ssl/host.example.key", path.join(folder, "key.pem")],
    ["/var/log/nginx/", `${folder}/`],
  ]);
  const kinds = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
  const temporary = kinds.map((kind) => `${kind}_temp_path ${folder}/${kind};`).join("\n");
  const outer = `pid ${folder}/nginx.pid;\nerror_log ${folder}/error.log;\nworker_processes 1;\ndaemon off;\nevents {}`;
  return `${outer}\nhttp {\naccess_log off;\n${temporary}\n${site}\n}\n`;
}

function caddyFile({ folder, port, httpPort, upstreams }: Place, printed: string): string {
  const site = replaceAll(`\n${printed}`, [
    ["127.0.0.1:3000", named(upstreams[0], "unix/")],
    ["127.0.0.1:3001", named(upstreams[1], "unix/")],
    [`\n${hostName} {`, `\n${hostName} {\n\tbind 127.0.0.1\n\ttls ${folder}/cert.pem ${folder}/key.pem`],
    ["\n\tlog {", `\n\tlog {\n\t\toutput file ${folder}/access.log`],
  ]);
  return `{\n\tadmin off\n\thttp_port ${httpPort}\n\thttps_port ${port}\n}\n${site}`;
}

const logOf = (file: string) => () => (existsSync(file) ? readFile(file, "utf8") : Promise.resolve(""));

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}

async function writeCertificate(folder: string, { cert, key }: Certificate): Promise<void> {
  for (const [name, text] of [
    ["cert.pem", cert],
    ["key.pem", key],
  ] as const) {
    await writeFile(path.join(folder, name), text);
    await chmod(path.join(folder, name), 0o644);
  }
}

interface Program {
  readonly heading: string;
  readonly language: string;
  readonly fileName: string;
  readonly file: (place: Place, printed: string) => string;
  readonly command: (folder: string) => readonly [string, ...string[]];
}

function kindOf({ heading, language, fileName, file, command }: Program): ProxyKind["start"] {
  return async (upstreams, change = (printed) => printed) => {
    const folder = await newFolder(heading.toLowerCase());
    const authority = newAuthority();
    await writeCertificate(folder, authority.certify(hostName));
    const place = { folder, port: await freePort(), httpPort: await freePort(), upstreams };
    const [printed = ""] = codeBelow("deployment.md", heading, language);
    await writeFile(path.join(folder, fileName), file(place, change(printed)));
    const [name, ...args] = command(folder);
    const isReady = () => listens(place.port);
    const server = await startServer({ command: name, args, folder, isReady });
    return {
      port: place.port,
      httpPort: place.httpPort,
      ca: authority.ca,
      accessLog: logOf(path.join(folder, "access.log")),
      errorLog: logOf(path.join(folder, "error.log")),
      close: () => server.close(),
    };
  };
}

const nginxPath = "/usr/sbin/nginx";
const caddyPath = "/usr/bin/caddy";

/** nginx as Debian packages it: `apt-get install nginx-light`. */
export const nginx: ProxyKind = {
  name: "nginx",
  found: existsSync(nginxPath),
  start: kindOf({
    heading: "nginx",
    language: "nginx",
    fileName: "nginx.conf",
    file: nginxFile,
    command: (folder) => [nginxPath, "-p", folder, "-e", `${folder}/error.log`, "-c", `${folder}/nginx.conf`],
  }),
};

/** Caddy as Debian packages it: `apt-get install caddy`. */
export const caddy: ProxyKind = {
  name: "Caddy",
  found: existsSync(caddyPath),
  start: kindOf({
    heading: "Caddy",
    language: "caddyfile",
    fileName: "Caddyfile",
    file: caddyFile,
    command: (folder) => [
      "/usr/bin/env",
      `XDG_DATA_HOME=${folder}`,
      `XDG_CONFIG_HOME=${folder}`,
      "sh",
      "-c",
      `exec ${caddyPath} run --config ${folder}/Caddyfile --adapter caddyfile 2>${folder}/error.log`,
    ],
  }),
};

/** Both of them. */
export const proxyKinds: readonly ProxyKind[] = [nginx, caddy];
