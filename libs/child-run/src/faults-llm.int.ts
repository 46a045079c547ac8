import { describe, expect, test } from 'vitest';
import { NO_SPEND, UNMEASURED } from '#lib/ledger';
import type { ModelAnswer } from '#lib/providers';
import { refusingUrl, type Script, type Step } from '../../providers/src/scripted-endpoint.testkit.js';
import { drive } from './child-run.testkit.js';
import {
  asks,
  budgetOf,
  type ModelGiven,
  modelKit,
  type ModelKit,
  ONE_CALL,
  provider,
  reply,
} from './model.testkit.js';

async function runOf(script: Script, given: ModelGiven = {}): Promise<ModelKit> {
  const run = await modelKit(script, given);
  await drive(run);
  return run;
}

const json = (body: string): Step => ({ kind: 'raw', status: 200, body });
const html: Step = { kind: 'raw', status: 200, headers: { 'content-type': 'text/html' }, body: '<html>hello</html>' };
const short = { contract: { budget: budgetOf({ timeout_ms: 600 }) } };
const twice = { policy: { maxAttempts: 2 } };

/** What each does to a run: its code, and what it is known to have cost: nothing, or so many calls of which nobody knows. */
const INFRASTRUCTURE: [string, Script, ModelGiven, string, number][] = [
  ['hangs', [{ kind: 'hang' }], short, 'provider_timeout', 1],
  ['trickles', [{ kind: 'trickle', everyMs: 50 }], short, 'provider_timeout', 1],
  ['resets the connection', () => ({ kind: 'reset' }), twice, 'provider_unreachable', 2],
  ['resets it midway', () => ({ kind: 'reset', midway: true }), twice, 'provider_unreachable', 2],
  ['answers with a page', [html], {}, 'provider_bad_answer', 1],
  ['answers 500', () => ({ kind: 'raw', status: 500 }), twice, 'provider_failed', 0],
  ['answers 502', () => ({ kind: 'raw', status: 502, body: '<html>' }), twice, 'provider_failed', 0],
  ['answers with no choice', [json('{"choices":[]}')], {}, 'provider_bad_answer', 1],
  [
    'answers with an empty choice',
    [json('{"choices":[{"message":{"role":"assistant","content":null},"finish_reason":"stop"}]}')],
    {},
    'provider_bad_answer',
    1,
  ],
  ['answers with broken JSON', [json('{"choices": [')], {}, 'provider_bad_answer', 1],
  ['answers 401', [{ kind: 'raw', status: 401 }], {}, 'provider_refused', 0],
  ['answers with 5 MB', [reply('x'.repeat(5_000_000))], {}, 'provider_bad_answer', 1],
  [
    'asks to wait for an hour',
    [{ kind: 'raw', status: 429, headers: { 'retry-after': '3600' } }],
    {},
    'provider_gave_up',
    0,
  ],
];

