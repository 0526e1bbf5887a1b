/** Programs of libraries that verify JWTs, as docs/clients.md prints or names them, with tokens of a host that they know by its URL. */
import path from "node:path";
import {
  attackersEcKey,
  es256,
  type Json,
  readToken,
  writeToken,
} from "../../__tests__/requests/forged-tokens";
import { type LibraryHost, startLibraryHost } from "./library-host";
import {
  changedProgram,
  type LibraryProgram,
  pythonWith,
  removeChangedPrograms,
  startLibraryProgram,
  versionOf,
} from "./library-process";
import { expectPage, expectPrograms, newTable } from "./library-tables";
import { describeWith, freePort } from "../../__tests__/servers/server-process";

interface Verifier {
  readonly name: string;
  readonly file: string;
  /** Packages of npm; the first one is tested. */
  readonly packages: readonly string[];
  /** Python modules; without them it is a package of npm. */
  readonly modules?: readonly string[];
  readonly findsKeys?: "by metadata";
  /** The setting that looks at `typ`, and the same without it; missing where the library looks by itself. */
  readonly withoutTyp?: Setting;
  /** How it trusts two issuers. */
  readonly twoIssuers?: Setting;
}

interface Setting {
  readonly setting: string;
  readonly change: readonly [string, string];
}

const both = '[ISSUER, ISSUER.replace("password", "otp")]';
const listOfIssuers: Setting = {
  setting: "`issuer: [A, B]`",
  change: ["issuer: ISSUER,", `issuer: ${both},`],
};

const verifiers: readonly Verifier[] = [
  {
    name: "jose",
    file: "jose.mjs",
    packages: ["jose"],
    withoutTyp: { setting: '`typ: "at+jwt"`', change: ['    typ: "at+jwt",\n', ""] },
    twoIssuers: listOfIssuers,
  },
  { name: "oauth4webapi", file: "oauth4webapi.mjs", packages: ["oauth4webapi"], findsKeys: "by metadata" },
  {
    name: "express-oauth2-jwt-bearer",
    file: "express-oauth2-jwt-bearer.cjs",
    packages: ["express-oauth2-jwt-bearer"],
    findsKeys: "by metadata",
    withoutTyp: { setting: "`strict: true`", change: ["strict: true", "strict: false"] },
    twoIssuers: {
      setting: "`mcd: { issuers: [A, B] }`",
      change: ["issuerBaseURL: ISSUER,", `mcd: { issuers: ${both} }, issuer: null,`],
    },
  },
  {
    name: "express-jwt, jwks-rsa",
    file: "express-jwt.cjs",
    packages: ["express-jwt", "jwks-rsa"],
    withoutTyp: { setting: "`isRevoked`", change: ['token.header.typ !== "at+jwt"', "false"] },
    twoIssuers: listOfIssuers,
  },
  {
    name: "passport-jwt, jwks-rsa",
    file: "passport-jwt.cjs",
    packages: ["passport-jwt", "jwks-rsa"],
    withoutTyp: { setting: "`secretOrKeyProvider`", change: ['typOf(token) !== "at+jwt"', "false"] },
    twoIssuers: listOfIssuers,
  },
  {
    name: "aws-jwt-verify",
    file: "aws-jwt-verify.cjs",
    packages: ["aws-jwt-verify"],
    withoutTyp: { setting: "`customJwtCheck`", change: ['header.typ !== "at+jwt"', "false"] },
    twoIssuers: {
      setting: "`create([{ issuer: A, … }, { issuer: B, … }])`",
      change: [
        "JwtVerifier.create({\n  issuer: ISSUER,\n  audience: AUDIENCE,\n  jwksUri: KEYS_URL,",
        `JwtVerifier.create(${both}.map((issuer) => ({ issuer, audience: AUDIENCE, jwksUri: KEYS_URL })));\nconst unused = ({`,
      ],
    },
  },
  {
    name: "PyJWT (Python)",
    file: "pyjwt.py",
    packages: [],
    modules: ["jwt", "cryptography"],
    withoutTyp: {
      setting: "`get_unverified_header`",
      change: ['jwt.get_unverified_header(token).get("typ") != "at+jwt"', "False"],
    },
  },
];

const folder = path.join(__dirname, "verifiers");
const table = newTable();
let host: LibraryHost;

afterAll(removeChangedPrograms);

/** A program that says whether it accepts a token. */
interface Running {
  accepts(token: string): Promise<boolean>;
  readonly program: LibraryProgram;
}

async function start(file: string): Promise<Running> {
  const port = await freePort();
  host.requests.length = 0;
  const program = await startLibraryProgram({ file, env: { ...host.env, PORT: String(port) } });
  const accepts = async (token: string): Promise<boolean> => {
    if (program.exported.includes("verify")) {
      return program.call("verify", token).then(
        () => true,
        () => false,
      );
    }
    const headers = { authorization: `Bearer ${token}` };
    return (await fetch(`http://localhost:${port}/orders`, { headers })).status === 200;
  };
  return { program, accepts };
}

