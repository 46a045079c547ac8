import { type Blob, utf8 } from '#lib/ledger';
import type { ActionPorts } from './actions.js';
import { CannotGoOn } from './faults.js';
import type { Work } from './work.js';

const INLINE_BYTES = 8 * 1024;

/** Text up to 8 KiB stands in the entry, longer text is an attachment, in both without the values of keys. @throws CannotGoOn `log_failed` */
export async function toBlob(text: string, { ports, redact }: Pick<Work, 'ports' | 'redact'>): Promise<Blob> {
  const whole = redact(text.toWellFormed());
  if (whole.length * 3 <= INLINE_BYTES) return { text: whole };
  const bytes = utf8(whole);
  return bytes.length <= INLINE_BYTES ? { text: whole } : asked(ports.putAttachment(bytes));
}

/** `null` when the attachment is not at hand: erased, or not here. @throws CannotGoOn `log_failed` */
export async function readBlob(blob: Blob, ports: ActionPorts): Promise<string | null> {
  if ('text' in blob) return blob.text;
  const bytes = await asked(ports.attachment(blob.sha256));
  return bytes === null ? null : Buffer.from(bytes).toString('utf8');
}

// What the log cannot keep must stop a run, not become a fault in its ledger.
async function asked<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (cause) {
    throw new CannotGoOn('log_failed', 'the log cannot keep or give an attachment: see to it, then resume', { cause });
  }
}
