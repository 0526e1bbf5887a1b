/** Checks the shape of the options, and says in words what is wrong with it. RFC 6749 §10. */
import { Ajv, type ErrorObject } from "ajv";

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
    validate: (names: readonly string[], value: unknown) =>
      typeof value === "object" &&
      value !== null &&
      names.every((name) => typeof (value as Record<string, unknown>)[name] === "function"),
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
function shapeText({ keyword, parentSchema, data, message = "is wrong" }: ErrorObject): string {
  switch (keyword) {
    case "hasMethods": {
      const names = (parentSchema?.["hasMethods"] ?? []) as readonly string[];
      const methods = (data ?? {}) as Readonly<Record<string, unknown>>;
      return `lacks the method ${names.find((name) => typeof methods[name] !== "function")}`;
    }
    case "isFunction":
      return "must be a function";
    case "minItems":
    case "minProperties":
    case "minLength":
      return "must not be empty";
    default:
      return message;
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
  return !ajv.validate(schema, options) && ajv.errors?.[0] ? describeSchemaError(ajv.errors[0]) : undefined;
}

/** Says only that something inside is wrong, which has an error of its own. */
const aboutOthers = ["if", "propertyNames"];

/** Every error in the shape of options, by their schema. */
export function shapeProblems(schema: object, options: unknown): readonly OptionProblem[] {
  const reader = schemaReader({ allErrors: true });
  if (reader.validate(schema, options)) return [];
  const errors = (reader.errors ?? []).filter(({ keyword }) => !aboutOthers.includes(keyword));
  return errors.map(describeSchemaError);
}
