import { appendFile, readFile, truncate } from 'node:fs/promises';
import { z } from 'zod';
import { ProviderError } from './errors.js';
import type { ModelAnswer } from './port.js';
import { errorCode } from './redact.js';

/**
 * A recording: JSONL, one call a line, in the order in which they were answered. It holds answers, and of requests only digests: no
 * prompts, no addresses, no keys.
 */
const MAX_BYTES = 256 * 1024 * 1024;

const count = z.number().int().min(0);
const tokens = count.nullable();
const toolCall = { id: z.string(), name: z.string() };
const answerSchema: z.ZodType<ModelAnswer> = z.strictObject({
  text: z.string(),
  tool_calls: z.array(
    z.union([
      z.strictObject({ ...toolCall, arguments: z.record(z.string(), z.json()) }),
      z.strictObject({ ...toolCall, malformed: z.string() }),
    ]),
  ),
  finish: z.enum(['stop', 'length', 'tool_calls', 'content_filter', 'other']),
  usage: z.strictObject({
    input_tokens: tokens,
    output_tokens: tokens,
    cached_input_tokens: tokens,
    cache_write_tokens: tokens,
    reasoning_tokens: tokens,
  }),
  model: z.string().nullable(),
  retries: count,
  unmeasured_attempts: count,
  raw_usage: z.string().nullable(),
  warnings: z.array(z.string()),
});

const callSchema = z.strictObject({
  v: z.literal(1),
  lane: z.string(),
  /** `requestDigest`. */
  request: z.string().regex(/^[0-9a-f]{64}$/),
  /** `fieldDigests`. */
  fields: z.record(z.string(), z.string()),
  answer: answerSchema,
});

export type RecordedCall = z.infer<typeof callSchema>;

/**
 * Reads a recording.
 * @param growing the recording is being made: it may be absent, and a line that a crash cut short is cut off
 * @throws ProviderError `replay_unreadable` with the number of the line
 */
export async function readRecording(path: string, shown: string, growing: boolean): Promise<RecordedCall[]> {
  const text = await readFile(path, 'utf8').catch((cause: unknown) => {
    if (growing && errorCode(cause) === 'ENOENT') return '';
    throw unreadable(`Cannot read the recording ${shown} (${errorCode(cause) ?? 'unknown'}); check the path.`, cause);
  });
  if (text.length > MAX_BYTES) throw unreadable(`The recording ${shown} is larger than ${MAX_BYTES} bytes.`);
  const whole = text.slice(0, text.lastIndexOf('\n') + 1);
  if (whole !== text) {
    if (!growing) throw unreadable(`The recording ${shown} ends within a line; record again what its last run asked.`);
    await truncate(path, Buffer.byteLength(whole));
  }
  return whole
    .split('\n')
    .slice(0, -1)
    .map((line, index) => {
      try {
        return callSchema.parse(JSON.parse(line));
      } catch (cause) {
        throw unreadable(`Line ${index + 1} of the recording ${shown} is no recorded call; record again.`, cause);
      }
    });
}

/** One write of one line: lines of several writers do not mix. */
export async function appendCall(path: string, call: RecordedCall): Promise<void> {
  await appendFile(path, `${JSON.stringify(call)}\n`);
}

function unreadable(message: string, cause?: unknown): ProviderError {
  return new ProviderError('replay_unreadable', message, cause === undefined ? {} : { cause });
}
