import type { EventLog, ScannedRecord } from '#lib/event-log';

const BATCH = 256;

/** The whole log, one evaluation after another: for a log that cannot be read from one end to the other in one pass. */
export async function* byEvaluation(log: Pick<EventLog, 'evaluations' | 'records'>): AsyncGenerator<ScannedRecord[]> {
  for await (const evaluation of log.evaluations()) {
    let batch: ScannedRecord[] = [];
    for await (const record of log.records(evaluation)) {
      batch.push({ ...record, evaluation });
      if (batch.length < BATCH) continue;
      yield batch;
      batch = [];
    }
    yield batch;
  }
}