/** Tokens by what is wrong with them. */
interface Tokens {
  readonly good: string;
  readonly expired: string;
  readonly audience: string;
  readonly issuer: string;
  readonly signature: readonly string[];
  readonly typ: string;
  /** What a token of the host becomes when its own key signs it again: for comparison. */
  readonly again: string;
}

function otherSignature(token: string): string {
  const [header, claims, signature = ""] = token.split(".");
  const first = signature.startsWith("A") ? "B" : "A";
  return [header, claims, first + signature.slice(1)].join(".");
}

async function mint(): Promise<Tokens> {
  const good = await host.ownToken("password/api/orders");
  const { header, claims } = readToken(good);
  const past = Math.floor(Date.now() / 1000) - 3600;
  const signed = (changed: Json, by: Json = header): string =>
    host.signedByHost(by, { ...claims, ...changed });
  return {
    good,
    again: signed({}),
    expired: signed({ iat: past - 600, exp: past }),
    audience: await host.ownToken("password/api/reports"),
    issuer: await host.ownToken("otp/api/orders"),
    signature: [otherSignature(good), writeToken(header, claims, es256(attackersEcKey))],
    typ: signed({}, { ...header, typ: "JWT" }),
  };
}

for (const verifier of verifiers) {
  const available = verifier.modules ? pythonWith(verifier.modules) : { name: verifier.name, found: true };
  describeWith(available, {
    name: verifier.name,
    tests() {
      const file = path.join(folder, verifier.file);
      const version = verifier.modules ? "Debian" : verifier.packages.map(versionOf).join(", ");
      const { withoutTyp, twoIssuers } = verifier;
      const cells = table.row({ library: verifier.name, version, notes: [] });
      if (!twoIssuers) cells["issuers"] = "one verifier for each";
      const refused = new Set<string>();
      let running: Running;
      let tokens: Tokens;
      beforeAll(async () => {
        host = await startLibraryHost();
        running = await start(file);
        tokens = await mint();
      });
      afterAll(async () => {
        await host.close();
        await running.program.stop();
      });

      it("accepts a good token, with keys that it fetches (RFC 9068 §4)", async () => {
        expect(await running.accepts(tokens.good)).toBe(true);
        expect(await running.accepts(tokens.again)).toBe(true);
        expect(host.requests).toContain("GET /login/jwks 200");
        const found = host.requests.some((request) => /oauth-authorization-server\S* 200$/.test(request));
        expect(found).toBe(verifier.findsKeys !== undefined);
        Object.assign(cells, { good: "accepted", metadata: found ? "yes" : "no" });
      });

      it.each(["expired", "audience", "issuer"] as const)(
        "refuses one that is expired, or of another audience or issuer: %s (RFC 9068 §4)",
        async (kind) => {
          expect(await running.accepts(tokens[kind])).toBe(false);
          refused.add(kind);
        },
      );

      it("refuses one with another signature (RFC 7515 §5.2)", async () => {
        for (const token of tokens.signature) expect(await running.accepts(token)).toBe(false);
        refused.add("signature");
        if (refused.size === 4) cells["refused"] = "refused";
      });

      it("refuses one that is no access token (RFC 9068 §4)", async () => {
        expect(await running.accepts(tokens.typ)).toBe(false);
        cells["typ"] = withoutTyp ? `refused with ${withoutTyp.setting}` : "refused";
      });

      if (withoutTyp)
        it(`accepts that one without ${withoutTyp.setting}`, async () => {
          const careless = await start(await changedProgram(file, withoutTyp.change));
          expect(await careless.accepts(tokens.typ)).toBe(true);
          await careless.program.stop();
        });

      if (twoIssuers)
        it(`trusts two issuers with ${twoIssuers.setting}`, async () => {
          const trusting = await start(await changedProgram(file, twoIssuers.change));
          for (const token of [tokens.good, tokens.issuer]) expect(await trusting.accepts(token)).toBe(true);
          expect(await trusting.accepts(tokens.audience)).toBe(false);
          await trusting.program.stop();
          cells["issuers"] = twoIssuers.setting;
        });

      it("follows a rotation of the keys (RFC 7517 §5)", async () => {
        host.rotate();
        // longer than any of them waits before it asks for unknown keys again
        await running.program.call("later", 60);
        const next = await host.ownToken("password/api/orders");
        expect(readToken(next).header["kid"]).not.toBe(readToken(tokens.good).header["kid"]);
        expect(await running.accepts(next)).toBe(true);
        expect(await running.accepts(tokens.good)).toBe(true);
        cells["rotation"] = "followed";
      });
    },
  });
}

describe("docs/clients.md", () => {
  it("has the table of this run: node lab/clients/make-clients-table.js makes it again", () => {
    expectPage("verifiers", { seen: table.seen, all: verifiers.length });
  });

  it("shows the programs as they are", () => {
    expectPrograms("lab/clients/verifiers");
  });
});
