import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { type Accepted, evaluationOf } from '#lib/evaluation';
import type { TopicRecord } from '#lib/event-log';
import { type Consuming, consumeTracked, PORTS, type Ports, type Refusal } from '#lib/runtime';
import { InTurn } from './in-turn.js';

/** Requests of a partition that are judged at once. */
const JUDGING = 256;

/** Puts what is asked for on `eval.requested` on `eval.accepted`; whatever cannot be accepted goes to the dead letters. */
@Injectable()
export class IntakeService implements OnApplicationBootstrap, OnApplicationShutdown {
  private consumer: Consuming | null = null;
  /** The acceptances of each requester one after another: each counts those before it, and nobody waits for another's. */
  private readonly accepting = new InTurn();

  constructor(@Inject(PORTS) private readonly ports: Ports) {}

  async onApplicationBootstrap(): Promise<void> {
    const { topics, fatal } = this.ports;
    this.consumer = await consumeTracked(
      topics,
      'eval.requested',
      'intake',
      (record, finished) => this.take(record).then(finished),
      fatal,
      { most: JUDGING },
    );
  }

  async onApplicationShutdown(): Promise<void> {
    await this.consumer?.stop();
  }

  private async take(record: TopicRecord): Promise<void> {
    const refusal = await this.judge(record);
    if (refusal !== null) await this.ports.topics.refuse(record, refusal.code, refusal.reason);
  }

  private async judge(record: TopicRecord): Promise<Refusal | null> {
    const { log, now, requests } = this.ports;
    const wanted = await requests.resolve(record);
    if (wanted.kind === 'refused') return wanted;
    if (wanted.kind === 'cancel') {
      await this.publish({ ...wanted, accepted_at: now() }, record);
      return null;
    }
    const id = evaluationOf(wanted);
    return this.accepting.do(wanted.requester, async () => {
      const from = await log.endFor(id);
      const accepted = { kind: 'eval', eval_run_id: id, accepted_at: now(), from, request: wanted } as const;
      const refusal = await requests.admit(accepted);
      return refusal ?? this.publish(accepted, record);
    });
  }

  private async publish(accepted: Accepted, record: TopicRecord): Promise<null> {
    await this.ports.topics.publish('eval.accepted', accepted.eval_run_id, accepted, record.trace);
    return null;
  }
}
