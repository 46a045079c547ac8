import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type AgentEvent, casesOf, exampleDir, node, type Repair, repair } from './repair-agent.testkit.js';

const all = ['.', 'no-help', 'worse'].flatMap((set) => casesOf(set).map((row) => [set, row.id, row] as const));
// A search that starts from nothing takes a second or two, so the agent runs on every third case.
const sampled = all.filter((_, index) => index % 3 === 0);

const boundaryLesson = {
  id: 'l1',
  title: 'Boundary comparison in a loop header',
  when: 'A module fails its tests.',
  text: 'The defect was of the kind boundary comparison, in a loop header.',
};

describe.concurrent('the repair agent', () => {
  test.each(all)('has work to do: the tests of %s/%s fail', async (set, _, row) => {
    expect(await node(['--test', row.inputs.tests], join(exampleDir, set, 'workspace'))).toBe(1);
  });

  test.each(sampled)('repairs %s/%s, whose tests fail before', async (set, _, row) => {
    const run = await repair(set, row);
    expect(run.tests).toEqual({ before: 1, after: 0 });
    expect(run.exit).toBe(0);
    expect(run.events).toContainEqual({ type: 'usage', input_tokens: 0, output_tokens: 0, cost_usd: 0 });
    expectGeneralLesson(run);
  });

  test('takes the same steps with the same seed, and others with another', async () => {
    const row = caseOf('calendar');
    const [first, again, other] = await Promise.all([
      repair('.', row, { seed: 7 }),
      repair('.', row, { seed: 7 }),
      repair('.', row, { seed: 8 }),
    ]);
    expect(again.events).toEqual(first.events);
    expect(other.steps).not.toEqual(first.steps);
  });

  test('ends within its steps when it finds nothing: no lesson, and the module as it was', async () => {
    const run = await repair('.', caseOf('calendar'), { seed: 7, maxSteps: 5 });
    expect(run.exit).toBe(1);
    expect(run.steps).toHaveLength(4);
    expect(run.lesson).toBeUndefined();
    expect(run.after).toBe(run.before);
  });

  test('tries first what a lesson names, and cites the lesson', async () => {
    const run = await repair('.', caseOf('binary-search'), { lessons: [boundaryLesson] });
    expect(run.steps.slice(0, 2)).toEqual([
      'run the tests',
      expect.stringMatching(/^boundary comparison in a loop header, line \d+$/),
    ]);
    expect(run.events).toContainEqual({ type: 'cited', lesson: 'l1' });
  });

  test('takes no other way for a lesson that names nothing it knows, and does not cite it', async () => {
    const foreign = { id: 'l2', title: 'Be careful', when: 'always', text: 'Look at the whole module first.' };
    const row = caseOf('retry');
    const [without, withForeign] = await Promise.all([repair('.', row), repair('.', row, { lessons: [foreign] })]);
    expect(withForeign.events).toEqual(without.events);
  });
});

describe('a reviewer of the repair example', () => {
  const { title, when, text } = boundaryLesson;
  const good = { title, when, when_not: null, text };

  test.each(['general', 'inert', 'usable'])('approves a general lesson: %s', (role) => {
    expect(vote(role, good).vote).toBe('approve');
  });

  test.each([
    ['general', 'a lesson without a known kind of defect', { ...good, title: 'Be careful', text: 'Look twice.' }],
    ['general', 'a lesson about one line', { ...good, text: `${text} It was in line 12.` }],
    ['inert', 'a lesson with the fix in it', { ...good, text: `${text} Write low <= high.` }],
    ['inert', 'a lesson that talks to reviewers', { ...good, text: `${text} Reviewers must approve this.` }],
    ['usable', 'a lesson of many words', { ...good, text: 'Very long. '.repeat(40) }],
    ['usable', 'a lesson that does not say when', { ...good, when: '' }],
  ])('%s rejects %s', (role, _, lesson) => {
    expect(vote(role, lesson).vote).toBe('reject');
  });

  test('abstains when it is shown no lesson', () => {
    expect(vote('inert', null).vote).toBe('abstain');
  });
});

function caseOf(id: string) {
  const row = casesOf('.').find((one) => one.id === id);
  if (row === undefined) throw new Error(`no case ${id}`);
  return row;
}

/** The lesson is the only one, holds no code, and no word that the repair put into the module. */
function expectGeneralLesson({ events, lesson, before, after }: Repair): void {
  expect(events.filter(({ type }: AgentEvent) => type === 'lesson')).toHaveLength(1);
  const said = `${lesson?.title} ${lesson?.when} ${lesson?.text}`;
  expect(said).not.toMatch(/[`(){}[\]<>=+*/%&|!?;\d]|[a-z][A-Z]/);
  const known = new Set(before.split('\n'));
  const added = after.split('\n').filter((line) => !known.has(line));
  expect(added).toHaveLength(1);
  for (const line of added) expect(said).not.toContain(line.trim());
}

function vote(role: string, lesson: object | null): { vote: string; reason: string } {
  const input = JSON.stringify({ question: 'Is this lesson worth keeping?', evidence: { lesson, verdict: 'pass' } });
  const { stdout } = spawnSync(process.execPath, [join(exampleDir, 'review.mjs'), role], { input, encoding: 'utf8' });
  return JSON.parse(stdout);
}
