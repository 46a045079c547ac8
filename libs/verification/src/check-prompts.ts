import { z } from 'zod';
import { type ChildState, lessonBytesOf, promptLayers } from '#lib/evaluation';
import {
  type Blob,
  canonicalJson,
  type Entry,
  type EntryOf,
  LedgerError,
  parseCanonicalJson,
  sha256Hex,
  utf8,
} from '#lib/ledger';
import type { Context } from './context.js';

const promptSchema = z.looseObject({
  system: z.string(),
  messages: z.array(z.looseObject({})),
  max_output_tokens: z.number(),
});

/**
 * Step 8d: the layers that a prompt of the agent is compared by are those of the prompt, and its lessons are the recalled ones. A prompt that was erased is
 * taken at its word.
 */
export async function checkPrompts(context: Context, chain: readonly Entry[], run: ChildState): Promise<void> {
  if (!run.calls.some(({ started }) => started.layers !== undefined)) return;
  const recalled = run.recalled?.body.layer_digest ?? sha256Hex(utf8(''));
  for (const entry of chain) {
    if (entry.type !== 'model_call_started' || entry.body.layers === undefined) continue;
    const fault =
      entry.body.purpose !== 'agent'
        ? 'only a prompt of the agent has layers'
        : entry.body.layers.lessons !== recalled
          ? 'the lessons in the prompt are not the recalled ones'
          : await layersFault(context, entry, run);
    if (fault !== null) context.findings.error('prompt_mismatch', entry, fault);
  }
}

async function layersFault(
  context: Context,
  { body }: EntryOf<'model_call_started'>,
  run: ChildState,
): Promise<string | null> {
  const bytes = await bytesOf(context, body.prompt);
  if (bytes === null) return null;
  if (sha256Hex(bytes) !== body.prompt_digest) return 'the prompt does not have the digest that is stated';
  const prompt = promptSchema.safeParse(parsed(bytes));
  if (!prompt.success) return 'the prompt is no request to a model';
  const layers = promptLayers(prompt.data, lessonBytesOf(run));
  return canonicalJson(layers) === canonicalJson(body.layers) ? null : 'the layers are not those of the prompt';
}

/** `null` where they are not at hand or not what their hash names, which is said elsewhere. */
async function bytesOf(context: Context, blob: Blob): Promise<Uint8Array | null> {
  if ('text' in blob) return utf8(blob.text);
  const bytes = await context.attachment(blob.sha256);
  return bytes === null || sha256Hex(bytes) !== blob.sha256 ? null : bytes;
}

function parsed(bytes: Uint8Array): unknown {
  try {
    return parseCanonicalJson(bytes);
  } catch (error) {
    if (error instanceof LedgerError) return null;
    throw error;
  }
}
