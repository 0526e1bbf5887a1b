/** Checks the shape of the options, and says in words what is wrong with it. RFC 6749 §10. */
import { type NamedSchema, type SchemaError, schemaErrors } from "../schemas/compile";

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
function shapeText({ keyword, params, message }: SchemaError): string {
  switch (keyword) {
    case "hasMethods":
      return `lacks the method ${String(params["missing"])}`;
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

/** Says only that something inside is wrong, which has an error of its own. */
const aboutOthers = ["if", "propertyNames"];

/** Every error in the shape of options, by their schema. */
export function shapeProblems(schema: NamedSchema, options: unknown): readonly OptionProblem[] {
  return schemaErrors(options, { kind: "options", schema })
    .filter(({ keyword }) => !aboutOthers.includes(keyword))
    .map((error) => describeSchemaError(schema, error));
}
