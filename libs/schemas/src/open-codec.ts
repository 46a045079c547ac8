import { subjectOf, type TopicCodec, WIRE_TOPICS, type WireTopic } from './codec.js';
import type { RegistryConnection } from './connection.js';
import { SchemaError } from './errors.js';
import { createRegistryReader, hostOf } from './registry-client.js';
import { schemaOf } from './schema-files.js';
import { createLookUp } from './schema-lookup.js';
import { createCodec } from './topic-codec.js';

export interface OpenCodecOptions {
  readonly registry: RegistryConnection;
  /** Of the deployment's topics. */
  readonly prefix: string;
}

/**
 * The codec of a deployment. Looks up the ids of this version's schemas, so that encoding needs no registry; never registers.
 * @throws SchemaError `schema_unknown` where a subject lacks the schema of this version, `registry_unavailable`
 */
export async function openCodec({ registry, prefix }: OpenCodecOptions): Promise<TopicCodec> {
  const reader = createRegistryReader(registry);
  const found = await Promise.all(
    WIRE_TOPICS.map(async (topic): Promise<readonly [WireTopic, number | null]> => {
      try {
        return [topic, await reader.idOf(subjectOf(prefix, topic), schemaOf(topic).text)];
      } catch (error) {
        if (error instanceof SchemaError && error.code === 'schema_unknown') return [topic, null];
        throw error;
      }
    }),
  );
  const ids = new Map<WireTopic, number>();
  const missing: string[] = [];
  for (const [topic, id] of found) {
    if (id === null) missing.push(subjectOf(prefix, topic));
    else ids.set(topic, id);
  }
  if (missing.length > 0) {
    throw new SchemaError(
      'schema_unknown',
      `the registry ${hostOf(registry.url)} has not the schemas of this version under ${missing.join(', ')}: run truss deploy schemas`,
    );
  }
  return createCodec({ ids, lookUp: createLookUp(reader.schema, () => performance.now()) });
}
