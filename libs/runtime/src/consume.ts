import type { Consumer, Topic, TopicRecord, Topics } from '#lib/event-log';
import { OffsetTracker } from '#lib/protocol';

/** A record at work: `finished` lets the group's offset pass it, once all before it are finished too. */
export type RecordHandler = (record: TopicRecord, finished: () => void) => void;

export interface Consuming {
  /** Takes nothing more; resolves when the last offset is committed. */
  stop(): Promise<void>;
}

/**
 * Consumes a topic so that the offset never passes unfinished work. `lost` is told of partitions that are another's from now on; what is
 * finished of them after that is not committed, and one that comes back begins afresh.
 */
export async function consumeTracked(
  topics: Topics,
  topic: Topic,
  group: string,
  handler: RecordHandler,
  fatal: (error: unknown) => void,
  lost: (partitions: readonly number[]) => void = () => {},
): Promise<Consuming> {
  const trackers = new Map<number, { readonly tracker: OffsetTracker; committed: number }>();
  let consumer: Consumer | null = null;
  const committing = new Set<Promise<void>>();
  let stopped = false;
  const commit = (partition: number) => {
    const tracked = trackers.get(partition);
    if (consumer === null || stopped || tracked === undefined) return;
    const position = tracked.tracker.committable();
    if (position <= tracked.committed) return;
    tracked.committed = position;
    const sent = consumer
      .commit(position, partition)
      .catch(fatal)
      .finally(() => committing.delete(sent));
    committing.add(sent);
  };
  consumer = await topics.consume(topic, group, {
    record: (record) => {
      const { partition, position } = record;
      const tracked = trackers.get(partition) ?? { tracker: new OffsetTracker(), committed: -1 };
      trackers.set(partition, tracked);
      tracked.tracker.began(position);
      handler(record, () => {
        tracked.tracker.finished(position);
        if (trackers.get(partition) === tracked) commit(partition);
      });
    },
    lost: (partitions) => {
      for (const partition of partitions) trackers.delete(partition);
      lost(partitions);
    },
  });
  for (const partition of trackers.keys()) commit(partition);
  return {
    stop: async () => {
      stopped = true;
      await Promise.all([consumer?.stop(), ...committing]);
    },
  };
}
