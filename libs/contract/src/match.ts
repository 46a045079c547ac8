import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { Json, JsonTable } from './shapes.js';
import type { Table } from './table.js';
import type { MatchCriterion } from './types.js';

/** Whether an answer matches, and if not, why: one line that does not repeat what was expected. */
export type Match = { matched: true } | { matched: false; reason: string };

/**
 * Holds a file's text against a (rendered) match criterion. `equals` ignores white space around either; `regex` may match anywhere;
 * `json_schema` (draft 2020-12) is asked of the text as JSON.
 */
export function matchText(criterion: MatchCriterion, text: string): Match {
  if ('equals' in criterion) {
    return text.trim() === criterion.equals.trim() ? { matched: true } : { matched: false, reason: 'the text differs' };
  }
  if ('regex' in criterion) {
    return compileRegex(criterion.regex).test(text)
      ? { matched: true }
      : { matched: false, reason: 'the pattern is not found' };
  }
  let value: Json;
  try {
    value = JSON.parse(text);
  } catch {
    return { matched: false, reason: 'the text is not JSON' };
  }
  const validate = compileSchema(criterion.json_schema);
  if (validate(value)) return { matched: true };
  const [first] = validate.errors ?? [];
  return {
    matched: false,
    reason: `${first?.instancePath || 'the value'} ${first?.message ?? 'does not fit the schema'}`,
  };
}

/** @throws SyntaxError */
export function compileRegex(source: string): RegExp {
  return new RegExp(source, 'u');
}

const compiled = new WeakMap<JsonTable, ValidateFunction>();

/**
 * Strict: an unknown keyword is an error, so that a misspelt schema cannot pass everything.
 * @throws Error when the schema is not one
 */
function compileSchema(schema: JsonTable): ValidateFunction {
  const known = compiled.get(schema);
  if (known) return known;
  const ajv = new Ajv2020({ strict: true, strictRequired: false, validateFormats: false, logger: false });
  const validate = ajv.compile(schema);
  compiled.set(schema, validate);
  return validate;
}

/** `json_schema` of a file: a table, or JSON text in a string (the only way to write `null`). */
export function readSchema(text: string, table: Table): JsonTable {
  const at = table.node.entries.get('json_schema')?.node.at ?? table.node.at;
  try {
    const schema: Json = JSON.parse(text);
    if (schema === null || typeof schema !== 'object' || Array.isArray(schema)) throw new Error('it is not an object');
    compileSchema(schema);
    return schema;
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    table.problems.add('invalid', at, 'bad `json_schema`', `${reason}; expected a JSON Schema (draft 2020-12)`, cause);
    return {};
  }
}
