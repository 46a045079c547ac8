import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { z } from 'zod';
import {
  type Accepted,
  type CancelRequested,
  cancelRequestedSchema,
  type EvalRequested,
  evalRequestedSchema,
  evaluationOf,
} from '#lib/evaluation';
import type { TopicRecord } from '#lib/event-log';
import { isEvalRunId, type JsonValue } from '#lib/ledger';
import { type Consuming, consumeTracked, PORTS, type Ports } from '#lib/runtime';

type Wanted = { readonly kind: 'eval'; readonly request: EvalRequested } | CancelRequested;
type Judged = { readonly wanted: Wanted } | { readonly code: string; readonly reason: string };

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
    const judged = judge(record.value);
    if ('code' in judged) return this.ports.topics.refuse(record, judged.code, judged.reason);
    const accepted = await this.accept(judged.wanted);
    await this.ports.topics.publish('eval.accepted', accepted.eval_run_id, accepted, record.trace);
  }

  private async accept(wanted: Wanted): Promise<Accepted> {
    const accepted_at = this.ports.now();
    if (wanted.kind === 'cancel') return { ...wanted, accepted_at };
    const id = evaluationOf(wanted.request);
    return { ...wanted, eval_run_id: id, accepted_at, from: await this.ports.log.endFor(id) };
  }
}

function judge(value: JsonValue): Judged {
  const request = evalRequestedSchema.safeParse(value);
  if (request.success) return { wanted: { kind: 'eval', request: request.data } };
  const cancel = cancelRequestedSchema.safeParse(value);
  if (cancel.success) {
    if (!isEvalRunId(cancel.data.eval_run_id))
      return { code: 'bad_id', reason: `no evaluation has the id ${cancel.data.eval_run_id}` };
    return { wanted: cancel.data };
  }
  const wanted = (value as { kind?: unknown } | null)?.kind === 'cancel' ? cancel.error : request.error;
  return { code: 'bad_request', reason: z.prettifyError(wanted) };
}
