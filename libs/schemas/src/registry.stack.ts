import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { startRegistry, openDoorway, type PrivateRegistry } from '../../../test/stack/registry.testkit.js';
import { WIRE_TOPICS, subjectOf, type TopicCodec } from './codec.js';
import { deploySchemas } from './deploy-schemas.js';
import { openCodec } from './open-codec.js';
import { pingRegistry } from './ping-registry.js';
import { createRegistryReader } from './registry-client.js';
import { askRegistry } from './registry-http.js';
import { schemaOf } from './schema-files.js';
import { ENTRY, valuesOf } from './values.testkit.js';

const registry = { url: inject('stack').registry };
const prefixOf = () => `t-${randomBytes(4).toString('hex')}.`;
const register = (subject: string, schema: unknown) =>
  askRegistry(registry, 'POST', `/subjects/${subject}/versions`, { schema: JSON.stringify(schema) });

describe('deploying schemas', () => {
  test('registers each under its topic, sets BACKWARD_TRANSITIVE, and does nothing the second time', async () => {
    const prefix = prefixOf();
    const first = await deploySchemas({ registry, prefix });
    expect(first.map(({ topic, subject, did }) => [topic, subject, did])).toEqual(
      WIRE_TOPICS.map((topic) => [topic, `${prefix}${topic}-value`, 'registered']),
    );
    for (const { subject } of first)
      expect((await askRegistry(registry, 'GET', `/config/${subject}`)).body).toEqual({
        compatibilityLevel: 'BACKWARD_TRANSITIVE',
      });
    const second = await deploySchemas({ registry, prefix });
    expect(second).toEqual(first.map((one) => ({ ...one, did: 'unchanged', raisedFrom: null })));
  });

  test('refuses what cannot read an earlier version, with the reason of the registry', async () => {
    const prefix = prefixOf();
    const other = {
      type: 'record',
      name: 'EvaluationIndex',
      namespace: 'truss.eval',
      fields: [{ name: 'eval_run_id', type: 'string' }],
    };
    await register(subjectOf(prefix, 'eval.index'), other);
    await expect(deploySchemas({ registry, prefix })).rejects.toThrowError(
      expect.objectContaining({ code: 'schema_incompatible', message: expect.stringMatching(/eval\.index.*from/s) }),
    );
  });

  test('raises a weaker level, and says so', async () => {
    const prefix = prefixOf();
    const subject = subjectOf(prefix, 'eval.index');
    await register(subject, schemaOf('eval.index').schema);
    await askRegistry(registry, 'PUT', `/config/${subject}`, { compatibility: 'FORWARD' });
    const done = await deploySchemas({ registry, prefix });
    expect(done.find(({ topic }) => topic === 'eval.index')).toMatchObject({ did: 'unchanged', raisedFrom: 'FORWARD' });
  });
});

describe('a codec over the registry', () => {
  let codec: TopicCodec;
  const prefix = prefixOf();
  beforeAll(async () => {
    await deploySchemas({ registry, prefix });
    codec = await openCodec({ registry, prefix });
  });

  test('encodes without asking, and another process reads it', async () => {
    const other = await openCodec({ registry, prefix });
    for (const [topic, values] of Object.entries(await valuesOf()))
      for (const value of values) {
        const bytes = codec.encode(topic as 'eval.report', value);
        expect(bytes).toBeInstanceOf(Uint8Array);
        expect(await other.decode(topic as 'eval.report', await bytes)).toStrictEqual(value);
      }
    const entry = await other.decode('eval.ledger', await codec.encode('eval.ledger', ENTRY));
    expect(Buffer.from(entry.payload)).toEqual(Buffer.from(ENTRY.payload));
  });

  test('reads what an earlier schema wrote, by the id in the record', async () => {
    const schema = {
      type: 'record',
      name: 'EvaluationIndex',
      namespace: 'truss.eval',
      fields: [
        { name: 'eval_run_id', type: 'string' },
        { name: 'from', type: 'long' },
      ],
    };
    const { body } = await register(`${prefix}earlier-value`, schema);
    const bytes = Buffer.from([0, 0, 0, 0, 0, 4, 101, 118, 8]);
    bytes.writeUInt32BE((body as { id: number }).id, 1);
    expect(await codec.decode('eval.index', bytes)).toEqual({ eval_run_id: 'ev', from: 4, outcome: null });
    // From now on without asking.
    expect(codec.decode('eval.index', bytes)).toEqual({ eval_run_id: 'ev', from: 4, outcome: null });
  });

  test('says of an id that nobody registered that it is unknown, and of a schema of something else that it does not fit', async () => {
    await expect(codec.decode('eval.index', Buffer.from([0, 0x7f, 0xff, 0xff, 0xff, 0]))).rejects.toMatchObject({
      code: 'schema_unknown',
      retryable: false,
    });
    const { body } = await register(`${prefix}other-value`, { type: 'record', name: 'Other', fields: [] });
    const bytes = Buffer.alloc(5);
    bytes.writeUInt32BE((body as { id: number }).id, 1);
    await expect(codec.decode('eval.index', bytes)).rejects.toMatchObject({ code: 'schema_incompatible' });
  });

  test('is not opened where the schemas were not deployed, and says what to do', async () => {
    await expect(openCodec({ registry, prefix: prefixOf() })).rejects.toThrowError(
      /eval\.requested-value.*run truss deploy schemas/,
    );
  });
});

describe('a registry over TLS with a password', () => {
  test('is used with both, and with a wrong password says to check it', async () => {
    const door = await openDoorway(registry.url);
    try {
      const { url, ca, username, password } = door;
      const prefix = prefixOf();
      const connection = { url, username, password, tls: { ca } };
      await deploySchemas({ registry: connection, prefix });
      const codec = await openCodec({ registry: connection, prefix });
      expect(codec.encode('eval.ledger', ENTRY)).toBeInstanceOf(Uint8Array);
      const wrong = { ...connection, password: 'wrong' };
      expect(await pingRegistry(connection)).toBeNull();
      expect(await pingRegistry(wrong)).toBe('refuses the credentials (401)');
      await expect(openCodec({ registry: wrong, prefix })).rejects.toMatchObject({
        code: 'registry_unavailable',
        message: expect.stringContaining('check the credentials'),
      });
      await expect(openCodec({ registry: { url, username, password }, prefix })).rejects.toMatchObject({
        code: 'registry_unavailable',
      });
    } finally {
      await door.close();
    }
  });
});

describe('a registry that does not answer', () => {
  let own: PrivateRegistry;
  beforeAll(async () => {
    own = await startRegistry();
  });
  afterAll(async () => own.close());

  test('costs a deadline and says nothing of the record; when it is back the same record is read', async () => {
    const connection = { url: own.url };
    await deploySchemas({ registry: connection, prefix: '' });
    const reader = createRegistryReader(connection, 300);
    const id = await reader.idOf('eval.index-value', schemaOf('eval.index').text);
    own.part.pause();
    const begun = performance.now();
    await expect(reader.schema(id)).rejects.toMatchObject({ code: 'registry_unavailable', retryable: true });
    expect(performance.now() - begun).toBeLessThan(2_000);
    own.part.resume();
    expect((await createRegistryReader(connection).schema(id)).name).toBe('truss.eval.EvaluationIndex');
    await own.part.kill();
    expect(await pingRegistry(connection)).toMatch(/cannot be reached/);
    await expect(reader.schema(id)).rejects.toMatchObject({ code: 'registry_unavailable', retryable: true });
  });
});
