import { randomUUID } from 'node:crypto';
import { type EvalRunId, isEvalRunId, utf8Decode } from '#lib/ledger';
import type { TopicCodec } from '#lib/schemas';
import { LogError } from '../port.js';
import { createClient, type KafkaConnection } from './client.js';
import { Decoding } from './decoding.js';
import { writeDeploymentMark } from './deployment-mark.js';
import { DirectReader } from './direct.js';
import { Ends } from './ends.js';
import { asLogError } from './errors.js';
import { IndexReader } from './index-reader.js';
import { partitionOf, topicName } from './names.js';
import { Life } from './retry.js';
import { pages } from './scans.js';
import { SendQueue } from './send-queue.js';
import { Sender } from './sender.js';

export interface RebuiltIndex {
  /** In the ledger. */
  readonly evaluations: number;
  /** Of them, those that the index lacked, or had too far on. */
  readonly written: number;
  readonly partitions: number;
}

interface Found {
  readonly from: number;
  /** As its last `eval_closed` says, by whomever it is signed: for quotas, which count what is open. */
  outcome: string | null;
}

/**
 * Makes `eval.index` complete by one pass over the ledger, and marks it so. The services must be stopped: what they begin meanwhile could be overwritten.
 * @throws LogError; `log_corrupt` where records lie in partitions that this number of partitions does not give
 */
export async function rebuildIndex(options: {
  readonly connection: KafkaConnection;
  readonly prefix: string;
  readonly codec: TopicCodec;
}): Promise<RebuiltIndex> {
  const { connection, prefix, codec } = options;
  const [ledger, indexed] = [topicName(prefix, 'eval.ledger'), topicName(prefix, 'eval.index')];
  const life = new Life();
  const kafka = createClient(connection, {});
  const reader = new DirectReader(kafka, life, {});
  const queue = new SendQueue(kafka, {});
  const decoding = new Decoding(codec, life, {});
  const ends = new Ends(reader);
  const index = new IndexReader(indexed, { reader, ends, decoding });
  const sender = new Sender({
    prefix,
    source: `/truss/${connection.clientId}/${randomUUID()}`,
    queue,
    decoding,
    reader,
  });
  try {
    await reader.open([ledger, indexed]);
    const partitions = reader.partitions(ledger);
    assertAsMany(reader.partitions(indexed), partitions);
    let [evaluations, written] = [0, 0];
    for (const [partition, end] of (await ends.all(ledger)).entries()) {
      const found = new Map<EvalRunId, Found>();
      for await (const page of pages(reader, ledger, partition, 0, end)) {
        for (const { key, offset, value } of page) {
          const id = String(key);
          if (!isEvalRunId(id)) continue;
          assertPlace(id, { partition, partitions, offset });
          const known = found.get(id) ?? { from: Number(offset), outcome: null };
          found.set(id, known);
          known.outcome = outcomeOf((await decoding.entry(value)).payload) ?? known.outcome;
        }
      }
      evaluations += found.size;
      const sent: Promise<number>[] = [];
      for (const [id, { from, outcome }] of found) {
        const before = await index.indexed(id);
        if (before !== null && before <= from) continue;
        const value = { eval_run_id: id, from, outcome };
        sent.push(sender.send('eval.index', id, value, { id: randomUUID(), subject: id }));
      }
      written += (await Promise.all(sent)).length;
    }
    await writeDeploymentMark(kafka, prefix, { partitions });
    return { evaluations, written, partitions };
  } catch (error) {
    throw asLogError(error, 'rebuild its index');
  } finally {
    await queue.close();
    life.end();
    await reader.close().catch(() => {});
  }
}

function assertAsMany(has: number, partitions: number): void {
  if (has === partitions) return;
  throw new LogError(
    'log_corrupt',
    `the index has ${has} partitions and the ledger ${partitions}: delete the index, and run truss deploy topics with as many as the ledger has`,
  );
}

function assertPlace(
  id: EvalRunId,
  {
    partition,
    partitions,
    offset,
  }: { readonly partition: number; readonly partitions: number; readonly offset: string },
): void {
  if (partitionOf(id, partitions) === partition) return;
  throw new LogError(
    'log_corrupt',
    `${id} stands in partition ${partition} at ${offset}, where it is not looked for with ${partitions} partitions: bring the ledger back with the number of partitions that it was written with`,
  );
}

function outcomeOf(payload: Uint8Array): string | null {
  // Every record is looked at, few are the one: most need not be parsed.
  if (!Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength).includes('eval_closed')) return null;
  try {
    const { type, body } = JSON.parse(utf8Decode(payload)) as {
      readonly type?: unknown;
      readonly body?: { readonly outcome?: unknown };
    };
    return type === 'eval_closed' && typeof body?.outcome === 'string' ? body.outcome : null;
  } catch {
    return null;
  }
}