describe('an endpoint that', () => {
  test.each(INFRASTRUCTURE)('%s makes the run unverifiable, with the reason', async (_, script, given, code, lost) => {
    const run = await runOf(script, given);
    expect(run.last('infrastructure_failed').code).toBe(code);
    const completed = run.last('model_call_completed');
    expect(completed).toMatchObject({ outcome: 'failed', code, reason: run.last('infrastructure_failed').message });
    const spent = lost === 0 ? NO_SPEND : { ...UNMEASURED, unmeasured_calls: lost };
    expect(run.last('run_sealed')).toMatchObject({ verdict: 'unverifiable', usage: spent, interrupted: NO_SPEND });
    expect(run.last('verdict').reason).toBe(`agent: ${completed.reason}`);
  });

  test('refuses the connection makes the run unverifiable, and nothing was spent', async () => {
    const run = await runOf([], { provider: provider(await refusingUrl()), ...twice });
    expect(run.last('infrastructure_failed').code).toBe('provider_unreachable');
    expect(run.last('run_sealed')).toMatchObject({ verdict: 'unverifiable', usage: NO_SPEND });
  });

  test('needs a key that is not set makes the run unverifiable before anything is sent', async () => {
    const run = await runOf([reply('spam')], { provider: { api_key_env: 'NOT_SET' } });
    expect(run.last('infrastructure_failed').code).toBe('provider_key_missing');
    expect(run.endpoint.asked).toHaveLength(0);
    expect(run.last('run_sealed')).toMatchObject({ verdict: 'unverifiable', usage: NO_SPEND });
  });

  test('asks to wait for a second is waited for, and then answers', async () => {
    const started = performance.now();
    const run = await runOf([{ kind: 'raw', status: 429, headers: { 'retry-after': '1' } }, reply('spam')]);
    expect(performance.now() - started).toBeGreaterThan(1_000);
    expect(run.last('model_call_completed').retries).toBe(1);
    expect(run.last('run_sealed')).toMatchObject({ verdict: 'pass', usage: ONE_CALL });
  });

  test('breaks one attempt and answers the next is paid for both: the one is measured, the other counted', async () => {
    const run = await runOf([{ kind: 'reset', midway: true }, reply('spam')]);
    expect(run.last('run_sealed')).toMatchObject({ verdict: 'pass', usage: { ...ONE_CALL, unmeasured_calls: 1 } });
  });

  test.each([
    ['no usage', null, null, null],
    ['negative usage', { prompt_tokens: -12, completion_tokens: 3 }, null, 3],
    ['absurd usage', { prompt_tokens: 12, completion_tokens: 1e18 }, 12, null],
  ])(
    'reports %s is judged all the same, and what it cost stays unknown',
    async (_, usage, input_tokens, output_tokens) => {
      const run = await runOf([reply('spam', { usage })]);
      expect(run.last('run_sealed')).toMatchObject({
        verdict: 'pass',
        usage: { cost_nano_usd: null, steps: 1, input_tokens, output_tokens, unmeasured_calls: 1 },
      });
      if (usage !== null) expect(run.last('model_call_completed').reason).toContain(JSON.stringify(usage));
    },
  );

  test('is another one than was asked for, by its name, is on record', async () => {
    const run = await runOf([reply('spam', { model: 'cheaper-model' })]);
    expect(run.last('model_call_started').model).toBe('test-model');
    expect(run.last('model_call_completed').model).toBe('cheaper-model');
  });
});

