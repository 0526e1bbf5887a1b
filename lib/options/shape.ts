/** Checks the shape of the options, and says in words what is wrong with it. RFC 6749 §10. */
import { Ajv, type ErrorObject } from "ajv";

/** The first of these methods that a value does not have. */
function missingMethod(names: readonly string[], value: unknown): string | undefined {
  const methods = value as Readonly<Record<string, unknown>> | undefined;
  return names.find((name) => typeof methods?.[name] !== "function");
}

function schemaReader(report: { readonly allErrors: boolean }): Ajv {
  // compiled on first use and not validated against the meta-schema: both would slow down every start
  const reader = new Ajv({
    ...report,
    verbose: true,
    allowUnionTypes: true,
    meta: false,
    validateSchema: false,
    code: { optimize: false },
  });
  reader.addKeyword({
    keyword: "isFunction",
    validate: (_: unknown, value: unknown) => typeof value === "function",
  });
  reader.addKeyword({
    keyword: "hasMethods",
    validate: (names: readonly string[], value: unknown) => missingMethod(names, value) === undefined,
  });
  return reader;
}

const ajv = schemaReader({ allErrors: false });

interface DescribedSchema {
  readonly description?: string;
  readonly properties?: Readonly<Record<string, DescribedSchema>>;
}

/** What is wrong with an option, by its path, and what to write instead. */
export interface OptionProblem {
  readonly path: string;
  readonly problem: string;
  readonly fix: string;
}

function joinPath(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}

/** What is wrong with a value, in words for the host developer. */
function shapeText({ keyword, schema, data, message }: ErrorObject): string {
  switch (keyword) {
    case "hasMethods":
      return `lacks the method ${missingMethod(schema as readonly string[], data)}`;
    case "isFunction":
      return "must be a function";
    case "minItems":
    case "minProperties":
    case "minLength":
      return "must not be empty";
    default:
      return String(message);
  }
}

/** Translates an error of the schema into words for the host developer. */
function describeSchemaError(error: ErrorObject): OptionProblem {
  const { instancePath, keyword, params, parentSchema } = error;
  const at = instancePath.slice(1).replaceAll("/", ".").replaceAll("~1", "/").replaceAll("~0", "~");
  const { properties = {}, description = "" } = (parentSchema ?? {}) as DescribedSchema;
  if (keyword === "required") {
    const name = String(params["missingProperty"]);
    return { path: joinPath(at, name), problem: "is missing", fix: properties[name]?.description ?? "" };
  }
  if (keyword === "additionalProperties") {
    const path = joinPath(at, String(params["additionalProperty"]));
    return {
      path,
      problem: "is not an option",
      fix: `Known options: ${Object.keys(properties).join(", ")}.`,
    };
  }
  return {
    path: at === "" ? "options" : at,
    problem: shapeText(error),
    fix: description,
  };
}

/** The first error in the shape of options, by their schema. */
export function shapeProblem(schema: object, options: unknown): OptionProblem | undefined {
  ajv.validate(schema, options);
  const [first] = ajv.errors ?? [];
  return first && describeSchemaError(first);
}

/** Says only that something inside is wrong, which has an error of its own. */
const aboutOthers = ["if", "propertyNames"];

/** Every error in the shape of options, by their schema. */
export function shapeProblems(schema: object, options: unknown): readonly OptionProblem[] {
  const reader = schemaReader({ allErrors: true });
  reader.validate(schema, options);
  const errors = (reader.errors ?? []).filter(({ keyword }) => !aboutOthers.includes(keyword));
  return errors.map(describeSchemaError);
}
