import type { LogRecord, ScannedRecord } from '#lib/event-log';
import { type EvalRunId, isEvalRunId, type TrustStore } from '#lib/ledger';
import { type VerificationResult, verifyEvaluation, type VerifySignatures } from '#lib/verification';
import { Feed } from './feed.js';

export interface ReplayInput {
  /** Every record of the log, the evaluations mixed, those of one in the order of the log. */
  readonly scan: AsyncIterable<readonly ScannedRecord[]>;
  /** All of one evaluation once more, for what is not in order. */
  records(evaluation: EvalRunId): AsyncIterable<LogRecord>;
  readonly keys: TrustStore;
  attachment(sha256: string): Promise<Uint8Array | null>;
  readonly verifySignatures: VerifySignatures;
  /** After so many further records an evaluation whose report was met is done with. */
  readonly linger?: number;
  /** Told of each batch. */
  progress?(records: number): void;
}

interface Open {
  readonly feed: Feed;
  readonly done: Promise<void>;
  /** The count of records at which it is done with. */
  until: number;
}

/**
 * Verifies every evaluation of a log in one pass. Memory holds the evaluations that are open where the scan is, and nothing of those before: one that gets
 * a record after it was done with is read again as a whole, and told of again.
 */
export async function* replay(input: ReplayInput): AsyncGenerator<VerificationResult> {
  const { linger = 20_000 } = input;
  const open = new Map<EvalRunId, Open>();
  /** In the order in which they end. */
  const ending = new Map<EvalRunId, Open>();
  const results: VerificationResult[] = [];
  let count = 0;

  const begin = (evaluation: EvalRunId): Open => {
    const feed = new Feed();
    const done = verifyFed(input, evaluation, feed).then((result) => void results.push(result));
    // Thrown where it is waited for; until then nothing may wait for room.
    done.catch(() => feed.drop());
    const opened = { feed, done, until: Number.POSITIVE_INFINITY };
    open.set(evaluation, opened);
    return opened;
  };
  const end = async (evaluation: EvalRunId, { feed, done }: Open): Promise<void> => {
    open.delete(evaluation);
    ending.delete(evaluation);
    feed.end();
    await done;
  };

  for await (const batch of input.scan) {
    for (const { evaluation, position, record } of batch) {
      count += 1;
      if (!isEvalRunId(evaluation)) continue;
      const one = open.get(evaluation) ?? begin(evaluation);
      const full = one.feed.push({ position, record });
      if (full !== null) await full;
      if (one.until === Number.POSITIVE_INFINITY && endsEvaluation(record.payload)) {
        one.until = count + linger;
        ending.set(evaluation, one);
      }
    }
    for (const [evaluation, one] of ending) {
      if (one.until > count) break;
      await end(evaluation, one);
    }
    input.progress?.(count);
    yield* results.splice(0);
  }
  for (const [evaluation, one] of open) {
    await end(evaluation, one);
    yield* results.splice(0);
  }
}

function verifyFed(input: ReplayInput, evaluation: EvalRunId, feed: Feed): Promise<VerificationResult> {
  const { keys, attachment, verifySignatures } = input;
  let first = true;
  return verifyEvaluation({
    evaluation,
    keys,
    attachment,
    verifySignatures,
    records: () => {
      if (!first) return input.records(evaluation);
      first = false;
      return feed;
    },
  });
}

const REPORT = Buffer.from('"type":"eval_report","v":1}');
const CLOSED = Buffer.from('"type":"eval_closed","v":1}');
const COMPLETE = Buffer.from('"outcome":"complete"');

/** What the bytes claim, for when to look: nothing is concluded from it. A complete evaluation still gets its report. */
function endsEvaluation(payload: Uint8Array): boolean {
  const bytes = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
  if (bytes.subarray(-REPORT.length).equals(REPORT)) return true;
  return bytes.subarray(-CLOSED.length).equals(CLOSED) && !bytes.includes(COMPLETE);
}
