import { canonicalJson, type PromptLayers, sha256Hex, utf8 } from '#lib/ledger';
import type { MeasuredArm } from './arms.js';
import type { ChildState } from './child-state.js';
import type { PromptComparison } from './report.js';

/** A request to a model, as far as its layers need it. */
export interface LayeredPrompt {
  readonly system: string;
  readonly messages: readonly { readonly text?: unknown }[];
  readonly max_output_tokens: number;
}

/** The layers of an agent's prompt, whose first message begins with so many bytes of lessons and then has the contract's instructions. */
export function promptLayers(prompt: LayeredPrompt, lessonBytes: number): PromptLayers {
  const { system, messages, max_output_tokens: _left, ...settings } = prompt;
  const [first, ...transcript] = messages;
  const user = utf8(typeof first?.text === 'string' ? first.text : '');
  return {
    settings: digestOf(settings),
    system: sha256Hex(utf8(system)),
    contract: sha256Hex(user.subarray(lessonBytes === 0 ? 0 : lessonBytes + 1)),
    lessons: sha256Hex(user.subarray(0, lessonBytes)),
    transcript: digestOf(transcript),
  };
}

/** Bytes of the recalled lessons in a run's prompts. */
export function lessonBytesOf({ recalled }: ChildState): number {
  if (recalled === null) return 0;
  const { layer } = recalled.body;
  return 'text' in layer ? utf8(layer.text).length : layer.size;
}

/**
 * One digest of what an agent was told beside its lessons: of a model the first prompt, and what system, settings and contract were in each later one, whose
 * transcripts follow from its answers; of a program its context file. `null` where it was told nothing, or nobody recorded what.
 */
export function toldOf(run: ChildState): string | null {
  const prompts = run.calls.filter(({ started }) => started.purpose === 'agent').map(({ started }) => started.layers);
  const [first] = prompts;
  if (first === undefined) {
    const started = run.events.findLast((event) => event.type === 'started');
    return prompts.length > 0 ? null : (started?.context ?? null);
  }
  const constant: string[] = [];
  for (const layers of prompts) {
    if (layers === undefined) return null;
    const { settings, system, contract } = layers;
    const parts = digestOf([settings, system, contract]);
    if (parts !== constant.at(-1)) constant.push(parts);
  }
  return digestOf([first.transcript, ...constant]);
}

/** Each run of the other arms with the run of the first at its place of the plan. */
export function comparePrompts([first, ...others]: readonly MeasuredArm[]): PromptComparison {
  let compared = 0;
  let different = 0;
  let pairs = 0;
  for (const { runs } of others) {
    runs.forEach(({ told }, i) => {
      const counterpart = first?.runs[i]?.told ?? null;
      pairs += 1;
      if (told === null || counterpart === null) return;
      compared += 1;
      if (told !== counterpart) different += 1;
    });
  }
  return { compared, different, not_compared: pairs - compared };
}

function digestOf(value: unknown): string {
  return sha256Hex(utf8(canonicalJson(value)));
}
