import { afterAll, expect, test } from 'vitest';
import { deploy } from './deployment.testkit.js';

const deployment = await deploy();
afterAll(() => deployment.close());

test('a report of ten thousand runs is one record, and comes out as it went in', async () => {
  const { topics } = await deployment.open();
  const children = Array.from({ length: 10_000 }, (_, at) => ({
    child_run_id: `ev_${'0'.repeat(32)}.0.on.1.${at + 1}`,
    verdict: 'pass',
    refs: 'x'.repeat(500),
  }));
  const value = { children };
  await topics.publish('eval.report', 'large', value);
  const found: unknown[] = [];
  const consumer = await topics.consume('eval.report', 'large', { record: (record) => void found.push(record.value) });
  await expect.poll(() => found.length, { timeout: 30_000 }).toBe(1);
  expect(found[0]).toEqual(value);
  await consumer.stop();
});
