import { expect, test } from 'vitest';
import type { Contract } from '#lib/contract';
import { NO_SPEND, UNMEASURED } from '#lib/ledger';
import type { Asked, Step } from '../../providers/src/scripted-endpoint.testkit.js';
import { drive, driveWithCrash } from './child-run.testkit.js';
import { asks, modelKit, type ModelKit, reply } from './model.testkit.js';

const panel: Contract['panel'] = { quorum: 1, reviewers: [{ name: 'a', provider: 'main', instructions: null }] };
const contract: Partial<Contract> = {
  criteria: [
    { id: 'made', kind: 'match', file: 'log.txt', equals: 'one two' },
    { id: 'taste', kind: 'review', question: 'Is it kind?' },
  ],
  panel,
  learning: {
    extractor: 'llm',
    provider: 'main',
    gates: ['verdict', 'checks', 'panel'],
    scope: 'pager',
    max_recalled: 5,
    same_case: 'exclude',
  },
};
const lesson = {
  title: 'Append',
  when: 'A log is kept.',
  when_not: '',
  text: 'Append to the log, and never write it anew.',
};

/** Answers by what it is asked, as a model at temperature 0 would: asked again, it says the same. */
function script({ body, text }: Asked): Step {
  const shape = JSON.stringify(body['response_format'] ?? '');
  if (shape.includes('"vote"')) return reply('{"vote":"approve","reason":"yes"}');
  if (shape.includes('"lessons"')) return reply(JSON.stringify({ lessons: [lesson] }));
  const answered = text.split('"role":"tool"').length - 1;
  const append = (word: string) => ({
    name: 'run_command',
    arguments: { command: `printf '${word}' >> log.txt; cat log.txt` },
  });
  if (answered === 0) return { kind: 'reply', tool_calls: [append('one'), append(' two')] };
  if (answered === 2) return asks('read_file', { path: 'log.txt' });
  return reply('Done.');
}

const newRun = () => modelKit(script, { tools: ['read_file', 'run_command'], contract });
const told = (run: ModelKit) =>
  JSON.parse(
    JSON.stringify(
      run.drafts.filter(({ type }) =>
        ['answer_submitted', 'verdict', 'review_returned', 'lesson_reviewed', 'lesson_promoted'].includes(type),
      ),
    ).replaceAll(/#\d+@[0-9a-f]{64}/g, '#'),
  );

test('a run that crashes at any entry goes on to the same end: no model call is paid twice but the one in flight, and that one is on record', async () => {
  const calm = await newRun();
  await drive(calm);
  const sealed = calm.last('run_sealed');
  expect(sealed).toMatchObject({ verdict: 'pass', interrupted: NO_SPEND });
  expect(calm.endpoint.asked).toHaveLength(6);
  expect(calm.drafts.length).toBeGreaterThan(30);
  for (let after = 1; after < calm.drafts.length; after += 1) {
    for (const inFlight of [false, true]) {
      const run = await newRun();
      const last = await driveWithCrash(run, after, inFlight);
      const where = `after entry ${after} (${last?.type})`;
      const isCall = last?.type === 'model_call_started';
      expect(run.endpoint.asked.length, where).toBe(6 + (isCall && inFlight ? 1 : 0));
      expect(run.last('run_sealed'), where).toMatchObject({
        verdict: 'pass',
        spend: sealed.spend,
        usage: sealed.usage,
        interrupted: isCall ? UNMEASURED : NO_SPEND,
      });
      expect(told(run), where).toEqual(told(calm));
      if (!isCall) break;
    }
  }
});
