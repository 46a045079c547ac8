import type { ScannedRecord } from '#lib/event-log';
import {
  attachedBody,
  emptyChains,
  type Entry,
  type EvalRunId,
  fold,
  isEvalRunId,
  type KeyRing,
  LedgerError,
  type LiveChains,
  type OpenedEntry,
  openEntryAsync,
  typedEntry,
} from '#lib/ledger';
import { EvaluationFold, type ViewWriter } from '#lib/views';

export interface BuildInput {
  /** Every record of the log, the evaluations mixed, those of one in the order of the log. */
  readonly scan: AsyncIterable<readonly ScannedRecord[]>;
  readonly keys: KeyRing;
  attachment(sha256: string): Promise<Uint8Array | null>;
  readonly views: ViewWriter;
  /** Told of each batch: records read, and evaluations that have ended. */
  progress?(records: number, ended: number): void;
}

export interface Built {
  readonly records: number;
  readonly evaluations: number;
}

interface Open {
  readonly live: LiveChains;
  readonly views: EvaluationFold;
}

type Read =
  | { readonly kind: 'entry'; readonly entry: Entry }
  /** An entry whose attachment is not here (any more): it links its chain, and nothing is known of what it says. */
  | { readonly kind: 'bodiless'; readonly entry: OpenedEntry }
  | { readonly kind: 'foreign' };

/**
 * Folds the whole log into views in one pass, as followers of each evaluation would. Memory holds the evaluations that are open where the scan is, and the
 * names of those that have ended.
 */
export async function buildViews(input: BuildInput): Promise<Built> {
  const open = new Map<EvalRunId, Open>();
  const ended = new Set<EvalRunId>();
  let records = 0;
  for await (const batch of input.scan) {
    const wanted = batch.flatMap((record) =>
      isEvalRunId(record.evaluation) && !ended.has(record.evaluation)
        ? [{ ...record, evaluation: record.evaluation }]
        : [],
    );
    // Signatures side by side on the thread pool; then one after another, in the order of the log.
    const read = await Promise.all(wanted.map((one) => readOne(one, one.evaluation, input)));
    for (const [at, { evaluation, position }] of wanted.entries()) {
      if (ended.has(evaluation)) continue;
      const one = open.get(evaluation) ?? { live: emptyChains(evaluation), views: new EvaluationFold(evaluation) };
      open.set(evaluation, one);
      take(one, read[at] ?? { kind: 'foreign' }, position);
      if (!one.views.ended) continue;
      await input.views.write(one.views.whole());
      open.delete(evaluation);
      ended.add(evaluation);
    }
    records += batch.length;
    input.progress?.(records, ended.size);
  }
  const going = [...open.values()].filter(({ views }) => views.dirty);
  for (const { views } of going) await input.views.write(views.whole());
  return { records, evaluations: ended.size + going.length };
}

function take({ live, views }: Open, read: Read, position: number): void {
  if (read.kind === 'entry') views.entry(read.entry, fold(live, read.entry), live, position);
  else {
    if (read.kind === 'bodiless') fold(live, read.entry);
    views.foreign(position);
  }
}

async function readOne(
  { record }: ScannedRecord,
  evaluation: EvalRunId,
  { keys, attachment }: BuildInput,
): Promise<Read> {
  const opened = await openEntryAsync(record, keys);
  if (opened.kind !== 'entry' || opened.entry.eval !== evaluation) return { kind: 'foreign' };
  const attached = attachedBody(opened.entry);
  const bytes = attached === null ? null : await attachment(attached.sha256);
  try {
    return { kind: 'entry', entry: typedEntry(opened.entry, bytes ?? undefined) };
  } catch (error) {
    if (!(error instanceof LedgerError)) throw error;
    const gone = error.code === 'attachment_missing' || error.code === 'attachment_mismatch';
    return gone ? { kind: 'bodiless', entry: opened.entry } : { kind: 'foreign' };
  }
}
