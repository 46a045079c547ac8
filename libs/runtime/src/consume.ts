import type { Consumer, Topic, TopicRecord, Topics } from '#lib/event-log';
import { OffsetTracker } from '#lib/protocol';
import { Room } from './room.js';

/**
 * A record at work: `finished` lets the group's offset pass it, once all before it are finished too. The record takes up room until what is returned
 * resolves: never later than what it needs from this process alone, since records behind it may wait for the room.
 */
export type RecordHandler = (record: TopicRecord, finished: () => void) => Promise<void>;

export interface ConsumeOptions {
  /** How many records of a partition take up room at once; those behind them stay in the log. */
  readonly most: number;
  /** Told of partitions that are another's from now on. */
  readonly lost?: (partitions: readonly number[]) => void;
}

export interface Consuming {
  /** Takes nothing more; resolves when the last offset is committed. */
  stop(): Promise<void>;
}

interface Tracked {
  readonly tracker: OffsetTracker;
  readonly room: Room;
  committed: number;
}

/** Of the records of a partition that take up room, in bytes as they lie in the log. */
const MOST_BYTES = 32 * 1024 * 1024;

/**
 * Consumes a topic so that the offset never passes unfinished work, and no more comes into memory than there is room for. What is finished of
 * a lost partition after it was lost is not committed, and one that comes back begins afresh.
 */
export async function consumeTracked(
  topics: Topics,
  topic: Topic,
  group: string,
  handler: RecordHandler,
  fatal: (error: unknown) => void,
  { most, lost = () => {} }: ConsumeOptions,
): Promise<Consuming> {
  const trackers = new Map<number, Tracked>();
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
  const track = (partition: number): Tracked => {
    const tracked = { tracker: new OffsetTracker(), room: new Room(most, MOST_BYTES), committed: -1 };
    trackers.set(partition, tracked);
    return tracked;
  };
  consumer = await topics.consume(topic, group, {
    record: (record) => {
      const { partition, position, bytes = 0 } = record;
      const tracked = trackers.get(partition) ?? track(partition);
      tracked.tracker.began(position);
      tracked.room.take(bytes);
      const work = handler(record, () => {
        tracked.tracker.finished(position);
        if (trackers.get(partition) === tracked) commit(partition);
      });
      void work.catch(fatal).then(() => {
        if (tracked.room.leave(bytes) && trackers.get(partition) === tracked) consumer?.resume?.(partition);
      });
    },
    full: (partition) => trackers.get(partition)?.room.full ?? false,
    lost: (partitions) => {
      for (const partition of partitions) trackers.delete(partition);
      lost(partitions);
    },
  });
  for (const [partition, { room }] of trackers) {
    commit(partition);
    if (!room.full) consumer.resume?.(partition);
  }
  return {
    stop: async () => {
      stopped = true;
      await Promise.all([consumer?.stop(), ...committing]);
    },
  };
}
