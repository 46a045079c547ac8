import { describe, expect, test } from 'vitest';
import { all, collect, type LogUnderTest } from './contract.testkit.js';

/** Topics: publish, consume, commit, resume. */
export function describeTopics(on: () => LogUnderTest): void {
  describe('topics', () => {
    test('deliver in order, to every group, what was published before and after', async () => {
      const [before, after] = [crypto.randomUUID(), crypto.randomUUID()];
      await on().topics.publish('eval.report', before, { n: 1, text: 'ä "quoted"' });
      const groups = [collect(), collect()];
      const consumers = await Promise.all(
        groups.map((group, index) => on().topics.consume('eval.report', `order-${index}`, group)),
      );
      await on().topics.publish('eval.report', after, null);
      for (const { records } of groups) {
        await expect.poll(() => records.map(({ key }) => key).slice(-2), { timeout: 5_000 }).toEqual([before, after]);
        expect(records.at(-2)?.value).toEqual({ n: 1, text: 'ä "quoted"' });
        expect(records.at(-1)?.value).toBeNull();
      }
      for (const consumer of consumers) await consumer.stop();
    });

    test('keep topics apart, and deliver nothing after a stop', async () => {
      const seen = collect();
      const consumer = await on().topics.consume('eval.dead-letter', 'apart', seen);
      await on().topics.publish('eval.index', 'other topic', {});
      await on().topics.publish('eval.dead-letter', 'this topic', {});
      await expect.poll(() => seen.records.map(({ key }) => key), { timeout: 5_000 }).toEqual(['this topic']);
      await consumer.stop();
      await on().topics.publish('eval.dead-letter', 'after the stop', {});
      await new Promise((resolve) => setTimeout(resolve, 50));
      expect(seen.records).toHaveLength(1);
    });

    test('resume from the committed position, which never moves back', async () => {
      const positions: number[] = [];
      for (const key of ['a', 'b', 'c']) positions.push(await on().topics.publish('eval.accepted', key, {}));
      const [, b, c] = positions as [number, number, number];
      const first = await on().topics.consume('eval.accepted', 'resuming', collect());
      await first.commit(c);
      await first.commit(b);
      await first.stop();
      const resumed = collect();
      const second = await on().topics.consume('eval.accepted', 'resuming', resumed);
      await expect.poll(() => resumed.records.map(({ key }) => key), { timeout: 5_000 }).toEqual(['c']);
      await second.stop();
      const other = collect();
      const third = await on().topics.consume('eval.accepted', 'another group', other);
      await expect.poll(() => other.records.map(({ key }) => key), { timeout: 5_000 }).toEqual(['a', 'b', 'c']);
      await third.stop();
    });

    test('resume from the furthest of the positions that were committed together, whatever their order', async () => {
      const positions: number[] = [];
      for (const key of ['a', 'b', 'c']) positions.push(await on().topics.publish('eval.index', key, {}));
      const [a, b, c] = positions as [number, number, number];
      const first = await on().topics.consume('eval.index', 'together', collect());
      const other = await on().topics.consume('eval.index', 'beside', collect());
      await Promise.all([first.commit(b), first.commit(c), other.commit(b), first.commit(a)]);
      await first.stop();
      await other.stop();
      for (const [group, kept] of [
        ['together', ['c']],
        ['beside', ['b', 'c']],
      ] as const) {
        const resumed = collect();
        const again = await on().topics.consume('eval.index', group, resumed);
        await expect.poll(() => resumed.records.map(({ key }) => key), { timeout: 5_000 }).toEqual(kept);
        await again.stop();
      }
    });

    test('list what is kept, to the end as of now', async () => {
      const key = crypto.randomUUID();
      const position = await on().topics.publish('eval.dead-letter', key, { listed: true });
      const kept = await all(on().elsewhere.topics.list('eval.dead-letter'));
      expect(kept.at(-1)).toMatchObject({ topic: 'eval.dead-letter', position, key, value: { listed: true } });
    });

    test('list on from what was read before', async () => {
      const [before, behind] = [crypto.randomUUID(), crypto.randomUUID()];
      await on().topics.publish('eval.dead-letter', before, {});
      const read = new Map<number, number>();
      for (const { partition, position } of await all(on().topics.list('eval.dead-letter')))
        read.set(partition, position);
      expect(await all(on().topics.list('eval.dead-letter', read))).toEqual([]);
      await on().topics.publish('eval.dead-letter', behind, {});
      const more = await all(on().topics.list('eval.dead-letter', read));
      expect(more.map(({ key }) => key)).toEqual([behind]);
    });

    test('take a request from another process', async () => {
      const seen = collect();
      const consumer = await on().topics.consume('eval.requested', 'inbox', seen);
      await on().elsewhere.topics.publish('eval.requested', 'from elsewhere', { hello: 1 });
      await expect.poll(() => seen.records.map(({ key }) => key), { timeout: 5_000 }).toEqual(['from elsewhere']);
      await consumer.stop();
    });
  });
}
