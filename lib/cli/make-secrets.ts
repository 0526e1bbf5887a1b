/** Makes the secrets of the server and of clients: the secret part on stdout, what to do with it on stderr. RFC 6749 §10.10. */
import { generateClientKey } from "../clients/client-key";
import { digestClientSecret, generateClientSecret } from "../clients/client-secret";
import { type Answer, type Command, usageError } from "./command";
import { aboutUmask } from "./wording";

/** `authmount secret` */
export const secret: Command = {
  name: "secret",
  summary: "Make a secret for the secrets option.",
  options: {},
  help: `The secret protects sign-ins in progress. stdout contains only the secret:

  (umask 077; npx authmount secret > secret.txt)

${aboutUmask}

Store it where your platform keeps secrets, for example in the environment variable SECRETS, and write
  secrets: (process.env["SECRETS"] ?? "").split(" ")
Every process needs the same secret. To change it, put the new secret and a space in front of the old one. Remove the old one once
the sign-ins that were in progress are over (after ten minutes, unless you set interactionSeconds).

Next: npx authmount signing-key --list`,
  run(_, { randomToken }): Answer {
    const made = randomToken();
    return {
      exitCode: 0,
      text: `${made}\n`,
      advice: `This is a secret for the secrets option. Store it where you keep secrets. Every process needs the same one.\n`,
      json: { secret: made },
    };
  },
};

/** A secret that somebody has chosen, without the line feed at its end. */
async function digestOf(readInput: () => Promise<string>): Promise<Answer> {
  const chosen = (await readInput()).replace(/\r?\n$/, "");
  if (chosen === "") throw usageError("stdin is empty. Pipe the secret to --read.");
  const digest = await digestClientSecret(chosen);
  return {
    exitCode: 0,
    text: `${digest}\n`,
    advice: "This is the digest of the secret. Add it to the client record: secretDigests: [digest].\n",
    json: { digest },
  };
}

/** `authmount client-secret` */
export const clientSecret: Command = {
  name: "client-secret",
  summary: "Make a secret for a confidential client, and its digest.",
  options: { read: { text: "Read an existing secret from stdin, and print only its digest." } },
  help: `Give the secret to the client. You store only its digest, which is not secret. The secret goes to stdout, the digest to stderr:

  (umask 077; npx authmount client-secret > secret.txt)
  npx authmount client-secret --json        both, as {"secret": …, "digest": …}

${aboutUmask}

Add the digest to the client record: secretDigests: ["sha256:…"]. Send the secret once to the people who run the client, over a
channel that nobody else can read. If it is lost, make a new one. To change it, list both digests until the client uses the new one.

For a client that already has a secret:
  npx authmount client-secret --read < secret.txt

Next: to use a key instead of a secret: npx authmount help client-key`,
  run({ options }, { readInput }): Answer | Promise<Answer> {
    if (options["read"] !== undefined) return digestOf(readInput);
    const made = generateClientSecret();
    return {
      exitCode: 0,
      text: `${made.secret}\n`,
      advice: `The line on stdout is the secret. Give it to the client once, and do not keep a copy.
The digest is not secret. Add it to the client record: secretDigests: ["${made.digest}"]
`,
      json: made,
    };
  },
};

/** `authmount client-key` */
export const clientKey: Command = {
  name: "client-key",
  summary: "Make a key pair for a client that authenticates with private_key_jwt.",
  options: {},
  help: `Give the private key to the client. You store only the public key, which is not secret. The private key goes to stdout as JSON, the
public key to stderr:

  (umask 077; npx authmount client-key > private-key.json)
  npx authmount client-key --json           both, as {"privateKey": …, "jwks": …}

${aboutUmask}

Add the public key to the client record: jwks: {"keys": […]}, without secretDigests. If the client can make the key pair itself, let
it: its private key then never leaves the client, and you get only the public one.

Next: docs/clients.md shows clients that use such a key.`,
  run(): Answer {
    const made = generateClientKey();
    return {
      exitCode: 0,
      text: `${JSON.stringify(made.privateKey)}\n`,
      advice: `The line on stdout is the private key. Give it to the client once, and do not keep a copy.
The public key is not secret. Add it to the client record: jwks: ${JSON.stringify(made.jwks)}
`,
      json: made,
    };
  },
};
