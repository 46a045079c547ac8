import type { ScannedRecord } from '#lib/event-log';
import type { EvalRunId } from '#lib/ledger';
import { type VerificationResult, verifyEvaluation, type VerifySignatures } from '#lib/verification';
import type { Context } from '../commands/context.js';
import { openToRead, type ReadDatabase } from '../database.js';
import { EXIT, type ExitCode } from '../exit-codes.js';
import { oneLine, plural, whole } from '../format.js';
import { createSignaturePool } from '../signature-pool.js';
import type { Output, Terminal } from '../terminal.js';
import { replay } from './replay.js';

export interface ReplayFlags {
  /** Only evaluations that began then or later. */
  readonly since?: Date;
  readonly signatures: boolean;
  readonly json?: boolean;
}

/** What a replay says of one evaluation. Where signatures were not checked nothing is `valid`. */
export type Told = Exclude<VerificationResult['result'], 'valid'> | 'valid' | 'consistent';

const LOOK_MS = 2_000;

/** `truss replay`: every evaluation of the log, verified from its first record. */
export async function runReplay(flags: ReplayFlags, { cluster, place, terminal }: Context): Promise<ExitCode> {
  const pool = flags.signatures ? createSignaturePool() : null;
  const verifySignatures = pool?.verify ?? unchecked;
  const telling = new Telling(flags, terminal);
  await telling.warn();
  try {
    if (cluster === null) await replayFile(openToRead(place.name, place), flags, verifySignatures, telling);
    else await replayCluster(cluster, flags, verifySignatures, telling);
  } finally {
    telling.stop();
    await pool?.close();
  }
  return telling.conclude();
}

async function replayCluster(
  cluster: NonNullable<Context['cluster']>,
  flags: ReplayFlags,
  verifySignatures: VerifySignatures,
  telling: Telling,
): Promise<void> {
  const [{ openDistributed }, { readingConfig }] = await Promise.all([
    import('../distributed.js'),
    import('../cluster.js'),
  ]);
  const ended = Promise.withResolvers<never>();
  const opened = await openDistributed(await readingConfig(cluster), { fatal: ended.reject });
  const { log, trust, scan, close } = opened;
  const work = async () => {
    const results = replay({
      scan: flags.since === undefined ? scan() : begunSince(scan(), flags.since),
      records: (evaluation) => log.records(evaluation),
      keys: trust,
      attachment: (sha256) => log.attachment(sha256),
      verifySignatures,
      progress: (records) => telling.progress(records),
    });
    for await (const result of results) await telling.tell(result);
  };
  try {
    await Promise.race([work(), ended.promise]);
  } finally {
    await close();
  }
}

/** A database finds the records of one evaluation by itself. */
async function replayFile(
  database: ReadDatabase,
  { since }: ReplayFlags,
  verifySignatures: VerifySignatures,
  telling: Telling,
): Promise<void> {
  const { log, trust, close } = database;
  try {
    let records = 0;
    for await (const evaluation of log.evaluations()) {
      if (since !== undefined && !(await hasBegunSince(database, evaluation, since))) continue;
      const result = await verifyEvaluation({
        evaluation,
        records: () => log.records(evaluation),
        keys: trust,
        attachment: (sha256) => log.attachment(sha256),
        verifySignatures,
      });
      records += result.checked.entries;
      telling.progress(records);
      await telling.tell(result);
    }
  } finally {
    await close();
  }
}

const unchecked: VerifySignatures = async (batch) => batch.map(() => true);

/** Leaves out every evaluation whose first record claims an earlier time. */
async function* begunSince(
  scan: AsyncIterable<readonly ScannedRecord[]>,
  since: Date,
): AsyncGenerator<readonly ScannedRecord[]> {
  const wanted = new Map<string, boolean>();
  for await (const batch of scan) {
    yield batch.filter(({ evaluation, record }) => {
      let begun = wanted.get(evaluation);
      if (begun === undefined) {
        begun = claimedTime(record.payload) >= since.toISOString();
        wanted.set(evaluation, begun);
      }
      return begun;
    });
  }
}

async function hasBegunSince({ log }: ReadDatabase, evaluation: EvalRunId, since: Date): Promise<boolean> {
  for await (const { record } of log.records(evaluation)) return claimedTime(record.payload) >= since.toISOString();
  return false;
}

/** `at` is the first key of a canonical entry. */
function claimedTime(payload: Uint8Array): string {
  return /^\{"at":"([^"]{1,40})"/.exec(Buffer.from(payload.subarray(0, 60)).toString('latin1'))?.[1] ?? '';
}

class Telling {
  readonly #counts = new Map<Told, number>();
  readonly #began = performance.now();
  #records = 0;
  #timer: NodeJS.Timeout;

  constructor(
    private readonly flags: ReplayFlags,
    private readonly terminal: Terminal,
  ) {
    this.#timer = setInterval(() => void this.#showProgress(), LOOK_MS);
  }

  get #err(): Output {
    return this.terminal.err;
  }

  async warn(): Promise<void> {
    if (this.flags.signatures) return;
    const text = 'SIGNATURES ARE NOT CHECKED: anybody could have written what follows. Nothing is called valid.';
    await this.#err.write(`${this.#err.paint(['yellow', 'bold'], text)}\n`);
  }

  progress(records: number): void {
    this.#records = records;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async #showProgress(): Promise<void> {
    await this.#err.write(`${this.#soFar()}\n`);
  }

  #soFar(): string {
    const seconds = (performance.now() - this.#began) / 1000;
    const evaluations = [...this.#counts.values()].reduce((sum, count) => sum + count, 0);
    return `${plural(this.#records, 'record')} read, ${plural(evaluations, 'evaluation')} told of, ${whole(Math.round(this.#records / seconds))} records a second`;
  }

  async tell(result: VerificationResult): Promise<void> {
    const told: Told = result.result === 'valid' && !this.flags.signatures ? 'consistent' : result.result;
    this.#counts.set(told, (this.#counts.get(told) ?? 0) + 1);
    const { out } = this.terminal;
    const { evaluation, findings, checked, met, outcome, report } = result;
    const wrong = findings.filter(({ severity }) => severity === 'error');
    if (this.flags.json === true) {
      const signatures = this.flags.signatures ? 'checked' : 'not checked';
      const line = { eval_run_id: evaluation, result: told, signatures, outcome, verdict: report?.verdict ?? null };
      await out.write(`${JSON.stringify({ ...line, checked, met, findings })}\n`);
      return;
    }
    const colour = told === 'valid' ? 'green' : told === 'invalid' ? 'red' : 'yellow';
    const details = [plural(checked.entries, 'entry', 'entries'), outcome ?? 'not closed', report?.verdict ?? ''];
    const worst = wrong.slice(0, 3).map(({ code, ledger, seq, message }) => {
      return `\n  ${code} ${ledger ?? '-'}${seq === null ? '' : `#${seq}`}: ${oneLine(message)}`;
    });
    await out.write(
      `${out.paint([colour], told.padEnd(13))}${evaluation}  ${details.filter((detail) => detail !== '').join(', ')}${worst.join('')}\n`,
    );
  }

  async conclude(): Promise<ExitCode> {
    const counts = [...this.#counts].map(([told, count]) => `${whole(count)} ${told}`);
    await this.#err.write(`${this.#soFar()}: ${counts.length === 0 ? 'no evaluation' : counts.join(', ')}\n`);
    await this.warn();
    const bad = (['invalid', 'indeterminate', 'not_found'] as const).some((told) => this.#counts.has(told));
    return bad ? EXIT.notValid : EXIT.done;
  }
}
