import { describe, expect, test } from 'vitest';
import { type PromptLayers, sha256Hex, utf8 } from '#lib/ledger';
import { buildReport } from './measure.js';
import { promptLayers } from './prompts.js';
import { reportSchema } from './report.js';
import { contractWith } from '../../contract/src/smallest.testkit.js';
import { complete, requestFor, Scene } from './scene.testkit.js';

const digest = (text: string): string => sha256Hex(utf8(text));
const LAYERS: PromptLayers = {
  settings: digest('m'),
  system: digest('You work.'),
  contract: digest('Add.'),
  lessons: digest(''),
  transcript: digest('[]'),
};
const later = (layers: PromptLayers, said: string): PromptLayers => ({ ...layers, transcript: digest(said) });

type Told = { prompts?: (PromptLayers | null)[]; context?: string };

function environmentOf(on: Told, off: Told, version?: 1) {
  const scene = new Scene(requestFor(contractWith(), { repeats: 2 }), version);
  // The first repeat is as it should be; `on` and `off` are the second.
  const same: Told = { prompts: [LAYERS] };
  const report = buildReport(
    complete(scene, (arm, _, repeat) => ({ verdict: 'pass', ...(repeat === 1 ? same : arm === 'on' ? on : off) })).view
      .state,
  );
  expect(reportSchema.safeParse(report).error).toBeUndefined();
  return { ...report.environment, summary: report.summary };
}

const EQUAL = { compared: 2, different: 0, not_compared: 0 };

describe('the prompts of a pair', () => {
  test('are the same where they differ in the lessons, and in what follows from the answers', () => {
    const lessons = { ...LAYERS, lessons: digest('<lessons>') };
    const on = { prompts: [lessons, later(lessons, 'a'), later(lessons, 'b')] };
    const found = environmentOf(on, { prompts: [LAYERS, later(LAYERS, 'c')] });
    expect(found).toMatchObject({ arms_differ_only_in_memory: true, prompts: EQUAL });
    expect(found.summary).not.toContain('more than memory');
  });

  test.each(['settings', 'system', 'contract', 'transcript'] as const)(
    'are found to differ by the %s of the first, and the report says so',
    (layer) => {
      const found = environmentOf({ prompts: [{ ...LAYERS, [layer]: digest('other') }] }, { prompts: [LAYERS] });
      expect(found).toMatchObject({ arms_differ_only_in_memory: false, prompts: { ...EQUAL, different: 1 } });
      expect(found.summary).toContain('The arms differ in more than memory: in 1 of 2 pairs');
    },
  );

  test.each(['settings', 'system', 'contract'] as const)('are found to differ by the %s of a later one', (layer) => {
    const on = [LAYERS, later(LAYERS, 'a'), { ...later(LAYERS, 'b'), [layer]: digest('other') }];
    expect(environmentOf({ prompts: on }, { prompts: [LAYERS, later(LAYERS, 'c')] }).prompts?.different).toBe(1);
  });

  test.each<[string, Told, Told]>([
    ['one never came to a prompt', { prompts: [LAYERS] }, {}],
    ['one was recorded by an earlier version', { prompts: [null] }, { prompts: [LAYERS] }],
    ['one was taken up by an earlier version', { prompts: [LAYERS, null] }, { prompts: [LAYERS] }],
    ['both give a constant answer', {}, {}],
  ])('are not compared, and counted, where %s', (_, on, off) => {
    expect(environmentOf(on, off)).toMatchObject({
      arms_differ_only_in_memory: true,
      prompts: { compared: 1, different: 0, not_compared: 1 },
    });
  });

  test('of a program are its context file', () => {
    const context = digest('task');
    expect(environmentOf({ context }, { context }).prompts).toEqual(EQUAL);
    expect(environmentOf({ context }, { context: digest('another') }).prompts).toEqual({ ...EQUAL, different: 1 });
  });

  test('are not spoken of in a report of version 1', () => {
    const found = environmentOf({ prompts: [{ ...LAYERS, system: digest('other') }] }, { prompts: [LAYERS] }, 1);
    expect(found).toMatchObject({ arms_differ_only_in_memory: true });
    expect(found).not.toHaveProperty('prompts');
    expect(found.summary).toMatch(/^summary\/v1: /u);
  });
});

describe('the layers of a prompt', () => {
  const request = (lessons: string, part: object = {}) => ({
    model: 'm',
    system: 'You work.',
    messages: [{ role: 'user', text: lessons === '' ? 'Addiere: ä' : `${lessons}\nAddiere: ä` }],
    max_output_tokens: 9,
    ...part,
  });
  const without = promptLayers(request(''), 0);

  test('are told apart by the bytes of the lessons, which come first', () => {
    const lessons = '<lessons>ö</lessons>';
    expect(promptLayers(request(lessons), utf8(lessons).length)).toEqual({ ...without, lessons: digest(lessons) });
    expect(without).toMatchObject({ contract: digest('Addiere: ä'), lessons: digest(''), transcript: digest('[]') });
  });

  test('know no room for the answer, and every other setting', () => {
    expect(promptLayers(request('', { max_output_tokens: 1 }), 0)).toEqual(without);
    expect(promptLayers(request('', { model: 'n' }), 0).settings).not.toBe(without.settings);
    expect(promptLayers(request('', { tools: [] }), 0).settings).not.toBe(without.settings);
  });
});
