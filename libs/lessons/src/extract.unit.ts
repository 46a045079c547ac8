import { describe, expect, test } from 'vitest';
import { type AgentEvent, lessonSchema } from '#lib/ledger';
import { exemplarLesson, type ExemplarInput, labelledBy, lessonsFromAgent } from './extract.js';
import { lessonWith, PROVENANCE } from './fixtures.testkit.js';
import { contentDigest, lessonDigest } from './lesson.js';

const event = (n: number): AgentEvent => ({
  type: 'lesson',
  title: `Lesson ${n}`,
  when: 'always',
  when_not: '',
  text: `Text ${n}.`,
});
const PASSED: ExemplarInput = {
  instructions: 'Say whether the mail is spam.',
  inputs: { subject: 'You won' },
  answer: 'spam\n',
  criteria: [{ id: 'label', result: 'pass' }],
};

describe("an agent's own lessons", () => {
  test('are its first three, so that a flood displaces nothing', () => {
    const events: AgentEvent[] = [
      { type: 'step', name: 'read' },
      ...[1, 2, 3, 4, 5].map(event),
      { type: 'note', text: 'done' },
    ];
    expect(lessonsFromAgent(events, PROVENANCE).map(({ title }) => title)).toEqual([
      'Lesson 1',
      'Lesson 2',
      'Lesson 3',
    ]);
    expect(lessonsFromAgent([{ type: 'note', text: 'none' }], PROVENANCE)).toEqual([]);
  });

  test('carry where they come from and have the shape of the ledger', () => {
    const [lesson] = lessonsFromAgent([event(1)], { ...PROVENANCE, model: 'm', promptDigest: 'p' });
    expect(lessonSchema.parse(lesson)).toEqual(lesson);
    expect(lesson).toMatchObject({
      extractor: 'agent',
      evidence: PROVENANCE.evidence,
      model: 'm',
      prompt_digest: 'p',
      contract: 'repair',
      case: 'c1',
      family: 'loops',
    });
  });

  test.each([
    ['machine', [], 'machine'],
    ['machine', ['machine', 'panel'], 'panel'],
    ['panel', ['machine'], 'panel'],
    ['machine', ['agent', 'panel'], 'agent'],
  ] as const)('labelled by %s, after lessons of %j, are trusted as %s', (label, recalled, trust) => {
    expect(lessonsFromAgent([event(1)], { ...PROVENANCE, labelledBy: label, recalled })[0]).toMatchObject({
      labelled_by: label,
      trust,
    });
  });

  test('are labelled by the weakest kind of criterion that decided', () => {
    expect(labelledBy(['command', 'match'])).toBe('machine');
    expect(labelledBy(['command', 'review'])).toBe('panel');
    expect(labelledBy([])).toBe('agent');
  });
});

describe('a worked example', () => {
  test('holds task, input, answer and how it was judged', () => {
    const lesson = exemplarLesson(PASSED, PROVENANCE);
    expect(lesson?.text.split('\n')).toEqual([
      'Worked example.',
      'Task: Say whether the mail is spam.',
      'Input: {"subject":"You won"}',
      'Answer: spam',
      'Judged: label: pass',
    ]);
    expect(lessonSchema.parse(lesson)).toEqual(lesson);
  });

  test('of an answer that failed says that it failed', () => {
    const failed = { ...PASSED, criteria: [{ id: 'label', result: 'fail' as const }] };
    expect(exemplarLesson(failed, PROVENANCE)?.text).toMatch(/\nJudged: label: fail$/u);
  });

  test('cuts the task, never the answer', () => {
    const lesson = exemplarLesson(
      { ...PASSED, instructions: 'word '.repeat(500), answer: 'a'.repeat(5000) },
      PROVENANCE,
    );
    expect(lesson?.text).toContain('a'.repeat(5000));
    expect(lesson?.text.split('\n')[1]).toMatch(/^Task: (?:word ){20,}.*…$/u);
  });

  test('is not made of an empty answer', () => {
    expect(exemplarLesson({ ...PASSED, answer: ' \n' }, PROVENANCE)).toBeNull();
  });
});

describe('digests', () => {
  test('that of a lesson covers all of it, that of its content what a reader sees', () => {
    const other = lessonWith({ case: 'c2' });
    expect(lessonDigest(lessonWith())).not.toBe(lessonDigest(other));
    expect(contentDigest(lessonWith())).toBe(contentDigest(other));
    expect(contentDigest(lessonWith({ when_not: 'never' }))).not.toBe(contentDigest(other));
  });
});
