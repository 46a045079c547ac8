import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { z } from 'zod';
import { type Accepted, cancelRequestedSchema, evaluationOf, evalRequestedSchema } from '#lib/evaluation';
import type { TopicRecord } from '#lib/event-log';
import { isEvalRunId, type JsonValue } from '#lib/ledger';
import { type Consuming, consumeTracked, PORTS, type Ports } from '#lib/runtime';

type Judged = { readonly accepted: Accepted } | { readonly code: string; readonly reason: string };

/** Validates what comes on `eval.requested` and puts it on `eval.accepted`; whatever it cannot use goes to the dead letters. */
@Injectable()
export class IntakeService implements OnApplicationBootstrap, OnApplicationShutdown {
  private consumer: Consuming | null = null;

  constructor(@Inject(PORTS) private readonly ports: Ports) {}

  async onApplicationBootstrap(): Promise<void> {
    const { topics, fatal } = this.ports;
    this.consumer = await consumeTracked(
      topics,
      'eval.requested',
      'intake',
      (record, finished) => void this.take(record).then(finished, fatal),
      fatal,
    );
  }

  async onApplicationShutdown(): Promise<void> {
    await this.consumer?.stop();
  }

  private async take(record: TopicRecord): Promise<void> {
    const judged = judge(record.value, this.ports.now());
    if ('accepted' in judged) {
      await this.ports.topics.publish('eval.accepted', judged.accepted.eval_run_id, judged.accepted);
      return;
    }
    const letter = { topic: 'eval.requested', position: record.position, value: record.value, ...judged };
    await this.ports.topics.publish('eval.dead-letter', record.key, letter);
  }
}

function judge(value: JsonValue, now: number): Judged {
  const request = evalRequestedSchema.safeParse(value);
  if (request.success) {
    const accepted = {
      kind: 'eval',
      eval_run_id: evaluationOf(request.data),
      accepted_at: now,
      request: request.data,
    } as const;
    return { accepted };
  }
  const cancel = cancelRequestedSchema.safeParse(value);
  if (cancel.success) {
    if (!isEvalRunId(cancel.data.eval_run_id))
      return { code: 'bad_id', reason: `no evaluation has the id ${cancel.data.eval_run_id}` };
    return { accepted: { ...cancel.data, accepted_at: now } };
  }
  const wanted = (value as { kind?: unknown } | null)?.kind === 'cancel' ? cancel.error : request.error;
  return { code: 'bad_request', reason: z.prettifyError(wanted) };
}
