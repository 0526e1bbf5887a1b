/** Compiles the JSON Schemas of options and records with ajv. In `dist/`, `compile-schemas.js` puts the compiled functions in its place. */
import { _, Ajv } from "ajv";

/** Options are told all that is wrong with them. A record is told the first, and has only own properties. */
export type SchemaKind = "options" | "records";

/** A schema, with the name by which `dist/` finds its function. */
export interface NamedSchema {
  readonly $id: string;
}

/** What a value breaks: a keyword of the schema, and where. */
export interface SchemaError {
  readonly keyword: string;
  /** Where in the value, as RFC 6901 writes it. */
  readonly instancePath: string;
  /** Where in the schema, as RFC 6901 writes it, after `#`. */
  readonly schemaPath: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly message?: string;
}

/**
 * What compiles, with `source` for the build. Compiling makes code from strings, which hardened processes refuse.
 *
 * @internal
 */
export function schemaCompiler(kind: SchemaKind, { source }: { readonly source: boolean }): Ajv {
  const ajv = new Ajv({
    ...(kind === "options" ? { allErrors: true } : { ownProperties: true }),
    allowUnionTypes: true,
    // the schemas are our own
    meta: false,
    validateSchema: false,
    code: { source, optimize: source },
  });
  ajv.addKeyword({ keyword: "isFunction", code: (cxt) => cxt.fail(_`typeof ${cxt.data} !== "function"`) });
  ajv.addKeyword({
    keyword: "hasMethods",
    error: { message: "lacks a method", params: ({ params }) => _`{ missing: ${params["missing"]} }` },
    code(cxt) {
      const first = (cxt.schema as readonly string[]).reduceRight(
        (others, name) => _`typeof ${cxt.data}?.[${name}] !== "function" ? ${name} : ${others}`,
        _`undefined`,
      );
      const missing = cxt.gen.const("missing", first);
      cxt.setParams({ missing });
      cxt.fail(_`${missing} !== undefined`);
    },
  });
  return ajv;
}

const compilers = {
  options: schemaCompiler("options", { source: false }),
  records: schemaCompiler("records", { source: false }),
};

/** What a value breaks of a schema; empty where it is right. */
export function schemaErrors(
  value: unknown,
  { kind, schema }: { readonly kind: SchemaKind; readonly schema: NamedSchema },
): readonly SchemaError[] {
  const check = compilers[kind].compile(schema);
  return check(value) ? [] : (check.errors ?? []);
}
