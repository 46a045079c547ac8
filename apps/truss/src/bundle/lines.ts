import {
  attachmentSchema,
  fromBase64,
  type JsonValue,
  parseEnvelopeLine,
  sha256Hex,
  type SignedEntry,
  toBase64,
  toEnvelope,
  utf8,
} from '#lib/ledger';
import { usageError } from '../exit-codes.js';

/** A line of an exported evaluation: a DSSE envelope, or the bytes of an attachment, named by their own hash. */
export type BundleLine =
  | { readonly kind: 'entry'; readonly record: SignedEntry }
  | { readonly kind: 'attachment'; readonly sha256: string; readonly bytes: Uint8Array };

export function entryLine(record: SignedEntry): string {
  return `${JSON.stringify(toEnvelope(record))}\n`;
}

export function attachmentLine(bytes: Uint8Array): string {
  return `${JSON.stringify({ attachment: toBase64(bytes) })}\n`;
}

/** @throws CliError naming the line, where it is neither */
export function parseLine(text: string, where: string): BundleLine {
  try {
    if (text.startsWith('{"attachment":')) {
      const bytes = fromBase64((JSON.parse(text) as { attachment: string }).attachment);
      return { kind: 'attachment', sha256: sha256Hex(bytes), bytes };
    }
    return { kind: 'entry', record: parseEnvelopeLine(utf8(text)) };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw usageError(`${where} is no line of an exported evaluation: ${why}`, error);
  }
}

/** The attachments that a value names, however deep: objects of exactly `sha256` and `size`. */
export function* attachmentsIn(value: JsonValue): Generator<string> {
  if (value === null || typeof value !== 'object') return;
  const ref = attachmentSchema.safeParse(value);
  if (ref.success) {
    yield ref.data.sha256;
    return;
  }
  for (const part of Object.values(value)) yield* attachmentsIn(part);
}
