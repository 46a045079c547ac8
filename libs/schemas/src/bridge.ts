import { canonicalJson, type JsonObject, type JsonValue } from '#lib/ledger';
import { SchemaError } from './errors.js';

/**
 * Takes the JSON form of a schema's values to what avsc writes (unions wrapped, every field present), and back. The JSON form is what the
 * names say, with bytes as base64, and these attributes of the schema files, which Avro takes for metadata:
 * - `jsonKind` of a record: its JSON has `kind` with this value, by which the records of a union are told apart
 * - `jsonName` of a field: its name in JSON
 * - `jsonAbsent` of a nullable field: null is a key that is not there
 * - `json` of a type: `text` (a string that holds any value as RFC 8785 JSON), `usd` (nano-dollars that are dollars in JSON), `tuple` (a
 *   record that is an array in JSON)
 */
export interface Bridge {
  /** @throws SchemaError `value_malformed` for whatever the schema cannot say: unknown keys, NaN, integers from 2^53 - 1 on */
  toAvro(json: JsonValue | undefined, path: string): unknown;
  /** @throws SchemaError `value_malformed` */
  toJson(value: unknown, path: string): JsonValue;
}

export type AvroSchema = string | readonly AvroSchema[] | AvroObject;
export interface AvroObject {
  readonly type: AvroSchema;
  readonly name?: string;
  readonly namespace?: string;
  readonly doc?: string;
  readonly fields?: readonly AvroField[];
  readonly symbols?: readonly string[];
  readonly items?: AvroSchema;
  readonly values?: AvroSchema;
  readonly json?: 'text' | 'usd' | 'tuple';
  readonly jsonKind?: string;
}
export interface AvroField {
  readonly name: string;
  readonly doc?: string;
  readonly type: AvroSchema;
  readonly default?: JsonValue;
  readonly jsonName?: string;
  readonly jsonAbsent?: boolean;
}

/** A bridge, with the name by which a wrapped union knows its branch, and `kind` where JSON tells it. */
interface Branch extends Bridge {
  readonly name: string;
  readonly kind?: string;
}
type Named = Map<string, Branch>;

const NANO = 1e9;
/** What avsc reads and writes: one less than the integers that JSON readers agree on. */
const MAX_LONG = Number.MAX_SAFE_INTEGER - 1;

/** @throws Error for a schema that has no bridge: a mistake in a schema file */
export function bridgeOf(schema: AvroSchema): Bridge {
  return compile(schema, new Map(), '');
}

function compile(schema: AvroSchema, named: Named, namespace: string): Branch {
  if (typeof schema === 'string') {
    const known = named.get(schema) ?? named.get(`${namespace}.${schema}`);
    return known ?? primitive(schema);
  }
  if (!isObject(schema)) return unionOf(schema.map((branch) => compile(branch, named, namespace)));
  switch (schema.type) {
    case 'record':
      return recordOf(schema, named, schema.namespace ?? namespace);
    case 'enum':
      return registered(schema, named, schema.namespace ?? namespace, enumOf(schema));
    case 'array':
      return arrayOf(compile(schema.items ?? '', named, namespace));
    case 'map':
      return mapOf(compile(schema.values ?? '', named, namespace));
    default:
      if (schema.json === 'text') return TEXT;
      if (schema.json === 'usd') return USD;
      return compile(schema.type, named, namespace);
  }
}

function isObject(schema: AvroSchema): schema is AvroObject {
  return typeof schema === 'object' && !Array.isArray(schema);
}

function registered(schema: AvroObject, named: Named, namespace: string, bridge: Bridge): Branch {
  const name = `${namespace}.${schema.name}`;
  const branch = { ...bridge, name };
  named.set(name, branch);
  return branch;
}

function primitive(name: string): Branch {
  switch (name) {
    case 'null':
      return same(name, 'null', (json) => json === null);
    case 'boolean':
      return same(name, 'true or false', (json) => typeof json === 'boolean');
    case 'int':
      return same(
        name,
        'a whole number within 32 bits',
        (json) => Number.isInteger(json) && json === (Number(json) | 0),
      );
    case 'long':
      return same(name, 'a whole number below 2^53 - 1', (json) => isLong(json));
    case 'double':
      return same(name, 'a number', (json) => Number.isFinite(json));
    case 'string':
      return same(name, 'a text without lone surrogates', (json) => typeof json === 'string' && json.isWellFormed());
    case 'bytes':
      return BYTES;
    default:
      throw new Error(`no bridge for the Avro type ${name}`);
  }
}

