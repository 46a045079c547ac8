import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import specifications from '@asyncapi/specs';
import { Ajv, type AnySchemaObject } from 'ajv';
import { beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import type { AvroObject } from './bridge.js';
import { CONTENT_TYPE, cloudEventHeaders, EVENT_TYPES } from './cloud-events.js';
import { WIRE_TOPICS, type WireTopic } from './codec.js';
import { SCHEMAS_FOLDER } from './schema-files.js';

interface Reference {
  readonly $ref: string;
}
interface Message {
  readonly name: string;
  readonly contentType: string;
  readonly headers: Reference;
  readonly payload: { readonly schema: Reference };
  readonly bindings: { readonly kafka: { readonly key: { readonly description: string } } };
}
interface Channel {
  readonly address: string;
  readonly title: string;
  readonly messages: Record<string, Reference>;
}
interface Document {
  readonly channels: Record<string, Channel>;
  readonly operations: Record<string, { readonly channel: Reference }>;
  readonly components: {
    readonly messages: Record<string, Message>;
    readonly schemas: Record<string, AnySchemaObject>;
  };
}

const FILE = join(dirname(SCHEMAS_FOLDER), 'docs/asyncapi.yaml');
const text = readFileSync(FILE, 'utf8');
const document = parse(text) as Document;
const channels = Object.values(document.channels);

/** What stands at a reference, here or in another file. */
function at(reference: string): unknown {
  const [file = '', pointer = ''] = reference.split('#');
  const whole: unknown = file === '' ? document : JSON.parse(readFileSync(join(dirname(FILE), file), 'utf8'));
  const steps = pointer.split('/').slice(1);
  return steps.reduce((value, step) => (value as Record<string, unknown>)[step], whole);
}

describe('docs/asyncapi.yaml', () => {
  let ajv: Ajv;
  beforeAll(() => {
    ajv = new Ajv({ strict: false, validateFormats: false, allErrors: true });
  });

  test('is AsyncAPI 3.0, with its Kafka bindings', () => {
    const validate = ajv.compile(specifications.schemasWithoutId['3.0.0'] as AnySchemaObject);
    expect([validate(document), validate.errors]).toEqual([true, null]);
    // The test can fail: a binding that Kafka has not.
    expect(validate(parse(text.replace('schemaIdLocation: payload', 'schemaIdLocation: nowhere')))).toBe(false);
  });

  test('describes every topic of the code once, and no other', () => {
    expect(channels.map(({ title }) => title).toSorted()).toEqual(WIRE_TOPICS.toSorted());
    for (const { address, title } of channels) expect(address).toBe(`{prefix}${title}`);
  });

  test('has no reference that leads nowhere', () => {
    const references = [...text.matchAll(/\$ref: '([^']+)'/g)].map(([, reference = '']) => reference);
    expect(references.length).toBeGreaterThan(40);
    for (const reference of references) expect([reference, at(reference)]).not.toEqual([reference, undefined]);
  });

  test('has an operation for each topic', () => {
    const used = Object.values(document.operations).map(({ channel }) => channel.$ref);
    expect(used.toSorted()).toEqual(
      Object.keys(document.channels)
        .map((id) => `#/channels/${id}`)
        .toSorted(),
    );
  });

  test.each(channels.map((channel) => [channel.title as WireTopic, channel] as const))(
    'gives for %s the schema file, the record names and the headers of the code',
    (topic, { messages }) => {
      const schema = at(`../schemas/${topic}.avsc`) as AvroObject | readonly AvroObject[];
      const records = Array.isArray(schema) ? (schema as readonly AvroObject[]) : [schema as AvroObject];
      expect(Object.keys(messages)).toEqual(records.map(({ name }) => name));
      for (const [index, { name = '' }] of records.entries()) {
        const message = document.components.messages[name] as Message;
        const pointer = records.length === 1 ? '' : `#/${index}`;
        expect(message).toMatchObject({ name, contentType: CONTENT_TYPE });
        expect(message.payload.schema.$ref).toBe(`../schemas/${topic}.avsc${pointer}`);
        const headers = cloudEventHeaders({
          type: EVENT_TYPES[topic],
          source: '/truss',
          subject: 's',
          id: 'i',
          time: '2026-01-01T00:00:00Z',
        });
        const valid = ajv.compile({
          ...(at(message.headers.$ref) as AnySchemaObject),
          components: document.components,
        });
        expect(valid(headers)).toBe(true);
        expect(valid({ ...headers, ce_type: 'truss.eval.other.v1' })).toBe(false);
      }
    },
  );

  test("names the field that is each topic's key", () => {
    const keys = channels.map(({ title, messages }) => {
      const [first = ''] = Object.keys(messages);
      return [title, document.components.messages[first]?.bindings.kafka.key.description];
    });
    expect(Object.fromEntries(keys)).toEqual({
      'eval.requested': 'Free.',
      'eval.accepted': 'eval_run_id.',
      'eval.child-run.commands': 'child_run_id.',
      'eval.ledger': 'eval_run_id.',
      'eval.index': 'eval_run_id.',
      'eval.attachment': 'SHA-256 of the whole, in hex.',
      'eval.contract': 'Id of the contract, @ and its digest.',
      'eval.report': 'eval_run_id.',
      'eval.dead-letter': 'The key that the record came with.',
    });
  });
});
