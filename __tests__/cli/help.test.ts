/** The help, text by text. */
import { commandHelp } from "../../lib/cli/help";
import { ran, wronglyWritten } from "../fixture/world";

const overview = `authmount: an OAuth 2.0 authorization server inside your Express app. These commands help to set it up.

Usage: npx authmount <command> [options]

  secret         Make a secret for the option secrets.
  signing-key    Make a key that signs access tokens, for the option signingKeys.
  client-secret  Make a secret for a confidential client, and its digest.
  client-key     Make a key for a client that proves itself by private_key_jwt.
  check          Check your options: what would be refused, what is weak, what clients find.
  migrate        Create the tables of a storage, or update them to the newest version.
  migrations     Print the SQL of the migrations, for your own migration tool.

  help <command> says more, with examples. --json prints JSON. --version prints the version.

Begin with:
  npx authmount secret                    for the option secrets
  npx authmount signing-key --list        for the option signingKeys
  npx authmount check ./auth-options.js   before you start the server

Exit codes: 0 fine; 1 problems were found, or it failed; 2 the command was written wrongly.
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
      `Make a secret for the option secrets.

Usage: npx authmount secret [options]

  --json  Print JSON: the result on stdout, an error on stderr.
  --help  Print the help of the command.

The secret seals sign-ins in progress. Everything that is printed on stdout is the secret:

  (umask 077; npx authmount secret > secret.txt)

umask 077 makes a file that only your account can read. Without it, most systems let every account of the machine read it.

Then keep it where your platform keeps secrets, for example in the variable SECRETS, and write
  secrets: (process.env["SECRETS"] ?? "").split(" ")
Every process needs the same one. To change it, put the new one and a space in front of the old one. Leave the old one out when
the sign-ins that were in progress are over (ten minutes, unless you have set interactionSeconds).

Next: npx authmount signing-key --list
`,
    ],
    [
      "signing-key",
      `Make a key that signs access tokens, for the option signingKeys.

Usage: npx authmount signing-key [options]

  --alg ALG          The algorithm: ES256, ES384, ES512, RS256, RS384, RS512, PS256, PS384, PS512. Default: ES256.
  --list             Print a list with the key in it, for a variable that holds all keys.
  --signs-from TIME  When the key begins to sign: +10m, +2h or +1d from now, or a time such as 2027-01-31T04:00:00Z. Default: at once.
  --add-to NAME      Print the list of keys in this environment variable, with the new one in front. It signs from +10m on.
  --json             Print JSON: the result on stdout, an error on stderr.
  --help             Print the help of the command.

Everything on stdout is the private key, as JSON on one line:

  (umask 077; npx authmount signing-key --list > signing-keys.json)

umask 077 makes a file that only your account can read. Without it, most systems let every account of the machine read it.

Then keep it where your platform keeps secrets, for example in the variable SIGNING_KEYS, and write
  signingKeys: JSON.parse(process.env["SIGNING_KEYS"] || "[]")
Every process needs the same list. The public half is published at {baseUrl}/jwks by itself.

To change the key without refusing a valid token, print the new list from the old one, and store it as SIGNING_KEYS:
  npx authmount signing-key --add-to SIGNING_KEYS

Next: npx authmount check ./auth-options.js, and docs/key-rotation.md.
`,
    ],
    [
      "client-secret",
      `Make a secret for a confidential client, and its digest.

Usage: npx authmount client-secret [options]

  --read  Read a secret that there is already from stdin, and print its digest only.
  --json  Print JSON: the result on stdout, an error on stderr.
  --help  Print the help of the command.

The client gets the secret. You keep only its digest, which is no secret. stdout has the secret, stderr the digest:

  (umask 077; npx authmount client-secret > secret.txt)
  npx authmount client-secret --json        both, as {"secret": …, "digest": …}

umask 077 makes a file that only your account can read. Without it, most systems let every account of the machine read it.

Write the digest in the client record: secretDigests: ["sha256:…"]. Give the secret to whoever runs the client, once, by a way
that nobody else can read. If it is lost, make a new one. To change it, list both digests until the client has the new secret.

A client that comes with a secret of its own:
  npx authmount client-secret --read < secret.txt

Next: a client with a key instead of a secret: npx authmount help client-key
`,
    ],
    [
      "client-key",
      `Make a key for a client that proves itself by private_key_jwt.

Usage: npx authmount client-key [options]

  --json  Print JSON: the result on stdout, an error on stderr.
  --help  Print the help of the command.

