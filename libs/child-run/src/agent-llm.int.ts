import { describe, expect, test } from 'vitest';
import { sha256Hex, utf8 } from '#lib/ledger';
import { requestDigest } from '#lib/providers';
import { drive } from './child-run.testkit.js';
import { agentOf, asks, budgetOf, messagesOf, modelKit, ONE_CALL, reply } from './model.testkit.js';

const ALL = ['list_files', 'read_file', 'write_file', 'run_command'];

describe('a model agent without tools', () => {
  test('is asked once, and its reply is the answer in its file', async () => {
    const run = await modelKit([reply('spam')]);
    await drive(run);
    expect(run.last('run_sealed')).toMatchObject({
      verdict: 'pass',
      spend: { agent: { ...ONE_CALL, steps: 1 } },
      usage: { ...ONE_CALL, steps: 1 },
    });
    expect(run.last('answer_submitted')).toMatchObject({ ended: 'exited', output: { text: 'spam' } });
    expect(run.drafts.map(({ type }) => type)).toEqual([
      'run_started',
      'lessons_recalled',
      'model_call_started',
      'model_call_completed',
      'workspace_changed',
      'answer_submitted',
      'criterion_checked',
      'verdict',
      'run_sealed',
    ]);
  });

  test('is recorded with the exact request, its digest, what it may cost and what it did cost', async () => {
    const run = await modelKit([reply('spam')]);
    await drive(run);
    const started = run.last('model_call_started');
    const request = JSON.parse('text' in started.prompt ? started.prompt.text : '');
    expect(started.prompt_digest).toBe(requestDigest(request));
    expect(started).toMatchObject({
      call: 1,
      purpose: 'agent',
      provider: 'main',
      model: 'test-model',
      max_output_tokens: 4096,
    });
    expect(started.worst_case_nano_usd).toBeGreaterThan(4096 * 2000);
    expect(run.endpoint.asked).toHaveLength(1);
    expect(run.endpoint.asked[0]?.body).toMatchObject({ model: 'test-model', temperature: 0, max_tokens: 4096 });
    expect(run.last('model_call_completed')).toMatchObject({
      call: 1,
      outcome: 'answered',
      finish: 'stop',
      model: 'test-model',
      retries: 0,
      price_basis: 'the contract',
    });
  });

  test('gets its instructions after the lessons, in the user’s part; the system’s part is the same in every run', async () => {
    const [plain, taught] = [await modelKit([reply('spam')]), await modelKit([reply('spam')])];
    const layer = 'NOTICE\n<lessons>\n[{"id":"l_1"}]\n</lessons>\n';
    for (const [run, text] of [
      [plain, ''],
      [taught, layer],
    ] as const) {
      await run.record({
        type: 'run_started',
        body: {
          request: run.run.request.ref,
          contract_digest: 'a'.repeat(64) as never,
          budget: run.run.contract.budget,
          executor: run.run.software,
        },
      });
      await run.record({
        type: 'lessons_recalled',
        body: { used: [], refused: [], layer: { text }, layer_digest: 'a'.repeat(64) as never },
      });
      await drive(run);
    }
    const [one, two] = [plain, taught].map((run) => messagesOf(run.endpoint.asked[0]));
    expect(one).toEqual([expect.stringContaining('system: '), 'user: Repair it.']);
    expect(two).toEqual([one?.[0], `user: ${layer}\nRepair it.`]);
    const [without, withLessons] = [plain, taught].map((run) => run.last('model_call_started').layers);
    expect(without?.lessons).toBe(sha256Hex(utf8('')));
    expect(without?.contract).toBe(sha256Hex(utf8('Repair it.')));
    expect(withLessons).toEqual({ ...without, lessons: sha256Hex(utf8(layer)) });
  });

  test('that is cut by the length limit is judged by what it said, and the ledger says so', async () => {
    const run = await modelKit([reply('spa', { finish: 'length' })]);
    await drive(run);
    expect(run.last('model_call_completed').finish).toBe('length');
    expect(run.last('verdict').verdict).toBe('fail');
  });

  test('that makes up tool calls is given none', async () => {
    const run = await modelKit([asks('read_file', { path: 'x' }, { text: 'spam' })]);
    await drive(run);
    expect(run.last('run_sealed').verdict).toBe('pass');
    expect(run.endpoint.asked).toHaveLength(1);
  });

  test('cannot write its answer over a protected file', async () => {
    const run = await modelKit([reply('spam')], {
      workspace: { 'answer.txt': 'ham' },
      contract: { workspace: { digest: null, files: 0, bytes: 0, protected: ['answer.txt'] } },
    });
    await drive(run);
    expect(run.last('workspace_changed')).toMatchObject({
      files: [],
      protected: [{ path: 'answer.txt', change: 'modified' }],
    });
    expect(run.last('verdict').verdict).toBe('fail');
  });

  test('whose answers are recorded by other names of models goes on, and the ledger has the name', async () => {
    const run = await modelKit([reply('spam', { model: 'other-model-7' })]);
    await drive(run);
    expect(run.last('model_call_completed').model).toBe('other-model-7');
    expect(run.last('run_sealed').verdict).toBe('pass');
  });
});

