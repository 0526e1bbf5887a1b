/** The help, text by text. */
import { commandHelp } from "../../lib/cli/run";
import { ran, wronglyWritten } from "./world";

const overview = `authmount: an OAuth 2.0 authorization server inside your Express app. These commands help you set it up.

Usage: npx authmount <command> [options]

  secret         Make a secret for the secrets option.
  signing-key    Make a key that signs access tokens, for the signingKeys option.
  client-secret  Make a secret for a confidential client, and its digest.
  client-key     Make a key pair for a client that authenticates with private_key_jwt.
  check          Check your options: what would be refused, what is weak, what clients find.
  migrate        Create the tables of a storage, or update them to the latest version.
  migrations     Print the SQL of the migrations, for your own migration tool.
  clients        List, add and change the clients in your storage.

  help <command> gives details and examples. --json prints JSON. --version prints the version.

Start with:
  npx authmount secret                    for the secrets option
  npx authmount signing-key --list        for the signingKeys option
  npx authmount check ./auth-options.js   before you start the server

Exit codes: 0 success; 1 problems were found, or the command failed; 2 wrong usage.
`;

const printed = { exitCode: 0, stderr: "" };

describe("the help of everything", () => {
  it.each(["help", "--help", "-h"])("lists the commands: %s", async (word) => {
    expect(await ran([word])).toEqual({ ...printed, stdout: overview });
    expect(await ran([word, "--json"])).toEqual({
      ...printed,
      stdout: `${JSON.stringify({ help: overview }, undefined, 2)}\n`,
    });
  });

  it("is on stderr where a command is missing, with exit code 2", async () => {
    expect(await ran([])).toEqual({ exitCode: 2, stdout: "", stderr: overview });
    const error = { code: "usage", message: "A command is missing. See: authmount help." };
    expect(await ran(["--json"])).toEqual({
      exitCode: 2,
      stdout: "",
      stderr: `${JSON.stringify({ error }, undefined, 2)}\n`,
    });
  });
});

