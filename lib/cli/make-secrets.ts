/** Makes the secrets of the server and of clients: the secret part on stdout, what to do with it on stderr. RFC 6749 §10.10. */
import { generateClientKey } from "../clients/client-key";
import { digestClientSecret, generateClientSecret } from "../clients/client-secret";
import { type Answer, type Command, usageError } from "./command";
import { aboutUmask } from "./wording";

/** `authmount secret` */
export const secret: Command = {
  name: "secret",
  summary: "Make a secret for the option secrets.",
  options: {},
  help: `The secret seals sign-ins in progress. Everything that is printed on stdout is the secret:

  (umask 077; npx authmount secret > secret.txt)

${aboutUmask}

Then keep it where your platform keeps secrets, for example in the variable SECRETS, and write
  secrets: (process.env["SECRETS"] ?? "").split(" ")
Every process needs the same one. To change it, put the new one and a space in front of the old one. Leave the old one out when
the sign-ins that were in progress are over (ten minutes, unless you have set interactionSeconds).

Next: npx authmount signing-key --list`,
  run(_, { randomToken }): Answer {
    const made = randomToken();
    return {
      exitCode: 0,
      text: `${made}\n`,
      advice: `This is a secret for the option secrets. Keep it where you keep secrets; every process needs the same one.\n`,
      json: { secret: made },
    };
  },
};

/** A secret that somebody has chosen, without the line feed at its end. */
async function digestOf(readInput: () => Promise<string>): Promise<Answer> {
  const chosen = (await readInput()).replace(/\r?\n$/, "");
  if (chosen === "") throw usageError("stdin is empty: pipe the secret to --read.");
  const digest = await digestClientSecret(chosen);
  return {
    exitCode: 0,
    text: `${digest}\n`,
    advice: "This is the digest of the secret. Write it in the client record: secretDigests: [digest].\n",
    json: { digest },
  };
}

/** `authmount client-secret` */
export const clientSecret: Command = {
  name: "client-secret",
  summary: "Make a secret for a confidential client, and its digest.",
  options: { read: { text: "Read a secret that there is already from stdin, and print its digest only." } },
  help: `The client gets the secret. You keep only its digest, which is no secret. stdout has the secret, stderr the digest:

  (umask 077; npx authmount client-secret > secret.txt)
  npx authmount client-secret --json        both, as {"secret": …, "digest": …}

${aboutUmask}

Write the digest in the client record: secretDigests: ["sha256:…"]. Give the secret to whoever runs the client, once, by a way
that nobody else can read. If it is lost, make a new one. To change it, list both digests until the client has the new secret.

A client that comes with a secret of its own:
  npx authmount client-secret --read < secret.txt

Next: a client with a key instead of a secret: npx authmount help client-key`,
  run({ options }, { readInput }): Answer | Promise<Answer> {
    if (options["read"] !== undefined) return digestOf(readInput);
    const made = generateClientSecret();
    return {
      exitCode: 0,
      text: `${made.secret}\n`,
      advice: `The line on stdout is the secret. Give it to the client, once, and do not keep it.
Its digest is no secret. Write it in the client record: secretDigests: ["${made.digest}"]
`,
      json: made,
    };
  },
};

/** `authmount client-key` */
export const clientKey: Command = {
  name: "client-key",
  summary: "Make a key for a client that proves itself by private_key_jwt.",
  options: {},
  help: `The client gets the private key. You keep the public one, which is no secret. stdout has the private key as JSON, stderr the
public one:

  (umask 077; npx authmount client-key > private-key.json)
  npx authmount client-key --json           both, as {"privateKey": …, "jwks": …}

${aboutUmask}

Write the public key in the client record: jwks: {"keys": […]}, without secretDigests. A client that can make its own key should:
then its private key never travels, and it sends you the public one.

Next: docs/clients.md has clients that use such a key.`,
  run(): Answer {
    const made = generateClientKey();
    return {
      exitCode: 0,
      text: `${JSON.stringify(made.privateKey)}\n`,
      advice: `The line on stdout is the private key. Give it to the client, once, and do not keep it.
The public key is no secret. Write it in the client record: jwks: ${JSON.stringify(made.jwks)}
`,
      json: made,
    };
  },
};
