import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { Kafka, logLevel, Partitioners } from 'kafkajs';
import { inject } from 'vitest';
import { openSigner } from '#lib/key-store';
import { chainOf, type ChildRunId, type EvalRunId, headOf, signDraft, type SignedDraft } from '#lib/ledger';
import { EvaluationViews } from '#lib/runtime';
import { openCodec } from '#lib/schemas';
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

/** The next entry of a run as its writer of now would sign it, to be written when it is too late. */
export async function nextEntryOf(at: Deployment, evaluation: EvalRunId, run: ChildRunId): Promise<SignedDraft> {
  const views = new EvaluationViews({ log: at.cluster.log });
  const { view } = await views.open(evaluation);
  const chain = chainOf(view.live, run);
  await views.close(evaluation);
  if (chain === null) throw new Error(`${run} has not begun`);
  const place = {
    ...{ eval: evaluation, ledger: run, prev: headOf(chain), seq: chain.hashes.length },
    ...{ session: chain.writer.session, at: new Date().toISOString() },
  };
  const signer = openSigner(join(at.folder, 'keys', 'executor.key'), 'executor', at.cluster.trust);
  return signDraft({ type: 'agent_reported', body: { events: [{ type: 'step', name: 'too late' }] } }, place, signer);
}

/** Writes an entry past everything that would not write it any more: as what was on its way already. */
export async function writeLate(at: Deployment, { entry }: SignedDraft): Promise<void> {
  const { brokers, registry: url } = inject('stack');
  const topic = `${at.prefix}eval.ledger`;
  const codec = await openCodec({ registry: { url }, prefix: at.prefix });
  const value = Buffer.from(await codec.encode('eval.ledger', entry.envelope));
  const kafka = new Kafka({ brokers, logLevel: logLevel.NOTHING });
  const partition = await partitionOf(kafka, topic, entry.eval);
  const producer = kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner });
  await producer.connect();
  await producer.send({ topic, acks: -1, messages: [{ key: entry.eval, value, partition }] });
  await producer.disconnect();
}

/** First four bytes of SHA-256 of the key, modulo the number of partitions. */
async function partitionOf(kafka: Kafka, topic: string, key: string): Promise<number> {
  const admin = kafka.admin();
  await admin.connect();
  const partitions = (await admin.fetchTopicOffsets(topic)).length;
  await admin.disconnect();
  return createHash('sha256').update(key).digest().readUInt32BE(0) % partitions;
}
