import { beforeAll, describe, expect, test } from 'vitest';
import type { Contract } from '#lib/contract';
import { type BodyOf, canonicalJson, type ChildRunId, type Entry, type EntryHash, sha256Hex, utf8 } from '#lib/ledger';
import { type Attack, named, resign, verifyRecords } from './attack.testkit.js';
import { type Evaluated, evaluate, promotedOne, recordsOf, type Script } from './evaluation.testkit.js';

const MODEL: Partial<Contract> = { agent: { kind: 'llm', provider: 'main', tools: [], answer_file: 'answer.txt' } };
const isOn = (child: ChildRunId): boolean => child.includes('.on.');
const otherSystem: NonNullable<Script['prompt']> = (child, prompt) =>
  isOn(child) && child.endsWith('.2') ? { ...prompt, system: 'Answer well.' } : prompt;

type Started = BodyOf<'model_call_started'>;

let run: Evaluated;
let known: Pick<Script, 'starting' | 'startingHeld'>;
beforeAll(async () => {
  const { proof, held } = await promotedOne({ seed: 50, replicates: 1, repeats: 1 });
  known = { starting: [proof], startingHeld: [held] };
  run = await evaluate({ seed: 51, replicates: 1, contract: MODEL, ...known });
});

const callOf = (one: Evaluated, of: (entry: Entry) => boolean): Entry => {
  const found = one.entries.find((entry) => entry.type === 'model_call_started' && of(entry));
  if (found === undefined) throw new Error('no such call');
  return found;
};
const recalls = (entry: Entry): boolean => isOn(entry.ledger as ChildRunId);

describe('the prompts of an evaluation of models', () => {
  test('are compared pair by pair: those that differ in the lessons only are the same', async () => {
    const used = run.entries.flatMap((entry) => (entry.type === 'lessons_recalled' ? entry.body.used : []));
    expect(used.length).toBeGreaterThan(0);
    const { result, report } = await verifyRecords(run, recordsOf(run.entries));
    expect(result).toBe('valid');
    expect(report?.environment).toMatchObject({
      arms_differ_only_in_memory: true,
      prompts: { compared: 2, different: 0, not_compared: 0 },
    });
    expect(report?.spend).toMatchObject({ unmeasured_calls: 0, unpriced_calls: 4 });
  });

  test('with another system text in one arm make a valid report that says so', async () => {
    const other = await evaluate({ seed: 52, replicates: 1, contract: MODEL, prompt: otherSystem, ...known });
    const { result, report } = await verifyRecords(other, recordsOf(other.entries));
    expect(result).toBe('valid');
    expect(report?.environment).toMatchObject({
      arms_differ_only_in_memory: false,
      prompts: { compared: 2, different: 1, not_compared: 0 },
    });
  });

  test('are compared by their digests when their texts were erased', async () => {
    const long = await evaluate({
      seed: 53,
      replicates: 1,
      contract: MODEL,
      prompt: otherSystem,
      longPrompts: true,
      ...known,
    });
    const prompts = long.entries.flatMap((entry) =>
      entry.type === 'model_call_started' ? entry.body.prompt_digest : [],
    );
    const attachments = new Map([...long.attachments].filter(([hash]) => !prompts.includes(hash as EntryHash)));
    expect(attachments.size).toBeLessThan(long.attachments.size);
    const { result, report } = await verifyRecords({ ...long, attachments }, recordsOf(long.entries));
    expect(result).toBe('valid');
    expect(report?.environment.prompts).toEqual({ compared: 2, different: 1, not_compared: 0 });
  });
});

describe('forged layers (E)', () => {
  let run: Evaluated;
  beforeAll(async () => {
    run = await evaluate({ seed: 54, replicates: 1, contract: MODEL });
  });
  const forged = (target: Entry, change: (body: Started) => Started): Attack => ({
    holds: ['executor', 'coordinator', 'projector'],
    newReport: true,
    change: (entry, draft) =>
      entry === target && draft.type === 'model_call_started' ? [{ ...draft, body: change(draft.body) }] : undefined,
  });
  const attacked = async (target: Entry, change: (body: Started) => Started) =>
    named(await verifyRecords(run, await resign(run, forged(target, change))));
  const at = (entry: Entry): string => `prompt_mismatch ${entry.ledger.slice(35)}#${entry.seq}`;

  test.each(['settings', 'system', 'contract', 'lessons', 'transcript'] as const)(
    'a %s that is not that of the prompt',
    async (layer) => {
      const target = callOf(run, recalls);
      const change = (body: Started): Started => ({
        ...body,
        layers: { ...(body.layers as NonNullable<Started['layers']>), [layer]: sha256Hex(utf8('forged')) },
      });
      expect(await attacked(target, change)).toEqual([at(target)]);
    },
  );

  test('a prompt that does not have its digest, or is none', async () => {
    const target = callOf(run, recalls);
    const other =
      (text: string, digest = sha256Hex(utf8(text)) as EntryHash) =>
      (body: Started) => ({
        ...body,
        prompt: { text },
        prompt_digest: digest,
      });
    const prompt = canonicalJson({ system: 'x', messages: [], max_output_tokens: 1 });
    for (const change of [other(prompt), other('no JSON'), other('[]'), other(prompt, '0'.repeat(64) as EntryHash)]) {
      expect(await attacked(target, change)).toEqual([at(target)]);
    }
  });

  test('layers on a call that is not the agent’s', async () => {
    const target = callOf(run, recalls);
    expect(await attacked(target, (body) => ({ ...body, purpose: 'extraction' }))).toContain(at(target));
  });
});

test('a report of a version that this one does not know is judged by nobody here', async () => {
  const records = await resign(run, {
    holds: ['coordinator', 'executor', 'projector'],
    newReport: true,
    change: (_, draft) =>
      draft.type === 'eval_started' ? [{ ...draft, body: { ...draft.body, report_version: 3 } }] : undefined,
  });
  expect((await verifyRecords(run, records)).result).toBe('indeterminate');
});
