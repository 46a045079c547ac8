import { setTimeout as sleep } from 'node:timers/promises';
import type { Consumer } from 'kafkajs';
import type { Delivery } from './delivery.js';
import { asLogError, isPassing, protocolCode } from './errors.js';
import type { KafkaObserver } from './observer.js';
import { type Life, waitAgain } from './retry.js';

/** A position waits so long for others to be committed with it: a restart only does again what lies between. */
const COMMIT_MS = 20;

export interface CommitParts {
  readonly consumer: Consumer;
  readonly topicName: string;
  readonly group: string;
  readonly life: Life;
  readonly observer: KafkaObserver;
  /** The partitions that are this member's now. */
  readonly assigned: () => ReadonlyMap<number, Delivery | null>;
  /** The member leaves: nothing is waited for, and nothing tried for long. */
  readonly stopping: () => boolean;
}

/** Tells the group what is finished: one commit at a time, of everything that is finished by then. */
export class Commits {
  #committing: Promise<void> | null = null;
  #dirty = false;

  constructor(private readonly parts: CommitParts) {}

  /** Whether something is asked for and not committed. */
  get pending(): boolean {
    return this.#dirty;
  }

  /** @throws LogError where the group refuses this principal */
  async flush(): Promise<void> {
    this.#dirty = true;
    while (this.#dirty) {
      if (this.#committing !== null) {
        await this.#committing;
        continue;
      }
      this.#committing = this.#soon().finally(() => {
        this.#committing = null;
      });
      await this.#committing;
    }
  }

  async #soon(): Promise<void> {
    if (!this.parts.stopping()) await sleep(COMMIT_MS);
    this.#dirty = false;
    await this.#commit();
  }

  async #commit(): Promise<void> {
    const { consumer, topicName: topic, group, life, observer, assigned, stopping } = this.parts;
    for (let attempt = 0; !life.over; attempt++) {
      const behind = [...assigned()].flatMap(([partition, delivery]) =>
        delivery !== null && delivery.finished > delivery.committed
          ? [{ partition, delivery, to: delivery.finished }]
          : [],
      );
      if (behind.length === 0) return;
      try {
        await consumer.commitOffsets(behind.map(({ partition, to }) => ({ topic, partition, offset: String(to) })));
        for (const { delivery, to } of behind) delivery.committed = Math.max(delivery.committed, to);
        return;
      } catch (error) {
        if (stopping() && attempt > 0) return;
        observer.trouble?.('commit', error);
        if (!isPassing(error) && protocolCode(error).endsWith('AUTHORIZATION_FAILED')) {
          throw asLogError(error, `commit in group ${group}`);
        }
        await waitAgain(attempt + 2);
      }
    }
  }
}
