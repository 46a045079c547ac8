import { afterAll, beforeAll, expect, test } from 'vitest';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TopicRecord } from '#lib/event-log';
import type { KafkaLog } from '#lib/event-log/kafka';
import { type Deployment, deploy } from '../../event-log/src/kafka/deployment.testkit.js';
import { consumeTracked } from './consume.js';

const SOON = { timeout: 20_000, interval: 20 };
const MOST = 10;
const MANY = 100;

let deployment: Deployment;
let log: KafkaLog;
beforeAll(async () => {
  deployment = await deploy(1);
  log = await deployment.open();
});
afterAll(() => deployment.close());

interface Work {
  readonly record: TopicRecord;
  readonly finished: () => void;
  readonly leave: () => void;
}

/** Takes records, and does their work when told. */
async function worker(group: string, most: number) {
  const works: Work[] = [];
  const consuming = await consumeTracked(
    log.topics,
    'eval.child-run.commands',
    group,
    (record, finished) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      works.push({ record, finished, leave: resolve });
      return promise;
    },
    (error) => {
      throw error;
    },
    { most },
  );
  return { works, consuming };
}

test('a backlog stays in the log while there is no room for it, and all of it comes in order, once', async () => {
  await Promise.all(Array.from({ length: MANY }, (_, n) => log.topics.publish('eval.child-run.commands', 'a key', n)));
  const { works, consuming } = await worker('bounded', MOST);
  await expect.poll(() => works.length, SOON).toBe(MOST);
  // Longer than a consumer that is held up stays ready.
  await sleep(11_000);
  expect(works).toHaveLength(MOST);
  expect(log.ready()).toBe(true);
  expect(log.lag().consumers.map(({ lag }) => lag)).toEqual([MANY - MOST]);
  // Those in the middle may be done first.
  for (const { finished, leave } of works.slice(3, 9)) {
    finished();
    leave();
  }
  await expect.poll(() => works.length, SOON).toBe(MOST + 6);
  for (let done = 0; done < MANY; ) {
    await expect.poll(() => works.length, SOON).toBeGreaterThan(done);
    for (; done < works.length; done++) {
      works[done]?.finished();
      works[done]?.leave();
    }
  }
  expect(works.map(({ record }) => record.value)).toEqual(Array.from({ length: MANY }, (_, n) => n));
  await consuming.stop();
  const again = await worker('bounded', MOST);
  await log.topics.publish('eval.child-run.commands', 'a key', 'the next');
  await expect.poll(() => again.works.map(({ record }) => record.value), SOON).toEqual(['the next']);
  await again.consuming.stop();
});

test('a record that has left its room though its work goes on for long holds none behind it back', async () => {
  const { works, consuming } = await worker('open', MOST);
  for (let done = 0; done < MANY; ) {
    await expect.poll(() => works.length, SOON).toBeGreaterThan(done);
    for (; done < works.length; done++) works[done]?.leave();
  }
  await consuming.stop();
});

test('what is larger than the bound in bytes comes one after another', async () => {
  const large = 'x'.repeat(9 * 1024 * 1024);
  for (let n = 0; n < 6; n++) await log.topics.publish('eval.accepted', 'large', `${n}${large}`);
  let [held, most, taken] = [0, 0, 0];
  const consuming = await consumeTracked(
    log.topics,
    'eval.accepted',
    'large',
    async (_record, finished) => {
      held += 1;
      taken += 1;
      most = Math.max(most, held);
      await sleep(500);
      held -= 1;
      finished();
    },
    (error) => {
      throw error;
    },
    { most: 1_000 },
  );
  await expect.poll(() => taken, SOON).toBe(6);
  // 32 MiB: the fourth of 9 MiB is the one that fills it.
  expect(most).toBeLessThanOrEqual(4);
  await consuming.stop();
});
