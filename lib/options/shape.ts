/** Copies the options, which the host may change later, and says in words what is wrong with their shape. RFC 6749 §10. */
import { type NamedSchema, type SchemaError, schemaErrors } from "../schemas/compile";
import { type OptionProblem, type Wrong, wrong } from "./problem";
import { copyPlain, type Parts, typeForms } from "../host/plain";
import type { AuthServerOptions } from "./options";

interface DescribedSchema {
  readonly description?: string;
  readonly properties?: Readonly<Record<string, DescribedSchema>>;
}

function joinPath(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}

function shapeProblem({ keyword, params, message }: SchemaError): Wrong {
  switch (keyword) {
    case "hasMethods":
      return wrong("option-without-method", String(params["missing"]));
    case "isFunction":
      return wrong("option-not-a-function");
    case "minItems":
    case "minProperties":
    case "minLength":
      return wrong("option-empty");
    default: {
      const form = typeForms[String(params["type"])];
      return wrong("option-of-wrong-form", form === undefined ? String(message) : `must be ${form}`);
    }
  }
}

/** The part of a schema that has the keyword at this path. None of its names needs escaping. */
function partOf(schema: NamedSchema, schemaPath: string): DescribedSchema {
  const names = schemaPath.split("/").slice(1, -1);
  return names.reduce<object>((part, name) => Reflect.get(part, name) as object, schema);
}

/** Translates an error of the schema into words for the host developer. */
function describeSchemaError(schema: NamedSchema, error: SchemaError): OptionProblem {
  const { instancePath, schemaPath, keyword, params } = error;
  const at = instancePath.slice(1).replaceAll("/", ".").replaceAll("~1", "/").replaceAll("~0", "~");
  const { properties = {}, description = "" } = partOf(schema, schemaPath);
  if (keyword === "required") {
    const name = String(params["missingProperty"]);
    return { path: joinPath(at, name), ...wrong("option-missing"), fix: properties[name]?.description ?? "" };
  }
  if (keyword === "additionalProperties") {
    const path = joinPath(at, String(params["additionalProperty"]));
    return {
      path,
      ...wrong("option-unknown"),
      fix: `Known options: ${Object.keys(properties).join(", ")}.`,
    };
  }
  return {
    path: at === "" ? "options" : at,
    ...shapeProblem(error),
    fix: description,
  };
}

/** Says only that something inside is wrong, which has its own error. */
const aboutOthers = ["if", "propertyNames"];

/** Every error in the shape of options, by their schema. */
export function shapeProblems(schema: NamedSchema, options: unknown): readonly OptionProblem[] {
  return schemaErrors(options, { kind: "options", schema })
    .filter(({ keyword }) => !aboutOthers.includes(keyword))
    .map((error) => describeSchemaError(schema, error));
}

/** A copy of options, which need not be right, and the objects in it that are refused because they are not plain. */
export interface PlainOptions<Options> {
  readonly options: Options;
  readonly problems: readonly OptionProblem[];
}

/** Copies options with these parts. */
export function plainOptionsOf<Options>(given: Options, parts: Parts): PlainOptions<Options> {
  const { copy, notPlain } = copyPlain(given, parts);
  const fix = "Storage and adapters alone may be of a class.";
  const problems = notPlain.map((path) => ({
    path: path === "" ? "options" : path,
    ...wrong("option-not-plain"),
    fix,
  }));
  return { options: copy as Options, problems };
}

const openid = { scopes: {} };
const api = { scopes: { "*": {} }, lifetimes: {}, openid, dpop: {}, tokenExchange: { "*": openid } };
const parts = { apis: { "*": api }, authMethods: {}, lifetimes: {}, pages: { texts: { "*": {} } } };

/** A plain copy of options. Functions, keys, storage and adapters are the host's own. */
export function plainOptions(given: AuthServerOptions): PlainOptions<AuthServerOptions> {
  return plainOptionsOf(given, parts);
}
