import { WIRE_TOPICS, type TopicCodec } from './codec.js';
import { SchemaError } from './errors.js';
import { typeOf } from './schema-files.js';
import { createCodec } from './topic-codec.js';

/** The real schemas under fixed ids (1 to the number of topics, in their order), and others under any id above: no registry. */
export function createFixedCodec(others: Readonly<Record<number, unknown>> = {}): TopicCodec {
  return createCodec({
    ids: new Map(WIRE_TOPICS.map((topic, index) => [topic, index + 1])),
    lookUp: (id) => {
      if (others[id] === undefined) throw new SchemaError('schema_unknown', `there is no schema ${id}`);
      return typeOf(others[id]);
    },
  });
}
