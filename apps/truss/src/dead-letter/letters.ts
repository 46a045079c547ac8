import { z } from 'zod';
import type { Topic, TopicRecord, Topics } from '#lib/event-log';
import { fromBase64, type JsonValue } from '#lib/ledger';

/** A record that could not be used, as `eval.dead-letter` has it. */
export interface Letter {
  /** `<partition>/<position>` of the letter itself. */
  readonly id: string;
  readonly key: string;
  readonly code: string;
  readonly reason: string;
  readonly topic: string;
  /** Where it stood there. */
  readonly place: string;
  /** Milliseconds since the epoch; `null` where the log keeps none. */
  readonly time: number | null;
  readonly headers: readonly { readonly key: string; readonly value: string | null }[];
  readonly content: /** As services read it. */
    | { readonly kind: 'value'; readonly value: JsonValue }
    /** As it came; `null`: a tombstone. */
    | { readonly kind: 'bytes'; readonly bytes: Uint8Array | null };
}

const header = z.object({ key: z.string(), value: z.base64().nullable() });
const letterSchema = z.object({
  code: z.string(),
  reason: z.string(),
  topic: z.string(),
  partition: z.int().optional(),
  position: z.int(),
  time: z.int().optional(),
  value: z.json().optional(),
  bytes: z.base64().nullish(),
  headers: z.array(header).optional(),
});

/** The letters from the oldest on; what is none of ours is left out. */
export async function* lettersOf(topics: Pick<Topics, 'list'>): AsyncGenerator<Letter> {
  for await (const record of topics.list('eval.dead-letter')) {
    const letter = letterOf(record);
    if (letter !== null) yield letter;
  }
}

function letterOf({ partition, position, key, value }: TopicRecord): Letter | null {
  const parsed = letterSchema.safeParse(value);
  if (!parsed.success) return null;
  const { data } = parsed;
  const bytes = data.bytes == null ? null : fromBase64(data.bytes);
  return {
    id: `${partition}/${position}`,
    key,
    code: data.code,
    reason: data.reason,
    topic: data.topic,
    place: `${data.topic}[${data.partition ?? 0}]@${data.position}`,
    time: data.time ?? null,
    headers: data.headers ?? [],
    content: data.value === undefined ? { kind: 'bytes', bytes } : { kind: 'value', value: data.value },
  };
}

/** The topics whose records may be sent again: what asks for something, not what says that something is so. */
export const RETRIED = [
  'eval.requested',
  'eval.accepted',
  'eval.child-run.commands',
] as const satisfies readonly Topic[];
export type Retried = (typeof RETRIED)[number];
