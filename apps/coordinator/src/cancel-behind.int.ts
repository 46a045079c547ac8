import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { evaluationOf } from '#lib/evaluation';
import { openSqliteLog, type TopicRecord, type Topics } from '#lib/event-log';
import { openTrustStore } from '#lib/ledger';
import { EvaluationViews } from '#lib/runtime';
import { contractWith } from '../../../libs/contract/src/smallest.testkit.js';
import { requestFor } from '../../../libs/evaluation/src/scene.testkit.js';
import { testPorts } from '../../../libs/runtime/src/ports.testkit.js';
import { trust } from '../../../libs/verification/src/evaluation.testkit.js';
import { OwnerService } from './owner.service.js';

/** More than are opened at once. */
const OPEN = 100;

/** Delivers like Kafka: nothing while there is no room for it. */
function bounded(topics: Topics, held: () => void): Topics {
  return {
    ...topics,
    consume: async (topic, group, handler) => {
      const waiting: TopicRecord[] = [];
      const resume = (): void => {
        while (waiting.length > 0 && handler.full?.(0) !== true) handler.record(waiting.shift() as TopicRecord);
        if (waiting.length > 0) held();
      };
      const consumer = await topics.consume(topic, group, {
        record: (record) => {
          waiting.push(record);
          resume();
        },
      });
      return { ...consumer, resume };
    },
  };
}

test('a cancel behind more open evaluations than are opened at once is heard', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'truss-owner-'));
  const keys = openTrustStore(trust);
  const open = openSqliteLog({ file: join(folder, 'truss.db'), keys, mode: 'drive' });
  const failures: unknown[] = [];
  let waited = false;
  const ports = testPorts({
    log: open.log,
    topics: bounded(open.topics, () => {
      waited = true;
    }),
    keys,
    fatal: (error) => failures.push(error),
  });
  const ids: string[] = [];
  for (let n = 0; n < OPEN; n++) {
    const request = requestFor(contractWith(), { request_id: `request ${n}`, deadline_ms: 3_600_000 });
    const id = evaluationOf(request);
    ids.push(id);
    const accepted = { kind: 'eval', eval_run_id: id, accepted_at: Date.now(), from: 0, request } as const;
    await open.topics.publish('eval.accepted', id, accepted);
  }
  const [first = ''] = ids;
  const cancel = { kind: 'cancel', eval_run_id: first, reason: 'no longer wanted', accepted_at: Date.now() };
  await open.topics.publish('eval.accepted', first, cancel);

  const service = new OwnerService(ports, new EvaluationViews(ports));
  await service.onApplicationBootstrap();
  const ended = async (): Promise<unknown[]> => {
    const found: unknown[] = [];
    for await (const { key, value } of open.topics.list('eval.index')) {
      const { outcome } = value as { outcome: string | null };
      if (outcome !== null) found.push([key, outcome]);
    }
    return found;
  };
  await expect.poll(ended, { timeout: 30_000 }).toEqual([[first, 'cancelled']]);
  expect(waited).toBe(true);
  await service.onApplicationShutdown();
  await open.close();
  rmSync(folder, { recursive: true, force: true });
  expect(failures).toEqual([]);
});
