import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { deploy } from './deployment.testkit.js';

const IDLE_MS = 8_000;

test('a process that waits uses at most 2 % of a core, and Node warns of no negative timer', async () => {
  const warnings: string[] = [];
  const warned = ({ name }: Error): void => void warnings.push(name);
  process.on('warning', warned);
  const deployment = await deploy(4);
  const log = await deployment.open();
  // As many as a coordinator, an executor and a projector in one process have.
  for (const topic of ['eval.requested', 'eval.accepted', 'eval.child-run.commands', 'eval.report'] as const) {
    await log.topics.consume(topic, 'idle', { record: () => {} });
  }
  await log.topics.publish('eval.index', 'key', {});
  await sleep(1_500);
  const before = process.cpuUsage();
  await sleep(IDLE_MS);
  const { user, system } = process.cpuUsage(before);
  await deployment.close();
  process.off('warning', warned);
  expect((user + system) / 1_000 / IDLE_MS).toBeLessThan(0.02);
  expect(warnings).toEqual([]);
});
