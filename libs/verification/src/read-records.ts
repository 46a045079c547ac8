import {
  CHILD_RUN_ID,
  EVAL_RUN_ID,
  type LedgerId,
  openVerified,
  type SealedBytes,
  sealedBytes,
  type SignedEntry,
} from '#lib/ledger';
import type { Context } from './context.js';
import type { Claim, Stored } from './entry-index.js';
import type { VerifierKey } from './key-table.js';

export interface PositionedRecord {
  readonly position: number | string;
  readonly record: SignedEntry;
}

/** One signature to check under the strict profile of `libs/ledger`. */
export interface SignatureCheck {
  /** Those of a batch share one buffer, with nothing else in it, as a rule. */
  readonly key: VerifierKey;
  readonly message: Uint8Array;
  readonly signature: Uint8Array;
}
export type VerifySignatures = (batch: readonly SignatureCheck[]) => Promise<readonly boolean[]>;

const BATCH = 256;
const BATCHES_IN_FLIGHT = 8;
const MAX_PAYLOAD_TYPE = 200;

/** Works on what was read while the rest is still being read. */
export interface Reader {
  /** Told of every entry that is new, in the order in which signatures come back. */
  entry(stored: Stored): void;
  /** False where reading further is of no use. */
  advance(): Promise<boolean>;
}

/**
 * Step 1: the signature of every record over its stored bytes, then what the bytes say. What no trusted key signed is foreign:
 * counted, named, and of no further effect. False where the reader wanted no more.
 */
export async function readRecords(
  context: Context,
  records: AsyncIterable<PositionedRecord> | Iterable<PositionedRecord>,
  verifySignatures: VerifySignatures | null,
  reader: Reader | null = null,
): Promise<boolean> {
  const verify = verifySignatures ?? verifyHere;
  const inFlight: Promise<void>[] = [];
  let batch: PositionedRecord[] = [];
  let count = 0;
  const flush = (): void => {
    if (batch.length === 0) return;
    inFlight.push(readBatch(context, batch, verify, reader));
    batch = [];
  };
  try {
    for await (const record of records) {
      count += 1;
      if (count > context.limits.records) {
        context.findings.error(
          'input_too_large',
          { position: record.position },
          `more than ${context.limits.records} records: the rest was not read`,
        );
        break;
      }
      if (!isReadable(context, record)) continue;
      batch.push(record);
      if (batch.length < BATCH) continue;
      flush();
      if (inFlight.length < BATCHES_IN_FLIGHT) continue;
      await inFlight.shift();
      if (reader !== null && !(await reader.advance())) return false;
    }
    flush();
  } finally {
    await Promise.all(inFlight);
  }
  return reader === null || reader.advance();
}

/** Drops what is too large to be an entry, and what no key of the trust store can have signed, before any work is done for it. */
function isReadable(context: Context, { record, position }: PositionedRecord): boolean {
  if (record.payload.length > context.limits.payloadBytes || record.payloadType.length > MAX_PAYLOAD_TYPE) {
    foreign(context, { ledger: null, seq: null }, position, 'it is larger than any entry');
    context.findings.warning(
      'input_too_large',
      { position },
      `a record of ${record.payload.length} bytes was not read: no entry has more than ${context.limits.payloadBytes}`,
    );
    return false;
  }
  if (context.keys.get(record.keyid) !== undefined) return true;
  const claim = claimOf(context, record);
  const reason = `no trusted key has the id ${record.keyid.slice(0, 64)}`;
  foreign(context, claim, position, reason);
  context.findings.warning('key_unknown', { ...claim, position }, reason);
  return false;
}

async function readBatch(
  context: Context,
  batch: readonly PositionedRecord[],
  verify: VerifySignatures,
  reader: Reader | null,
): Promise<void> {
  const sealed = sealedBytes(batch.map(({ record }) => record));
  const keys = batch.map(({ record }) => context.keys.get(record.keyid) as VerifierKey);
  const holds = await verify(
    sealed.map(({ message, signature }, i) => ({ key: keys[i] as VerifierKey, message, signature })),
  );
  batch.forEach((record, i) => {
    const stored = readOne(context, record, keys[i] as VerifierKey, sealed[i] as SealedBytes, holds[i] === true);
    if (stored !== null) reader?.entry(stored);
  });
}

/** The entry, where it is one of this evaluation and new. */
function readOne(
  context: Context,
  { record, position }: PositionedRecord,
  key: VerifierKey,
  sealed: SealedBytes,
  holds: boolean,
): Stored | null {
  if (holds) context.checked.signatures += 1;
  const opened = openVerified(record, key, sealed, holds);
  switch (opened.kind) {
    case 'entry': {
      const { entry } = opened;
      if (entry.eval !== context.evaluation) {
        context.met.foreign += 1;
        context.findings.warning(
          'ledger_mismatch',
          { ledger: entry.ledger, seq: entry.seq, position },
          `an entry of ${entry.eval}: it has no place here`,
        );
        return null;
      }
      const stored = context.index.add(entry, position);
      if (stored === null) context.met.duplicates += 1;
      return stored;
    }
    case 'defect':
      context.index.addDefect({ ...opened, position, claim: claimOf(context, record) });
      return null;
    case 'foreign':
      foreign(context, claimOf(context, record), position, opened.reason);
      return null;
    default:
      return opened satisfies never;
  }
}

function foreign(context: Context, claim: Claim, position: number | string, reason: string): void {
  context.met.foreign += 1;
  context.findings.warning('foreign_record', { ...claim, position }, `a record that is no entry: ${reason}`);
}

const lenient = new TextDecoder();

/** What a record says of its place. A hint for the reader: nothing is concluded from it. */
function claimOf(context: Context, record: SignedEntry): Claim {
  const text = lenient.decode(record.payload);
  const ledger = /"ledger"\s*:\s*"([^"\\]{1,200})"/u.exec(text)?.[1];
  const seq = /"seq"\s*:\s*(\d{1,15})(?!\d)/u.exec(text)?.[1];
  const ours = ledger === context.evaluation || ledger?.startsWith(`${context.evaluation}.`) === true;
  if (ledger === undefined || !ours || !(EVAL_RUN_ID.test(ledger) || CHILD_RUN_ID.test(ledger))) return NO_CLAIM;
  return { ledger: ledger as LedgerId, seq: seq === undefined ? null : Number(seq) };
}

const NO_CLAIM: Claim = { ledger: null, seq: null };

const verifyHere: VerifySignatures = async (batch) =>
  batch.map(({ key, message, signature }) => key.verify(message, signature));