describe('a model agent with tools', () => {
  const files = { 'src/a.txt': 'one\ntwo\nthree', 'b.txt': 'b' };
  const passes = { criteria: [{ id: 'made', kind: 'match' as const, file: 'src/a.txt', equals: 'ONE' }] };

  test('reads, runs and writes until it asks for nothing; what it left is judged', async () => {
    const run = await modelKit(
      [
        asks('list_files', {}),
        asks('read_file', { path: 'src/a.txt', from_line: 2 }),
        asks('run_command', { command: 'tr a-z A-Z < src/a.txt | head -1 > /dev/null; echo ran; cat b.txt' }),
        asks('write_file', { path: 'src/a.txt', text: 'ONE' }),
        reply('Done.'),
      ],
      { tools: ALL, workspace: files, contract: passes },
    );
    await drive(run);
    const results = run.drafts.flatMap((draft) => (draft.type === 'tool_called' ? [draft.body] : []));
    expect(results.map(({ tool, ok, result }) => [tool, ok, 'text' in result ? result.text : ''])).toEqual([
      ['list_files', true, 'b.txt (1 bytes)\nsrc/a.txt (13 bytes)'],
      ['read_file', true, 'two\nthree'],
      ['run_command', true, 'exit code 0\nran\nb'],
      ['write_file', true, '3 bytes written'],
    ]);
    expect(run.last('run_sealed')).toMatchObject({ verdict: 'pass', spend: { agent: { steps: 5, input_tokens: 60 } } });
    expect(run.last('answer_submitted').output).toEqual({ text: 'Done.' });
    const told = messagesOf(run.endpoint.asked[4]);
    expect(told.slice(2)).toEqual([
      'assistant: null',
      'tool: b.txt (1 bytes)\nsrc/a.txt (13 bytes)',
      'assistant: null',
      'tool: two\nthree',
      'assistant: null',
      'tool: exit code 0\nran\nb',
      'assistant: null',
      'tool: 3 bytes written',
    ]);
    expect(run.endpoint.asked[0]?.body['tools']).toHaveLength(4);
  });

  test('sees in every command what it changed before, and nothing that a command left running', async () => {
    const run = await modelKit(
      [
        asks('run_command', { command: 'echo x > made; mkdir d; mv b.txt d/b.txt; (sleep 30; echo late > made) &' }),
        asks('run_command', { command: 'cat made d/b.txt; test -e b.txt || echo moved' }),
        asks('list_files', { folder: 'd' }),
        reply('Done.'),
      ],
      { tools: ALL, workspace: files, contract: passes },
    );
    await drive(run, true);
    const texts = run.drafts.flatMap((draft) =>
      draft.type === 'tool_called' ? [JSON.stringify(draft.body.result)] : [],
    );
    expect(texts[1]).toContain('exit code 0\\nx\\nbmoved');
    expect(texts[2]).toContain('d/b.txt (1 bytes)');
  });

  test('may ask for several tools in one answer, which are used in their order', async () => {
    const calls = ['one', 'two'].map((text, i) => ({ name: 'write_file', arguments: { path: `${i}`, text } }));
    const run = await modelKit([{ kind: 'reply', tool_calls: calls }, reply('Done.')], { tools: ALL });
    await drive(run);
    expect(run.last('workspace_changed').files.map(({ path }) => path)).toEqual(['0', '1']);
    expect(run.endpoint.asked).toHaveLength(2);
  });

  test('that changes a protected file has that on record for good, and it is undone', async () => {
    const run = await modelKit(
      [
        asks('run_command', { command: 'echo evil > b.txt' }),
        asks('run_command', { command: 'cat b.txt; echo ONE > src/a.txt' }),
        asks('write_file', { path: 'b.txt', text: 'evil' }),
        reply('Done.'),
      ],
      {
        tools: ALL,
        workspace: files,
        contract: { ...passes, workspace: { digest: null, files: 0, bytes: 0, protected: ['b.txt'] } },
      },
    );
    await drive(run);
    expect(run.last('workspace_changed').protected).toEqual([{ path: 'b.txt', change: 'modified' }]);
    expect(JSON.stringify(run.drafts)).toContain('exit code 0\\nb"');
    expect(run.last('tool_called')).toMatchObject({ ok: false });
    expect(run.last('run_sealed').verdict).toBe('pass');
  });

  test('another executor that takes it up after every action records the same', async () => {
    const script = [
      asks('run_command', { command: 'echo ONE > src/a.txt' }),
      asks('read_file', { path: 'src/a.txt' }),
      asks('write_file', { path: 'new.txt', text: 'n' }),
      reply('Done.'),
    ];
    const given = { tools: ALL, workspace: files, contract: passes };
    const [whole, pieces] = [await modelKit(script, given), await modelKit(script, given)];
    await drive(whole);
    await drive(pieces, true);
    const entries = (run: typeof whole) =>
      JSON.parse(
        JSON.stringify(run.drafts.filter(({ type }) => type !== 'run_started')).replaceAll(/#\d+@[0-9a-f]{64}/g, '#'),
      );
    expect(entries(pieces)).toEqual(entries(whole));
    expect(pieces.endpoint.asked).toHaveLength(4);
  });
});

describe('the budget of a model agent', () => {
  test('of steps ends a stream of tool calls that never ends', async () => {
    const run = await modelKit(() => asks('list_files', {}), {
      tools: ALL,
      contract: { budget: budgetOf({ max_steps: 3 }) },
    });
    await drive(run);
    expect(run.endpoint.asked).toHaveLength(3);
    expect(run.last('budget_exhausted')).toEqual({ limit: 'steps', max: 3, spent: 3 });
    expect(run.last('answer_submitted').ended).toBe('stopped');
    expect(run.last('run_sealed')).toMatchObject({ verdict: 'fail', spend: { agent: { steps: 3 } } });
  });

  test('of cost is charged before a call: one whose worst case does not fit is never made', async () => {
    const worst = 4096 * 2000;
    const run = await modelKit(
      () => asks('list_files', {}, { usage: { prompt_tokens: 1000, completion_tokens: 2000 } }),
      {
        tools: ALL,
        contract: { budget: budgetOf({ max_cost_nano_usd: worst + 11_000_000 }) },
      },
    );
    await drive(run);
    // Each took 5,000,000: after the second the worst case of a third does not fit.
    expect(run.endpoint.asked).toHaveLength(2);
    expect(run.last('budget_exhausted')).toMatchObject({ limit: 'cost', spent: 10_000_000 });
    expect(run.last('run_sealed').usage.cost_nano_usd).toBe(10_000_000);
  });

  test('of output tokens is also the limit of the call', async () => {
    const run = await modelKit([reply('spam')], { contract: { budget: budgetOf({ max_output_tokens: 40 }) } });
    await drive(run);
    expect(run.endpoint.asked[0]?.body['max_tokens']).toBe(40);
    expect(run.last('run_sealed').verdict).toBe('pass');
  });

  test('holds where no usage is reported: what nobody measured is charged at its most, and stays unknown in the report', async () => {
    const run = await modelKit(() => asks('list_files', {}, { usage: null }), {
      tools: ALL,
      contract: { budget: budgetOf({ max_output_tokens: 10_000 }) },
    });
    await drive(run);
    expect(run.endpoint.asked).toHaveLength(3);
    expect(run.last('run_sealed').usage).toEqual({
      cost_nano_usd: null,
      steps: 3,
      input_tokens: null,
      output_tokens: null,
      unmeasured_calls: 3,
    });
  });

  test('of time ends it between calls', async () => {
    const run = await modelKit(() => asks('run_command', { command: 'sleep 30' }), {
      tools: ALL,
      contract: { budget: budgetOf({ timeout_ms: 700 }) },
    });
    await drive(run);
    expect(run.last('budget_exhausted')).toMatchObject({ limit: 'time', max: 700 });
    expect(run.last('run_sealed').verdict).toBe('fail');
  });

  test('keeps back what the panel may need, so that a run that spent the rest is judged', async () => {
    const taste = { id: 'taste', kind: 'review' as const, question: 'Is it short?' };
    const script = (asked: { body: { [key: string]: unknown } }) =>
      asked.body['response_format'] === undefined
        ? asks('list_files', {}, { usage: { prompt_tokens: 20_000, completion_tokens: 100 } })
        : reply('{"vote":"approve","reason":"it is"}');
    const run = await modelKit(script, {
      contract: {
        agent: agentOf('list_files'),
        criteria: [taste],
        panel: { quorum: 1, reviewers: [{ name: 'a', provider: 'main', instructions: null }] },
        budget: budgetOf({ max_input_tokens: 100_000 }),
      },
    });
    await drive(run);
    expect(run.last('budget_exhausted')).toMatchObject({ limit: 'input_tokens' });
    expect(run.last('review_returned')).toMatchObject({ vote: 'approve' });
    expect(run.last('run_sealed')).toMatchObject({ verdict: 'pass', spend: { reviewers: ONE_CALL } });
  });

  test('of cost needs a price: without one nothing is called, and the run is unverifiable', async () => {
    const run = await modelKit([reply('spam')], {
      provider: { price: null },
      contract: { budget: budgetOf({ max_cost_nano_usd: 1_000 }) },
    });
    await drive(run);
    expect(run.endpoint.asked).toHaveLength(0);
    expect(run.last('infrastructure_failed').code).toBe('price_unknown');
    expect(run.last('run_sealed').verdict).toBe('unverifiable');
  });

  test('may leave the price unknown where cost has no limit, and then cost is unknown and never zero', async () => {
    const run = await modelKit([reply('spam')], { provider: { price: null } });
    await drive(run);
    expect(run.last('run_sealed').usage).toMatchObject({
      cost_nano_usd: null,
      input_tokens: 12,
      unmeasured_calls: 0,
      unpriced_calls: 1,
    });
  });
});

test('a provider that speaks another protocol changes nothing but the protocol', async () => {
  const run = await modelKit([asks('write_file', { path: 'answer.txt', text: 'spam' }), reply('Done.')], {
    tools: ALL,
    provider: { kind: 'anthropic' },
  });
  await drive(run);
  expect(run.endpoint.asked.map(({ path }) => path)).toEqual(['/v1/messages', '/v1/messages']);
  expect(run.last('run_sealed').verdict).toBe('pass');
});
