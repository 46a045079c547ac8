import { expect, test } from 'vitest';
import type { TopicHandler, TopicRecord, Topics } from '#lib/event-log';
import { createMemoryLog } from '../../event-log/src/memory-log.testkit.js';
import { keys } from '../../event-log/src/fixtures.testkit.js';
import { consumeTracked } from './consume.js';

/** Topics in memory whose one partition can be taken away and given back, as a rebalance does; what was committed, in order. */
async function consuming() {
  const { topics } = createMemoryLog({ keys });
  const committed: number[] = [];
  const given: TopicRecord[] = [];
  let handler: TopicHandler = { record: () => {} };
  const rebalancing: Topics = {
    ...topics,
    async consume(topic, group, own) {
      handler = own;
      const consumer = await topics.consume(topic, group, {
        record: (record) => {
          given.push(record);
          own.record(record);
        },
      });
      return { ...consumer, commit: async (position) => void committed.push(position) };
    },
  };
  const finishers: (() => void)[] = [];
  const lost: number[] = [];
  const options = { most: 10, lost: (partitions: readonly number[]) => void lost.push(...partitions) };
  const take = async (_: TopicRecord, finished: () => void): Promise<void> => void finishers.push(finished);
  const fatal = (error: unknown): never => {
    throw error;
  };
  const consumer = await consumeTracked(rebalancing, 'eval.report', 'group', take, fatal, options);
  const positions: number[] = [];
  for (const key of ['a', 'b', 'c']) positions.push(await topics.publish('eval.report', key, {}));
  await expect.poll(() => finishers.length).toBe(3);
  // That it begins at the first may have been said already.
  expect(committed.filter((position) => position !== positions[0])).toEqual([]);
  committed.length = 0;
  return {
    committed,
    positions,
    finishers,
    lost,
    lose: () => handler.lost?.([0]),
    giveBack: () => {
      for (const record of [...given]) handler.record(record);
    },
    stop: () => consumer.stop(),
  };
}

test('the offset passes a record when it and all before it are finished', async () => {
  const { committed, positions, finishers, stop } = await consuming();
  const [a = 0, , c = 0] = positions;
  finishers[1]?.();
  expect(committed.filter((position) => position > a)).toEqual([]);
  committed.length = 0;
  finishers[0]?.();
  expect(committed).toEqual([c]);
  finishers[2]?.();
  expect(committed).toEqual([c, c + 1]);
  await stop();
});

test('what is finished of a partition after it was lost is not committed', async () => {
  const { committed, finishers, lost, lose, stop } = await consuming();
  lose();
  for (const finished of finishers) finished();
  expect(lost).toEqual([0]);
  expect(committed).toEqual([]);
  await stop();
});

test('a partition that comes back begins afresh: work from before does not move its offset past what is unfinished now', async () => {
  const { committed, positions, finishers, lose, giveBack, stop } = await consuming();
  lose();
  giveBack();
  for (const finished of finishers.slice(0, 3)) finished();
  expect(committed).toEqual([]);
  finishers[3]?.();
  expect(committed).toEqual([positions[1]]);
  await stop();
});
