import { randomBytes } from 'node:crypto';
import { expect, inject, test } from 'vitest';
import { truss } from '../in-process.testkit.js';

const { brokers, registry } = inject('stack');

test('truss deploy index says what it found, and that the index is complete', async () => {
  const prefix = `t-${randomBytes(4).toString('hex')}.`;
  const flags = ['--brokers', brokers.join(','), '--prefix', prefix, '--registry', registry];
  expect(await truss('deploy', 'topics', ...flags)).toMatchObject({ code: 0 });
  expect(await truss('deploy', 'schemas', ...flags)).toMatchObject({ code: 0 });
  expect(await truss('deploy', 'index', ...flags)).toMatchObject({
    code: 0,
    stderr: '',
    stdout: expect.stringMatching(/eval\.index {2}complete: 0 evaluations in \d+ partitions, 0 of them written now\n$/),
  });
});
