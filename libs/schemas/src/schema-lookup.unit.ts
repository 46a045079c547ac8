import avsc from 'avsc';
import { describe, expect, test } from 'vitest';
import { SchemaError } from './errors.js';
import { createLookUp } from './schema-lookup.js';

const TYPE = avsc.Type.forSchema('string');

describe('looking up a schema', () => {
  test('that many records need at once asks the registry once', async () => {
    let asked = 0;
    const lookUp = createLookUp(
      async () => (asked++, TYPE),
      () => 0,
    );
    await Promise.all([lookUp(1), lookUp(1), lookUp(1)]);
    expect(asked).toBe(1);
  });

  test('that nobody registered asks again only after a while', async () => {
    let [asked, now] = [0, 0];
    const lookUp = createLookUp(
      async () => {
        asked += 1;
        throw new SchemaError('schema_unknown', 'nobody registered it');
      },
      () => now,
    );
    for (now of [0, 1_000, 29_999]) await expect(lookUp(7)).rejects.toThrowError('nobody registered it');
    expect(asked).toBe(1);
    now = 30_000;
    await expect(lookUp(7)).rejects.toThrowError('nobody registered it');
    expect(asked).toBe(2);
  });

  test('that nobody could be asked for asks again at once', async () => {
    let asked = 0;
    const lookUp = createLookUp(
      async () => {
        if (++asked === 1) throw new SchemaError('registry_unavailable', 'it is down');
        return TYPE;
      },
      () => 0,
    );
    await expect(lookUp(7)).rejects.toMatchObject({ retryable: true });
    expect(await lookUp(7)).toBe(TYPE);
  });

  test('of more ids than anybody could have registered keeps to its memory', async () => {
    let asked = 0;
    const lookUp = createLookUp(
      async () => {
        asked += 1;
        throw new SchemaError('schema_unknown', 'nobody registered it');
      },
      () => 0,
    );
    for (let id = 0; id <= 10_000; id++) await lookUp(id).catch(() => {});
    await lookUp(10_000).catch(() => {});
    expect(asked).toBe(10_001);
    await lookUp(0).catch(() => {});
    expect(asked).toBe(10_002);
  });
});
