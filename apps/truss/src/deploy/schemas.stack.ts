import { randomBytes } from 'node:crypto';
import { describe, expect, inject, test } from 'vitest';
import { truss, withEnv } from '../in-process.testkit.js';

const { registry } = inject('stack');
const prefixOf = () => `t-${randomBytes(4).toString('hex')}.`;

describe('truss deploy schemas', () => {
  test('says of every subject what it did, and the second time that nothing was to do', async () => {
    const prefix = prefixOf();
    const first = await truss('deploy', 'schemas', '--registry', registry, '--prefix', prefix);
    expect(first).toMatchObject({ code: 0, stderr: '' });
    const lines = first.stdout.trim().split('\n');
    expect(lines).toHaveLength(9);
    for (const line of lines)
      expect(line).toMatch(/^t-\S+-value +registered: schema \d+, compatibility BACKWARD_TRANSITIVE \(was \w+\)$/);
    withEnv({ TRUSS_REGISTRY: registry });
    const again = await truss('deploy', 'schemas', '--prefix', prefix);
    expect(
      again.stdout
        .trim()
        .split('\n')
        .map((line) => line.split(/ +/).slice(1, 4).join(' ')),
    ).toEqual(lines.map((line) => `unchanged: schema ${/schema (\d+)/.exec(line)?.[1]}`));
  });

  test("refuses a schema that cannot read what was written, with the registry's reason and exit code 2", async () => {
    const prefix = prefixOf();
    const schema = JSON.stringify({ type: 'record', name: 'EvaluationIndex', namespace: 'truss.eval', fields: [] });
    await fetch(`${registry}/subjects/${prefix}eval.index-value/versions`, {
      method: 'POST',
      headers: { 'content-type': 'application/vnd.schemaregistry.v1+json' },
      body: JSON.stringify({ schema }),
    });
    const said = await truss('deploy', 'schemas', '--registry', registry, '--prefix', prefix);
    expect(said.code).toBe(2);
    expect(said.stderr).toMatch(/eval\.index cannot read what was written with an earlier one/);
  });

  test('without a registry says which setting is missing', async () => {
    withEnv({ TRUSS_REGISTRY: undefined });
    expect(await truss('deploy', 'schemas')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('TRUSS_REGISTRY'),
    });
  });
});
