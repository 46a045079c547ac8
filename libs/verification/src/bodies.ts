import {
  type AttachmentRef,
  attachedBody,
  attachmentSchema,
  type Entry,
  type EntryType,
  LedgerError,
  sha256Hex,
  typedEntry,
} from '#lib/ledger';
import type { Stored } from './entry-index.js';
import type { Findings } from './findings.js';

/** `broken`: a body that is not at hand or has not its type's shape; a finding says which. */
export type Typed = { readonly kind: 'entry'; readonly entry: Entry } | { readonly kind: 'broken' };

const BROKEN: Typed = { kind: 'broken' };

/** Gives entries their typed bodies, each read once. */
export class Bodies {
  constructor(
    private readonly findings: Findings,
    private readonly attachment: (sha256: string) => Promise<Uint8Array | null>,
    private readonly maxBytes: number,
  ) {}

  /**
   * Without a wait where the body stands in the entry, as nearly always. Verdicts, sums and lessons are derived from bodies, so no body on a chain may be
   * gone; of an entry off the chains it `mayBeGone`.
   */
  read(stored: Stored, mayBeGone = false): Typed | Promise<Typed> {
    return 'attachment' in stored.body ? this.#readAttached(stored, mayBeGone) : this.#type(stored);
  }

  /** Bytes that an entry names; a finding says that they are gone. */
  async bytes(stored: Stored, ref: AttachmentRef, erasable: boolean): Promise<Uint8Array | null> {
    if (ref.size > this.maxBytes && !erasable) {
      this.findings.error(
        'input_too_large',
        stored,
        `the attachment ${ref.sha256} has ${ref.size} bytes, at most ${this.maxBytes} are read`,
      );
      return null;
    }
    const bytes = await this.attachment(ref.sha256);
    if (bytes !== null && bytes.length === ref.size && sha256Hex(bytes) === ref.sha256) return bytes;
    const what = bytes === null ? 'is not at hand' : 'is not what its hash names';
    if (erasable)
      this.findings.information(
        'attachment_missing',
        stored,
        `attachment ${ref.sha256} of ${stored.type} is gone: it ${what}`,
      );
    else
      this.findings.error(
        'attachment_missing',
        stored,
        `attachment ${ref.sha256} of ${stored.type} ${what}: restore it`,
      );
    return null;
  }

  /** Says which long texts of a transcript are gone: they may be erased, since nothing is derived from them. */
  async transcripts(stored: Stored, blobs: readonly AttachmentRef[]): Promise<void> {
    for (const blob of blobs) await this.bytes(stored, blob, true);
  }

  async #readAttached(stored: Stored, mayBeGone: boolean): Promise<Typed> {
    const ref = attachedBody(stored);
    if (ref === null) return this.#type(stored);
    const bytes = await this.bytes(stored, ref, mayBeGone);
    return bytes === null ? BROKEN : this.#type(stored, bytes);
  }

  #type(stored: Stored, attachment?: Uint8Array): Typed {
    try {
      return { kind: 'entry', entry: typedEntry(stored, attachment) };
    } catch (error) {
      if (!(error instanceof LedgerError)) throw error;
      const code = error.code === 'payload_not_canonical' ? 'payload_not_canonical' : 'body_malformed';
      this.findings.error(code, stored, error.message);
      return BROKEN;
    }
  }
}

/** Types whose long texts stand outside the entry. */
const WITH_BLOBS: ReadonlySet<EntryType> = new Set([
  'lessons_recalled',
  'model_call_started',
  'model_call_completed',
  'tool_called',
  'workspace_changed',
  'answer_submitted',
  'criterion_checked',
]);

const NONE: readonly AttachmentRef[] = [];

/** The long texts that an entry names. */
export function blobsOf(entry: Entry): readonly AttachmentRef[] {
  if (!WITH_BLOBS.has(entry.type)) return NONE;
  let blobs: AttachmentRef[] | null = null;
  for (const value of Object.values(entry.body)) {
    if (typeof value !== 'object' || value === null || !('sha256' in value)) continue;
    const blob = attachmentSchema.safeParse(value);
    if (blob.success) (blobs ??= []).push(blob.data);
  }
  return blobs ?? NONE;
}