function isLong(json: unknown): boolean {
  return Number.isSafeInteger(json) && Math.abs(Number(json)) <= MAX_LONG;
}

/** The same in JSON and in avsc. */
function same(name: string, expected: string, is: (json: unknown) => boolean): Branch {
  const checked = (value: unknown, path: string): JsonValue => {
    if (!is(value)) throw malformed(path, value, expected);
    return value as JsonValue;
  };
  return { name, toAvro: checked, toJson: checked };
}

const BYTES: Branch = {
  name: 'bytes',
  toAvro: (json, path) => {
    const bytes = typeof json === 'string' ? Buffer.from(json, 'base64') : null;
    if (bytes === null || bytes.toString('base64') !== json) throw malformed(path, json, 'base64');
    return bytes;
  },
  toJson: (value) => (value as Buffer).toString('base64'),
};

const TEXT: Branch = {
  name: 'string',
  toAvro: (json, path) => {
    try {
      return canonicalJson(json);
    } catch (cause) {
      throw new SchemaError('value_malformed', `${path} is no JSON`, { cause });
    }
  },
  toJson: (value, path) => {
    try {
      return JSON.parse(value as string) as JsonValue;
    } catch (cause) {
      throw new SchemaError('value_malformed', `${path} holds no JSON text`, { cause });
    }
  },
};

const USD: Branch = {
  name: 'long',
  toAvro: (json, path) => {
    const nearest = typeof json === 'number' ? Math.round(json * NANO) : Number.NaN;
    // From 2^51 on the product may be off by one.
    const nano = [nearest, nearest - 1, nearest + 1].find((one) => isLong(one) && one / NANO === json);
    if (nano === undefined) throw malformed(path, json, 'dollars in whole nano-dollars');
    return nano;
  },
  toJson: (value) => (value as number) / NANO,
};

function enumOf({ symbols = [] }: AvroObject): Bridge {
  const known = new Set<unknown>(symbols);
  return same('', `one of ${symbols.join(', ')}`, (json) => known.has(json));
}

function arrayOf(items: Branch): Branch {
  const each = <From, To>(values: unknown, path: string, one: (value: From, path: string) => To): To[] => {
    if (!Array.isArray(values)) throw malformed(path, values, 'an array');
    return values.map((value: From, index) => one(value, `${path}[${index}]`));
  };
  return {
    name: 'array',
    toAvro: (json, path) => each(json, path, items.toAvro),
    toJson: (value, path) => each(value, path, items.toJson),
  };
}

function mapOf(values: Branch): Branch {
  const each = <From, To>(map: unknown, path: string, one: (value: From, path: string) => To): Record<string, To> => {
    if (!isPlain(map)) throw malformed(path, map, 'an object');
    return Object.fromEntries(Object.entries(map).map(([key, value]) => [key, one(value as From, `${path}.${key}`)]));
  };
  return {
    name: 'map',
    toAvro: (json, path) => each(json, path, values.toAvro),
    toJson: (value, path) => each(value, path, values.toJson),
  };
}

function unionOf(branches: readonly Branch[]): Branch {
  const byName = new Map(branches.map((branch) => [branch.name, branch]));
  const nullable = byName.has('null');
  const values = branches.filter(({ name }) => name !== 'null');
  const kinds = new Map(values.map((branch) => [branch.kind, branch]));
  const pick = (json: JsonValue | undefined, path: string): Branch => {
    const [only] = values;
    if (only !== undefined && values.length === 1) return only;
    const kind = isPlain(json) ? json['kind'] : undefined;
    const found = typeof kind === 'string' ? kinds.get(kind) : undefined;
    if (found === undefined) throw malformed(`${path}.kind`, kind, `one of ${[...kinds.keys()].join(', ')}`);
    return found;
  };
  return {
    name: 'union',
    toAvro: (json, path) => {
      if (json === null && nullable) return null;
      const branch = pick(json, path);
      return { [branch.name]: branch.toAvro(json, path) };
    },
    toJson: (value, path) => {
      if (value === null) return null;
      const [[name, inner] = ['', undefined]] = Object.entries(value as object) as [string, unknown][];
      const branch = byName.get(name);
      if (branch === undefined) throw malformed(path, value, 'a branch of the union');
      return branch.toJson(inner, path);
    },
  };
}

