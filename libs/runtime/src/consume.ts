import type { Consumer, Topic, TopicRecord, Topics } from '#lib/event-log';
import { OffsetTracker } from '#lib/protocol';

/** A record at work: `finished` lets the group's offset pass it, once all before it are finished too. */
export type RecordHandler = (record: TopicRecord, finished: () => void) => void;

export interface Consuming {
  /** Takes nothing more; resolves when the last offset is committed. */
  stop(): Promise<void>;
}

/** Consumes a topic so that the offset never passes unfinished work. */
export async function consumeTracked(
  topics: Topics,
  topic: Topic,
  group: string,
  handler: RecordHandler,
  fatal: (error: unknown) => void,
): Promise<Consuming> {
  const tracker = new OffsetTracker();
  let consumer: Consumer | null = null;
  let committed = -1;
  let committing = Promise.resolve();
  let stopped = false;
  const commit = () => {
    const position = tracker.committable();
    if (consumer === null || stopped || position <= committed) return;
    committed = position;
    committing = consumer.commit(position).catch(fatal);
  };
  consumer = await topics.consume(topic, group, (record) => {
    tracker.began(record.position);
    handler(record, () => {
      tracker.finished(record.position);
      commit();
    });
  });
  commit();
  return {
    stop: async () => {
      stopped = true;
      consumer?.stop();
      await committing;
    },
  };
}
