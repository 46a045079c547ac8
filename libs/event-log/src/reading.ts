import {
  attachedBody,
  type Entry,
  type EntryHash,
  entryHash,
  type EvalRunId,
  type KeyRing,
  LedgerError,
  type OpenedEntry,
  openEntry,
  openEntryAsync,
  type SignedEntry,
  typedEntry,
} from '#lib/ledger';

/**
 * A record as a follower meets it. `bodiless`: a verified entry whose attachment is not here (any more); it still
 * links the chain, so that every reader folds alike whether it has the attachment or not. A verifier reports it as missing.
 */
export type ReadRecord =
  | { readonly kind: 'entry'; readonly entry: Entry }
  | { readonly kind: 'bodiless'; readonly entry: OpenedEntry; readonly reason: string }
  | { readonly kind: 'foreign'; readonly reason: string };

interface ReadingOptions {
  readonly keys: KeyRing;
  readonly evaluation: EvalRunId;
  /** Hashes of entries whose signature this process has checked; the hash pins bytes and signature. */
  readonly verified: ReadonlySet<EntryHash>;
  /** The stored bytes, unchecked. */
  attachment(sha256: string): Uint8Array | undefined | Promise<Uint8Array | null>;
}

/** Verifies a stored record and gives it its body. Never throws for what stands in the record. */
export async function readRecord(record: SignedEntry, options: ReadingOptions): Promise<ReadRecord> {
  const known = options.verified.has(entryHash(record));
  const opened = known ? openEntry(record, verifiedBefore(options.keys)) : await openEntryAsync(record, options.keys);
  if (opened.kind !== 'entry') return { kind: 'foreign', reason: opened.reason };
  if (opened.entry.eval !== options.evaluation) return { kind: 'foreign', reason: `entry of ${opened.entry.eval}` };
  const attached = attachedBody(opened.entry);
  try {
    const bytes = attached === null ? undefined : await options.attachment(attached.sha256);
    return { kind: 'entry', entry: typedEntry(opened.entry, bytes ?? undefined) };
  } catch (error) {
    if (!(error instanceof LedgerError)) throw error;
    const gone = error.code === 'attachment_missing' || error.code === 'attachment_mismatch';
    if (gone && !BODY_LINKS.has(opened.entry.type))
      return { kind: 'bodiless', entry: opened.entry, reason: error.message };
    return { kind: 'foreign', reason: error.message };
  }
}

/** Types whose body decides what joins after them. */
const BODY_LINKS: ReadonlySet<string> = new Set(['writer_changed', 'child_requested', 'child_anchor']);

function verifiedBefore(keys: KeyRing): KeyRing {
  return {
    get(id) {
      const key = keys.get(id);
      return (
        key && { id: key.id, role: key.role, operator: key.operator, verify: () => true, verifyAsync: async () => true }
      );
    },
  };
}