interface FieldBridge {
  readonly name: string;
  readonly key: string;
  readonly absent: boolean;
  readonly fallback: JsonValue | undefined;
  readonly bridge: Branch;
}

function recordOf(schema: AvroObject, named: Named, namespace: string): Branch {
  const fields: FieldBridge[] = [];
  const shape = schema.json === 'tuple' ? tupleOf(fields) : objectOf(fields, schema.jsonKind);
  // Before its fields, which may name it.
  const branch = registered(schema, named, namespace, shape);
  const kinded = schema.jsonKind === undefined ? branch : { ...branch, kind: schema.jsonKind };
  for (const field of schema.fields ?? []) {
    fields.push({
      name: field.name,
      key: field.jsonName ?? field.name,
      absent: field.jsonAbsent ?? false,
      fallback: field.default,
      bridge: compile(field.type, named, namespace),
    });
  }
  return kinded;
}

function objectOf(fields: readonly FieldBridge[], kind: string | undefined): Bridge {
  return {
    toAvro: (json, path) => {
      if (!isPlain(json)) throw malformed(path, json, 'an object');
      if (kind !== undefined && json['kind'] !== kind) throw malformed(`${path}.kind`, json['kind'], kind);
      let left = Object.keys(json).length - (kind === undefined ? 0 : 1);
      const record: Record<string, unknown> = {};
      for (const { name, key, absent, fallback, bridge } of fields) {
        const there = Object.hasOwn(json, key);
        if (there) left -= 1;
        if (there && absent && json[key] === null) throw malformed(`${path}.${key}`, null, 'a value, or no key');
        const value = there ? json[key] : fallback;
        if (value === undefined) throw new SchemaError('value_malformed', `${path}.${key} is missing`);
        record[name] = bridge.toAvro(value, `${path}.${key}`);
      }
      if (left > 0) throw unknownKey(json, path, fields);
      return record;
    },
    toJson: (value, path) => {
      const record = value as Readonly<Record<string, unknown>>;
      const json: Record<string, JsonValue> = kind === undefined ? {} : { kind };
      for (const { name, key, absent, bridge } of fields) {
        if (absent && record[name] === null) continue;
        json[key] = bridge.toJson(record[name], `${path}.${key}`);
      }
      return json;
    },
  };
}

function tupleOf(fields: readonly FieldBridge[]): Bridge {
  return {
    toAvro: (json, path) => {
      const items = Array.isArray(json) ? (json as readonly JsonValue[]) : [];
      if (items.length !== fields.length) throw malformed(path, json, `an array of ${fields.length}`);
      return Object.fromEntries(
        fields.map(({ name, bridge }, at) => [name, bridge.toAvro(items[at], `${path}[${at}]`)]),
      );
    },
    toJson: (value, path) => {
      const record = value as Readonly<Record<string, unknown>>;
      return fields.map(({ name, bridge }, at) => bridge.toJson(record[name], `${path}[${at}]`));
    },
  };
}

function isPlain(json: unknown): json is JsonObject {
  return typeof json === 'object' && json !== null && !Array.isArray(json);
}

function unknownKey(json: JsonObject, path: string, fields: readonly FieldBridge[]): SchemaError {
  const known = new Set(['kind', ...fields.map(({ key }) => key)]);
  const unknown = Object.keys(json).find((key) => !known.has(key)) ?? 'kind';
  return new SchemaError('value_malformed', `${path}.${unknown} is no field of the schema: take it away`);
}

function malformed(path: string, value: unknown, expected: string): SchemaError {
  const shown = value === undefined ? 'missing' : typeof value === 'number' ? String(value) : briefly(value);
  return new SchemaError('value_malformed', `${path} is ${shown}; expected ${expected}`);
}

function briefly(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)?.slice(0, 80) ?? typeof value;
  return Array.isArray(value) ? 'an array' : 'an object';
}