The client gets the private key. You keep the public one, which is no secret. stdout has the private key as JSON, stderr the
public one:

  (umask 077; npx authmount client-key > private-key.json)
  npx authmount client-key --json           both, as {"privateKey": …, "jwks": …}

umask 077 makes a file that only your account can read. Without it, most systems let every account of the machine read it.

Write the public key in the client record: jwks: {"keys": […]}, without secretDigests. A client that can make its own key should:
then its private key never travels, and it sends you the public one.

Next: docs/clients.md has clients that use such a key.
`,
    ],
    [
      "check",
      `Check your options: what would be refused, what is weak, what clients find.

Usage: npx authmount check FILE [options]

  FILE               A module that exports the options.
  --production       Check as with NODE_ENV=production, which is also set while the module loads.
  --strict           Weak spots count as problems: exit code 1.
  --export NAME      The name of the export to take.
  --timeout SECONDS  How long the module may take to load. Default: 30.
  --json             Print JSON: the result on stdout, an error on stderr.
  --help             Print the help of the command.

The module exports the object that you pass to createAuthServer, as options or by default: the object, a promise of it, or a
function without parameters that returns it. It may be CommonJS or an ES module, and TypeScript if your Node.js reads it.

  npx authmount check ./auth-options.js --production

It lists everything that createAuthServer would refuse, what is weak and what to write instead, the documents that clients find at
the root of your origin, and how the options stand to RFC 9700, OAuth 2.1, FAPI 2.0 and OWASP ASVS 5.0 (--json has each item).
It creates no server, connects to nothing by itself, asks no database for clients, and prints no secret and no key. But it
imports the module, and whatever the module does when it is loaded happens: one that listens on a port does so until the check ends.
If it awaits storage.migrate(), what that warns of is among the weak spots.
What the module prints goes to stderr.

Exit codes: 0 nothing is refused; 1 something is refused, the module could not be loaded, or --strict and something is weak.

Next: docs/deployment.md has what options cannot show.
`,
    ],
    [
      "migrate",
      `Create the tables of a storage, or update them to the newest version.

Usage: npx authmount migrate [FILE] [options]

  FILE               A module that exports storage, or options.
  --postgres NAME    The environment variable that holds the URL of a PostgreSQL database.
  --sqlite PATH      The SQLite file. It is created when there is none.
  --schema NAME      The schema of the tables. Default: the first one of the search_path.
  --prefix NAME      The beginning of every table name. Default: authmount_.
  --export NAME      The name of the export to take.
  --timeout SECONDS  How long the module may take to load. Default: 30.
  --json             Print JSON: the result on stdout, an error on stderr.
  --help             Print the help of the command.

It does what storage.migrate() does. It may run again and at the same time from several places; with nothing to do it only reads.
It warns of settings of the database by which a crash or a failover may lose what was acknowledged.

  npx authmount migrate ./auth-options.js
  npx authmount migrate --postgres DATABASE_URL
  npx authmount migrate --sqlite authmount.sqlite

The module exports storage, or the options of createAuthServer as options: a value, a promise or a function without parameters.
It is imported, so what it does when it is loaded happens. --postgres uses the package pg of your project.

Run it once for each deployment, before the new processes start, as a database user that may create tables.

Next: npx authmount check ./auth-options.js
`,
    ],
    [
      "migrations",
      `Print the SQL of the migrations, for your own migration tool.

Usage: npx authmount migrations [options]

  --engine ENGINE  postgres. Other engines have no texts.
  --schema NAME    The schema of the tables. Default: the first one of the search_path.
  --prefix NAME    The beginning of every table name. Default: authmount_.
  --from N         Begin with the Nth. After an update of authmount, print only the new ones.
  --json           Print JSON: the result on stdout, an error on stderr.
  --help           Print the help of the command.

Each text brings the tables from one version to the next. It may run again. A published one never changes.

  npx authmount migrations --engine postgres > 001_authmount.sql

Nothing connects to a database. The names must be those that you pass to postgresStorage. Once all texts have run, migrate() only
reads. With --json, each migration is an entry of its own, with its version.

Next: docs/storage-postgres.md says which rights the server needs. To run migrations instead: npx authmount help migrate
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
  --json         Print JSON: the result on stdout, an error on stderr.
  --help         Print the help of the command.
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
        'Unknown command "chekc". Did you mean "check"? Known commands: secret, signing-key, client-secret, client-key, check, migrate, migrations, help.',
      ),
    );
  });
});
