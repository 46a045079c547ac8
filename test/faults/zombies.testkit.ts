import { Kafka, logLevel } from 'kafkajs';
import { inject } from 'vitest';
import type { EvalRunId } from '#lib/ledger';
import type { Deployment } from './deployment.testkit.js';
import type { Service } from './service.testkit.js';

/** When a process first took an evaluation over, in ms; infinite where it never did. */
export function takenOver(service: Service | undefined, evaluation: EvalRunId): number {
  const lines = service?.lines('ledger taken over') ?? [];
  const line = lines.find((one) => one['eval_run_id'] === evaluation && one['child_run_id'] === undefined);
  return line === undefined ? Number.POSITIVE_INFINITY : Date.parse(String(line['time']));
}

export interface Command {
  /** The process that sent it, as its CloudEvents source. */
  readonly source: string;
  /** In ms, by the clock of its process. */
  readonly at: number;
}

/** The commands of an evaluation, as they are on the topic. */
export async function commandsOf(at: Deployment, evaluation: EvalRunId): Promise<Command[]> {
  const topic = `${at.prefix}eval.child-run.commands`;
  const kafka = new Kafka({ brokers: inject('stack').brokers, logLevel: logLevel.NOTHING });
  const admin = kafka.admin();
  await admin.connect();
  const ends = await admin.fetchTopicOffsets(topic);
  await admin.disconnect();
  let left = ends.reduce((sum, { high, low }) => sum + Number(high) - Number(low), 0);
  const commands: Command[] = [];
  const consumer = kafka.consumer({ groupId: `${at.prefix}reader-${Math.random()}` });
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  await new Promise<void>((resolve) => {
    void consumer.run({
      eachMessage: async ({ message: { key, headers, timestamp } }) => {
        const command = { source: String(headers?.['ce_source']), at: Number(timestamp) };
        if (String(key).startsWith(evaluation)) commands.push(command);
        left -= 1;
        if (left === 0) resolve();
      },
    });
  });
  await consumer.disconnect();
  return commands.toSorted((a, b) => a.at - b.at);
}