describe('a model that', () => {
  const tools = { tools: ['read_file', 'write_file', 'run_command'] };
  const write = asks('write_file', { path: 'answer.txt', text: 'spam' });
  const spent = (calls: number) => ({ input_tokens: 12 * calls, output_tokens: 3 * calls, unmeasured_calls: 0 });

  test.each([
    ['bad arguments', asks('read_file', { file: 'x' }), /bad arguments/],
    ['arguments that are no JSON', asks('read_file', '{"path": '), /no JSON object/],
    ['a tool that there is not', asks('delete_everything', {}), /no such tool/],
    ['a tool that it was not given', asks('list_files', {}), /no such tool/],
    ['a tool that is a property of every object', asks('constructor', {}), /no such tool/],
  ])('calls %s is told so, and goes on', async (_, step, told) => {
    const run = await runOf([step, write, reply('Done.')], tools);
    const results = run.drafts.flatMap((draft) => (draft.type === 'tool_called' ? [draft.body] : []));
    expect(results.map(({ ok }) => ok)).toEqual([false, true]);
    expect(JSON.stringify(results[0]?.result)).toMatch(told);
    expect(run.endpoint.asked[1]?.text).toMatch(told);
    expect(run.last('run_sealed')).toMatchObject({ verdict: 'pass', usage: spent(3) });
  });

  test('asks for a thousand tools in one answer is given the first of them, and the ledger says how many were left out', async () => {
    const calls = Array.from({ length: 1_000 }, () => ({ name: 'read_file', arguments: { path: 'x' } }));
    const run = await runOf([{ kind: 'reply', tool_calls: calls }, write, reply('Done.')], tools);
    const first = run.drafts.find(({ type }) => type === 'model_call_completed');
    expect(first?.body).toMatchObject({ tool_calls: 32, reason: '968 more tool calls are left out' });
    expect(run.last('run_sealed').verdict).toBe('pass');
  });

  test('never stops to call tools is stopped by its budget', async () => {
    const run = await runOf(() => asks('read_file', { path: 'x' }), {
      ...tools,
      contract: { budget: budgetOf({ max_steps: 5 }) },
    });
    expect(run.last('answer_submitted').ended).toBe('stopped');
    expect(run.last('run_sealed')).toMatchObject({ verdict: 'fail', usage: spent(5) });
  });

  test('hangs in a tool is told that it was stopped', async () => {
    const run = await modelKit([asks('run_command', { command: 'sleep 60 & sleep 60' }), write, reply('Done.')], tools);
    const hasty = run.elsewhere({ toolMs: 300 });
    run.actions.perform = hasty.perform;
    await drive(run);
    expect(run.endpoint.asked[1]?.text).toContain('stopped after 300 ms');
    expect(run.last('run_sealed')).toMatchObject({ verdict: 'pass', usage: spent(3) });
  });

  test('floods its output is shown a part', async () => {
    const run = await runOf(
      [asks('run_command', { command: 'yes x | head -c 50000000' }), write, reply('Done.')],
      tools,
    );
    expect(run.endpoint.asked[1]?.text.length).toBeLessThan(100_000);
    expect(run.last('run_sealed').verdict).toBe('pass');
  });

  test('floods the workspace is told that all of it is undone', async () => {
    const run = await modelKit(
      [asks('run_command', { command: 'echo kept > a; seq 1 50 | xargs touch' }), write, reply('Done.')],
      tools,
    );
    run.actions.perform = run.elsewhere({ changes: { maxFiles: 20, maxBytes: 10_000 } }).perform;
    await drive(run);
    expect(run.endpoint.asked[1]?.text).toContain('all of it is undone');
    expect(run.last('workspace_changed').files.map(({ path }) => path)).toEqual(['answer.txt']);
    expect(run.last('run_sealed')).toMatchObject({ verdict: 'pass', usage: spent(3) });
  });

  test('deletes the workspace is judged by what is left', async () => {
    const run = await runOf([asks('run_command', { command: 'rm -rf "$PWD"' }), write, reply('Done.')], {
      ...tools,
      workspace: { 'a.txt': 'a', 'd/b.txt': 'b' },
    });
    expect(run.last('workspace_changed').files.map(({ path, change }) => [path, change])).toEqual([
      ['a.txt', 'deleted'],
      ['answer.txt', 'added'],
      ['d/b.txt', 'deleted'],
    ]);
    expect(run.last('run_sealed').verdict).toBe('pass');
  });
});

test('a price that changes between two calls changes nothing: every call is priced as of the run’s start', async () => {
  const run = await modelKit([], {
    tools: ['read_file'],
    provider: { kind: 'openai', base_url: null, model: 'gpt-4o-mini', price: null },
    contract: { budget: budgetOf({ timeout_ms: null, max_steps: 5 }) },
  });
  const usage = {
    input_tokens: 1_000,
    output_tokens: 0,
    cached_input_tokens: null,
    cache_write_tokens: null,
    reasoning_tokens: null,
  };
  const rest = { model: null, retries: 0, unmeasured_attempts: 0, raw_usage: null, warnings: [], usage };
  const call = { id: '1', name: 'read_file', arguments: { path: 'x' } };
  const answers: ModelAnswer[] = [
    { text: '', tool_calls: [call], finish: 'tool_calls', ...rest },
    { text: 'Done.', tool_calls: [], finish: 'stop', ...rest },
  ];
  const later = new Date('2027-06-01').getTime();
  Object.assign(run.ports, {
    now: () => later,
    model: () => ({ call: () => Promise.resolve(answers.shift()) }),
  });
  await drive(run);
  const calls = run.drafts.flatMap((draft) => (draft.type === 'model_call_completed' ? [draft.body] : []));
  expect(calls).toHaveLength(2);
  for (const { price_basis, usage: spent } of calls) {
    expect(price_basis).toMatch(/openai\/gpt-4o-mini on 2026-01-01$/);
    expect(spent.cost_nano_usd).toBe(150_000);
  }
});
