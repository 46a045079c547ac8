import type { EvalRunId } from '#lib/ledger';
import type { Bodies } from './bodies.js';
import type { EntryIndex } from './entry-index.js';
import type { Findings } from './findings.js';
import type { KeyTable } from './key-table.js';
import type { Checked, Met } from './result.js';

/** Caps on what is read, before anything is allocated for it. */
export interface Limits {
  /** Bytes of one payload. A body over 64 KiB is an attachment, so an honest payload is little larger. */
  readonly payloadBytes: number;
  /** Records of one evaluation. */
  readonly records: number;
  /** Runs of one plan. */
  readonly runs: number;
  /** Bytes of one attachment that is read as JSON. */
  readonly attachmentBytes: number;
}

export const DEFAULT_LIMITS: Limits = {
  payloadBytes: 128 * 1024,
  records: 20_000_000,
  runs: 500_000,
  attachmentBytes: 32 * 1024 * 1024,
};

/** What the steps of one verification share. */
export interface Context {
  readonly evaluation: EvalRunId;
  readonly keys: KeyTable;
  readonly index: EntryIndex;
  readonly bodies: Bodies;
  readonly findings: Findings;
  readonly checked: Checked;
  readonly met: Met;
  readonly limits: Limits;
  attachment(sha256: string): Promise<Uint8Array | null>;
}