describe("the help of a command", () => {
  it.each([
    [
      "secret",
      `Make a secret for the secrets option.

Usage: npx authmount secret [options]

  --json  Print JSON: results on stdout, errors on stderr.
  --help  Show help for this command.

The secret protects sign-ins in progress. stdout contains only the secret:

  (umask 077; npx authmount secret > secret.txt)

umask 077 creates a file that only your account can read. Without it, most systems let every account on the machine read it.

Store it where your platform keeps secrets, for example in the environment variable SECRETS, and write
  secrets: (process.env["SECRETS"] ?? "").split(" ")
Every process needs the same secret. To change it, put the new secret and a space in front of the old one. Remove the old one once
the sign-ins that were in progress are over (after ten minutes, unless you set interactionSeconds).

Next: npx authmount signing-key --list
`,
    ],
    [
      "signing-key",
      `Make a key that signs access tokens, for the signingKeys option.

Usage: npx authmount signing-key [options]

  --alg ALG          The algorithm: ES256, ES384, ES512, RS256, RS384, RS512, PS256, PS384, PS512. Default: ES256.
  --for USE          id_token: the key signs ID tokens only, where an API has openid. Its default algorithm is RS256.
  --list             Print the key in a list, for a variable that holds all keys.
  --signs-from TIME  When the key starts to sign: +10m, +2h or +1d from now, or a time such as 2027-01-31T04:00:00Z. Default: now.
  --add-to NAME      Print the list of keys in this environment variable, with the new key first. The new key signs from +10m.
  --json             Print JSON: results on stdout, errors on stderr.
  --help             Show help for this command.

stdout contains only the private key, as JSON on one line:

  (umask 077; npx authmount signing-key --list > signing-keys.json)

umask 077 creates a file that only your account can read. Without it, most systems let every account on the machine read it.

Store it where your platform keeps secrets, for example in the environment variable SIGNING_KEYS, and write
  signingKeys: JSON.parse(process.env["SIGNING_KEYS"] || "[]")
Every process needs the same list. The public key is published automatically at {baseUrl}/jwks.

To change the key while valid tokens keep working, print the new list from the old one, and store it as SIGNING_KEYS:
  npx authmount signing-key --add-to SIGNING_KEYS

The first API with openid needs a key that signs ID tokens:
  npx authmount signing-key --for id_token --add-to SIGNING_KEYS

Next: npx authmount check ./auth-options.js, and docs/tokens.md.
`,
    ],
    [
      "client-secret",
      `Make a secret for a confidential client, and its digest.

Usage: npx authmount client-secret [options]

  --read  Read an existing secret from stdin, and print only its digest.
  --json  Print JSON: results on stdout, errors on stderr.
  --help  Show help for this command.

Give the secret to the client. You store only its digest, which is not secret. The secret goes to stdout, the digest to stderr:

  (umask 077; npx authmount client-secret > secret.txt)
  npx authmount client-secret --json        both, as {"secret": …, "digest": …}

umask 077 creates a file that only your account can read. Without it, most systems let every account on the machine read it.

Add the digest to the client record: secretDigests: ["sha256:…"]. Send the secret once to the people who run the client, over a
channel that nobody else can read. If it is lost, make a new one. To change it, list both digests until the client uses the new one.

For a client that already has a secret:
  npx authmount client-secret --read < secret.txt

Next: to use a key instead of a secret: npx authmount help client-key
`,
    ],
    [
      "client-key",
      `Make a key pair for a client that authenticates with private_key_jwt.

Usage: npx authmount client-key [options]

  --json  Print JSON: results on stdout, errors on stderr.
  --help  Show help for this command.

Give the private key to the client. You store only the public key, which is not secret. The private key goes to stdout as JSON, the
public key to stderr:

  (umask 077; npx authmount client-key > private-key.json)
  npx authmount client-key --json           both, as {"privateKey": …, "jwks": …}

umask 077 creates a file that only your account can read. Without it, most systems let every account on the machine read it.

Add the public key to the client record: jwks: {"keys": […]}, without secretDigests. If the client can make the key pair itself, let
it: its private key then never leaves the client, and you get only the public one.

Next: docs/clients.md shows clients that use such a key.
`,
    ],
    [
      "check",
      `Check your options: what would be refused, what is weak, what clients find.

Usage: npx authmount check FILE [options]

  FILE               A module that exports the options.
  --production       Check for production. Sets NODE_ENV=production while the module loads, too.
  --clients          Check the clients in the table of the storage too: it is read, 10000 records at most.
  --strict           Treat weak spots as problems: exit code 1.
  --export NAME      The name of the export to use.
  --timeout SECONDS  How long to wait for the module to load. Default: 30.
  --json             Print JSON: results on stdout, errors on stderr.
  --help             Show help for this command.

The module exports the object that you pass to createAuthServer, as options or as the default export: the object itself, a promise
of it, or a function without parameters that returns it. CommonJS and ES modules work, and TypeScript if your Node.js can read it.

  npx authmount check ./auth-options.js --production

The check lists everything that createAuthServer would refuse, what is weak and how to fix it, the documents that clients find at
the root of your origin, and how the options compare with RFC 9700, OAuth 2.1, FAPI 2.0 and OWASP ASVS 5.0 (--json lists each item).
It starts no server, opens no connection, reads no clients from a database unless you add --clients, and prints no secrets or keys. But
it imports the module, so the module's code runs: a module that listens on a port does so until the check ends.
If the module awaits storage.migrate(), its warnings are listed as weak spots.
What the module prints goes to stderr.

Exit codes: 0 if nothing is refused; 1 if options or clients are refused, if the module cannot be loaded, or with --strict if something
is weak.

Next: docs/deployment.md covers what a check of the options cannot show.
`,
    ],
    [
      "migrate",
      `Create the tables of a storage, or update them to the latest version.

Usage: npx authmount migrate [FILE] [options]

  FILE               A module that exports storage, or options.
  --postgres NAME    The environment variable with the URL of a PostgreSQL database.
  --mysql NAME       The environment variable with the URL of a MySQL or MariaDB database.
  --sqlite PATH      The SQLite file. It is created if it does not exist.
  --schema NAME      The schema of the tables. Default: that of the connection.
  --prefix NAME      The prefix of every table name. Default: authmount_.
  --export NAME      The name of the export to use.
  --timeout SECONDS  How long to wait for the module to load. Default: 30.
  --json             Print JSON: results on stdout, errors on stderr.
  --help             Show help for this command.

This runs storage.migrate(). You can run it again, and from several places at once. If there is nothing to do, it only reads.
It warns about database settings that could lose acknowledged writes in a crash or a failover.

  npx authmount migrate ./auth-options.js
  npx authmount migrate --postgres DATABASE_URL
  npx authmount migrate --mysql DATABASE_URL
  npx authmount migrate --sqlite authmount.sqlite

The module exports storage, or the options of createAuthServer as options: a value, a promise or a function without parameters.
The module is imported, so its code runs. --postgres uses the pg package of your project, and --mysql its mysql2.

Run it once per deployment, before the new processes start, as a database user that may create tables.

Next: npx authmount check ./auth-options.js
`,
    ],
    [
      "clients",
      `List, add and change the clients in your storage.

Usage: npx authmount clients <command> [options]

  clients list     List clients: id, name, kind, APIs, and whether each is enabled.
  clients show     Show a client, without its secrets.
  clients add      Add a client. Its secret is printed once.
  clients rotate   Make a new secret for a client. The old one works for a while.
  clients disable  Switch a client off. Nothing is deleted.
  clients enable   Switch a client on again.
  clients end      End all codes and tokens of a client, and keep the client.
  clients remove   Delete a client, and end all codes and tokens of it.

  --json  Print JSON: results on stdout, errors on stderr.
  --help  Show help for this command.

Each takes the module that exports your options, as check does. The module is imported, so its code runs; no server starts.

  npx authmount clients list ./auth-options.mjs
  npx authmount clients add --help

Secrets are printed once, on stdout, and are never arguments.

Next: docs/manage-clients.md
`,
    ],
    [
      "migrations",
      `Print the SQL of the migrations, for your own migration tool.

Usage: npx authmount migrations [options]

  --engine ENGINE  postgres, or mysql for MySQL and MariaDB.
  --schema NAME    The schema of the tables. Default: that of the connection.
  --prefix NAME    The prefix of every table name. Default: authmount_.
  --from N         Start with migration N, to print only the new ones after an update of authmount.
  --json           Print JSON: results on stdout, errors on stderr.
  --help           Show help for this command.

Each migration takes the tables from one version to the next. You can run it again. A published migration never changes.

  npx authmount migrations --engine postgres > 001_authmount.sql

This connects to no database. Use the same names that you pass to postgresStorage or mysqlStorage. Once all migrations have run,
migrate() only reads. With --json, each migration is a separate entry with its version.

Next: docs/storage-postgres.md and docs/storage-mysql.md list the rights that the server needs. To run the migrations instead:
npx authmount help migrate
`,
    ],
  ])("%s", async (name, stdout) => {
    expect(await ran(["help", name])).toEqual({ ...printed, stdout });
    expect(await ran([name, "--help"])).toEqual({ ...printed, stdout });
    expect(await ran(["-h", name])).toEqual({ ...printed, stdout });
    const json = `${JSON.stringify({ help: stdout }, undefined, 2)}\n`;
    for (const args of [
      ["help", name, "--json"],
      ["--json", "help", name],
      [name, "--help", "--json"],
      ["--json", name, "-h"],
    ])
      expect(await ran(args)).toEqual({ ...printed, stdout: json });
  });

  it("shows what is beside it in columns, and what may be left out in brackets", () => {
    const command = {
      name: "make",
      summary: "Make it.",
      options: { fast: { text: "Fast." }, size: { value: "METRES", text: "How big." } },
      help: "More of it.",
      run: () => ({ exitCode: 0, text: "", advice: "", json: {} }) as const,
    };
    const rows = `  --fast         Fast.
  --size METRES  How big.
  --json         Print JSON: results on stdout, errors on stderr.
  --help         Show help for this command.
`;
    expect(commandHelp(command)).toBe(
      `Make it.\n\nUsage: npx authmount make [options]\n\n${rows}\nMore of it.\n`,
    );
    const operand = { name: "FILE", text: "A file." };
    const usage = (shown: string): string =>
      `Make it.\n\nUsage: npx authmount make ${shown} [options]\n\n  FILE           A file.\n${rows}\nMore of it.\n`;
    expect(commandHelp({ ...command, operand: { ...operand, isRequired: true } })).toBe(usage("FILE"));
    expect(commandHelp({ ...command, operand: { ...operand, isRequired: false } })).toBe(usage("[FILE]"));
  });

  it("is of one command that there is", async () => {
    expect(await ran(["help", "check", "secret"])).toEqual(
      wronglyWritten("help takes the name of one command."),
    );
    expect(await ran(["help", "chekc"])).toEqual(
      wronglyWritten(
        'Unknown command "chekc". Did you mean "check"? Known commands: secret, signing-key, client-secret, client-key, check, migrate, migrations, clients, help.',
      ),
    );
  });
});
