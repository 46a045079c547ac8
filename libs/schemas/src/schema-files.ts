import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import avsc, { type Type } from 'avsc';
import type { AvroSchema } from './bridge.js';
import type { WireTopic } from './codec.js';

const root = dirname(createRequire(import.meta.url).resolve('#package.json'));

/** Where the schema files lie: `<topic>.avsc`. */
export const SCHEMAS_FOLDER = join(root, 'schemas');

export interface TopicSchema {
  /** What is registered, character for character: registries tell schemas apart by their text. */
  readonly text: string;
  readonly schema: AvroSchema;
  readonly type: Type;
}

const loaded = new Map<WireTopic, TopicSchema>();

/** The schema of a topic's values in this version. Read once. */
export function schemaOf(topic: WireTopic): TopicSchema {
  const known = loaded.get(topic);
  if (known !== undefined) return known;
  const schema = readSchema(join(SCHEMAS_FOLDER, `${topic}.avsc`));
  loaded.set(topic, schema);
  return schema;
}

/** @throws Error for a file that is no Avro schema */
export function readSchema(file: string): TopicSchema {
  const schema = JSON.parse(readFileSync(file, 'utf8')) as AvroSchema;
  return { text: JSON.stringify(schema), schema, type: typeOf(schema) };
}

/** Always wrapped unions: what a value looks like does not change with the branches that are added. */
export function typeOf(schema: unknown): Type {
  return avsc.Type.forSchema(schema as avsc.Schema, { wrapUnions: 'always', omitRecordMethods: true });
}
