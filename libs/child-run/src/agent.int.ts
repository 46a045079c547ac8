import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Contract } from '#lib/contract';
import type { AgentEvent, Draft, KeyId } from '#lib/ledger';
import { isAlive, kit, type Given, node, REPORT, waitFor } from './child-run.testkit.js';

const unlimited: Contract['budget'] = {
  max_cost_nano_usd: null,
  max_steps: null,
  max_input_tokens: null,
  max_output_tokens: null,
  timeout_ms: 20_000,
};
const AGENT = { kind: 'agent' } as const;
const FOREVER = 'setInterval(() => {}, 1000);';

async function agentRun(command: string[], given: Given = {}) {
  const run = await kit({ ...given, contract: { agent: { kind: 'command', command }, ...given.contract } });
  await run.record({ type: 'agent_reported', body: { events: [{ type: 'started' }] } });
  return run;
}

/** A folder outside of every run, for an agent that shows what it could do to it. */
async function outside(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'outside-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

describe('a fixed agent', () => {
  test('answers with its text, spends nothing, and a match criterion reads the answer', async () => {
    const run = await kit();
    expect((await run.perform(AGENT)).map(({ type }) => type)).toEqual(['workspace_changed', 'answer_submitted']);
    await run.perform({ kind: 'check', criterion: 'label' });
    expect(run.last('criterion_checked')).toMatchObject({ result: 'pass' });
    expect(run.last('answer_submitted')).toMatchObject({ ended: 'constant', output: { text: 'spam' } });
    expect(run.last('answer_submitted').usage).toMatchObject({ cost_nano_usd: 0, steps: 0, unmeasured_calls: 0 });
  });

  test('writes into a copy of the workspace where there is one', async () => {
    const run = await kit({ workspace: { 'answer.txt': 'ham' } });
    await run.perform(AGENT);
    expect(run.last('workspace_changed').files).toMatchObject([{ path: 'answer.txt', change: 'modified', size: 4 }]);
    expect(readFileSync(join(run.workspace, 'answer.txt'), 'utf8')).toBe('ham');
  });
});

describe('a command agent', () => {
  test('is told the task and nothing of the criteria, the arm or the run', async () => {
    const run = await agentRun(
      node(
        "import { readFileSync } from 'node:fs'; process.stdout.write(readFileSync(process.env.TRUSS_CONTEXT, 'utf8'))",
      ),
    );
    await run.perform(AGENT);
    const { output } = run.last('answer_submitted');
    expect(JSON.parse('text' in output ? output.text : '')).toEqual({
      title: 'The pager',
      instructions: 'Repair it.',
      inputs: {},
      lessons: [],
      seed: 7,
      budget: {
        max_cost_usd: null,
        max_steps: null,
        max_input_tokens: null,
        max_output_tokens: null,
        timeout_ms: 20_000,
      },
      run: 'r_opaque',
    });
  });

  test('sees an environment of an allow-list, fresh folders, and the Node that runs Truss', async () => {
    process.env['TRUSS_CANARY_KEY'] = 'canary-7f3a';
    onTestFinished(() => {
      delete process.env['TRUSS_CANARY_KEY'];
    });
    const run = await agentRun(
      node('console.log(JSON.stringify({ env: process.env, node: process.version, cwd: process.cwd() }))'),
    );
    await run.perform(AGENT);
    const { output } = run.last('answer_submitted');
    const text = 'text' in output ? output.text : '';
    expect(text).not.toContain('canary');
    const seen = JSON.parse(text) as { env: Record<string, string>; node: string; cwd: string };
    expect(
      Object.keys(seen.env)
        .filter((name) => !/^(LANG|LC_.*|TZ)$/.test(name))
        .sort(),
    ).toEqual(['HOME', 'PATH', 'TMPDIR', 'TRUSS_CONTEXT', 'TRUSS_EVENTS']);
    expect(seen.node).toBe(process.version);
    expect([seen.cwd, seen.env['HOME']]).toEqual(['<workspace>', '<run>/home']);
  });

  test('reports as it goes: its events are recorded while it runs, and summed up in its answer', async () => {
    const run = await agentRun(
      node(
        `${REPORT} report({ type: 'step', name: 'one' }); setTimeout(() => { report({ type: 'usage', input_tokens: 5, output_tokens: 3, cost_usd: 0.25 }); report({ type: 'note', text: 'x' }); }, 200);`,
      ),
    );
    const drafts = await run.perform(AGENT);
    expect(drafts.map(({ type }) => type)).toEqual(['agent_reported', 'agent_reported', 'answer_submitted']);
    expect(run.last('answer_submitted').usage).toEqual({
      cost_nano_usd: 250_000_000,
      steps: 1,
      input_tokens: 5,
      output_tokens: 3,
      unmeasured_calls: 0,
    });
  });

  test('that reports nothing has spent nobody knows what', async () => {
    const run = await agentRun(['true']);
    await run.perform(AGENT);
    expect(run.last('answer_submitted').usage).toMatchObject({
      cost_nano_usd: null,
      input_tokens: null,
      unmeasured_calls: 1,
    });
  });

  test('that exits with an error has answered: its criteria decide', async () => {
    const run = await agentRun(['sh', '-c', 'echo spam > answer.txt; exit 7']);
    await run.perform(AGENT);
    expect(run.last('answer_submitted')).toMatchObject({ ended: 'exited', exit_code: 7 });
    await run.perform({ kind: 'check', criterion: 'label' });
    expect(run.last('criterion_checked').result).toBe('pass');
  });

  test('whose program is pinned runs it from the folder of the contract, and not if its bytes changed', async () => {
    const programs = { 'agent.mjs': "console.log('pinned')" };
    const good = await agentRun(['node', 'agent.mjs'], { programs });
    await good.perform(AGENT);
    expect(good.last('answer_submitted').output).toEqual({ text: 'pinned\n' });
    const bad = await agentRun(['node', './agent.mjs'], { programs });
    await writeFile(join(bad.contractFolder, 'agent.mjs'), 'x');
    await bad.perform(AGENT);
    expect(bad.last('infrastructure_failed')).toMatchObject({ where: 'contract', code: 'program_changed' });
  });
});

describe('the budget', () => {
  test.each([
    ['steps', { max_steps: 2 }, "report({ type: 'step', name: 'again' })", 3],
    [
      'input_tokens',
      { max_input_tokens: 25 },
      "report({ type: 'usage', input_tokens: 10, output_tokens: 1, cost_usd: 0 })",
      30,
    ],
    [
      'output_tokens',
      { max_output_tokens: 25 },
      "report({ type: 'usage', input_tokens: 0, output_tokens: 10, cost_usd: 0 })",
      30,
    ],
    [
      'cost',
      { max_cost_nano_usd: 250_000_000 },
      "report({ type: 'usage', input_tokens: 0, output_tokens: 0, cost_usd: 0.1 })",
      300_000_000,
    ],
  ] as const)('of %s stops the agent, and what it left is judged', async (limit, budget, code, spent) => {
    const run = await agentRun(
      node(
        `${REPORT} import { writeFileSync } from 'node:fs'; writeFileSync('answer.txt', 'spam'); for (let i = 0; i < 3; i++) ${code}; ${FOREVER}`,
      ),
      { contract: { budget: { ...unlimited, ...budget } } },
    );
    const begun = performance.now();
    const drafts = await run.perform(AGENT);
    expect(performance.now() - begun).toBeLessThan(10_000);
    expect(drafts.map(({ type }) => type)).toEqual([
      'agent_reported',
      'budget_exhausted',
      'workspace_changed',
      'answer_submitted',
    ]);
    expect(run.last('budget_exhausted')).toEqual({ limit, max: Object.values(budget)[0], spent });
    expect(run.last('answer_submitted').ended).toBe('stopped');
    await run.perform({ kind: 'check', criterion: 'label' });
    expect(run.last('criterion_checked').result).toBe('pass');
  });

  test('of time stops an agent that hangs, and one that ignores SIGTERM', async () => {
    const run = await agentRun(['sh', '-c', 'trap "" TERM; while :; do sleep 1; done'], {
      contract: { budget: { ...unlimited, timeout_ms: 300 } },
    });
    await run.perform(AGENT);
    expect(run.last('budget_exhausted')).toMatchObject({ limit: 'time', max: 300 });
    expect(run.last('answer_submitted')).toMatchObject({ ended: 'stopped', signal: 'SIGKILL' });
  });
});

describe('an agent at its worst', () => {
  test('does not exist: the infrastructure failed, in a sentence without a path of this machine', async () => {
    const run = await agentRun(['truss-no-such-agent']);
    await run.perform(AGENT);
    expect(run.last('infrastructure_failed')).toEqual({
      where: 'agent',
      code: 'agent_not_started',
      message: 'there is no program "truss-no-such-agent" here: install it, or correct the agent\'s command',
    });
  });

  test('writes garbage to its event file: kept, counted for nothing', async () => {
    const run = await agentRun(
      node(
        'import { appendFileSync } from \'node:fs\'; appendFileSync(process.env.TRUSS_EVENTS, Buffer.from([0xff, 0xfe, 10, 10])); appendFileSync(process.env.TRUSS_EVENTS, \'{"type":"usage","input_tokens":-5}\\n\' + \'x\'.repeat(200000) + \'\\n{"type":"step","name":"unfinished line"}\')',
      ),
    );
    await run.perform(AGENT);
    const texts = run.events().map((event) => (event.type === 'garbage' ? event.text : event.type));
    expect(texts).toEqual([
      'started',
      '\ufffd\ufffd',
      '{"type":"usage","input_tokens":-5}',
      'x'.repeat(65_536),
      'step',
    ]);
    expect(run.last('answer_submitted').usage).toMatchObject({ steps: 1, unmeasured_calls: 1 });
  });

  test('floods its event file: it is stopped, and what it left is judged', async () => {
    const run = await agentRun(
      node(
        `import { appendFileSync, writeFileSync } from 'node:fs'; writeFileSync('answer.txt', 'spam'); const many = '{"type":"note","text":"y"}\\n'.repeat(20000); for (;;) appendFileSync(process.env.TRUSS_EVENTS, many);`,
      ),
    );
    const begun = performance.now();
    await run.perform(AGENT);
    expect(performance.now() - begun).toBeLessThan(10_000);
    expect(run.events().length).toBe(1 + 10_000 + 1);
    expect(run.last('answer_submitted').ended).toBe('stopped');
    expect(run.last('workspace_changed').files).toHaveLength(1);
  });

  test('leaves a daemon in a session of its own: it is ended before the workspace is looked at', async () => {
    const folder = await outside();
    const run = await agentRun(
      node(
        `import { spawn } from 'node:child_process'; import { writeFileSync } from 'node:fs'; const c = spawn('sh', ['-c', 'while :; do date > late.txt; sleep 0.05; done'], { detached: true, stdio: 'ignore' }); c.unref(); writeFileSync('${folder}/pid', String(c.pid));`,
      ),
    );
    await run.perform(AGENT);
    const pid = Number(readFileSync(join(folder, 'pid'), 'utf8'));
    expect(await waitFor(() => !isAlive(pid))).toBe(true);
  });

  test('edits the tests: put back before they judge, and recorded', async () => {
    const run = await agentRun(
      ['sh', '-c', 'echo "process.exit(0)" > test/a.mjs; rm test/b.mjs; echo "x" > test/c.mjs; echo fixed > src.txt'],
      {
        workspace: { 'test/a.mjs': 'process.exit(1)', 'test/b.mjs': '1', 'src.txt': 'broken' },
        contract: {
          workspace: { digest: null, files: 0, bytes: 0, protected: ['test/**'] },
          criteria: [
            { id: 'tests', kind: 'command', run: ['node', 'test/a.mjs'], timeout_ms: 9_000 },
            { id: 'files', kind: 'command', run: ['sh', '-c', 'ls test; cat src.txt'], timeout_ms: 9_000 },
          ],
        },
      },
    );
    await run.perform(AGENT);
    expect(run.last('workspace_changed')).toMatchObject({
      protected: [
        { path: 'test/a.mjs', change: 'modified' },
        { path: 'test/b.mjs', change: 'deleted' },
        { path: 'test/c.mjs', change: 'added' },
      ],
      files: [{ path: 'src.txt', change: 'modified' }],
    });
    await run.perform({ kind: 'check', criterion: 'tests' });
    expect(run.last('criterion_checked').result).toBe('fail');
    await run.perform({ kind: 'check', criterion: 'files' });
    expect(run.last('criterion_checked').output).toEqual({ text: 'a.mjs\nb.mjs\nfixed\n' });
  });

  test('deletes the workspace, or puts a link in its place: everything counts as deleted', async () => {
    for (const then of ['true', 'ln -s /etc "$W"']) {
      const run = await agentRun(['sh', '-c', `W=$PWD; cd /; rm -rf "$W"; ${then}`], {
        workspace: { 'a.txt': '1', 'd/b.txt': '2' },
      });
      await run.perform(AGENT);
      expect(run.last('workspace_changed').files.map(({ path, change }) => `${path} ${change}`)).toEqual([
        'a.txt deleted',
        'd/b.txt deleted',
      ]);
    }
  });

  test('links out of the workspace, or leaves a pipe: not followed, not waited for, and no answer', async () => {
    const run = await agentRun([
      'sh',
      '-c',
      'ln -s /etc/passwd answer.txt; ln -s ../../.. up; ln -s answer.txt near; mkfifo pipe',
    ]);
    await run.perform(AGENT);
    expect(run.last('workspace_changed').files.map(({ path, sha256 }) => [path, sha256 === null])).toEqual([
      ['answer.txt', true],
      ['near', true],
      ['pipe', true],
      ['up', true],
    ]);
    await run.perform({ kind: 'check', criterion: 'label' });
    expect(run.last('criterion_checked')).toMatchObject({ result: 'fail', reason: 'it is no regular file' });
  });

  test('links out by way of its own links: what the last of them names is no part of the answer', async () => {
    const run = await agentRun([
      'sh',
      '-c',
      'mkdir -p p/q; ln -s . p/q/k; ln -s p/q/k/../../../x answer.txt; echo spam > ../x',
    ]);
    await run.perform(AGENT);
    expect(run.last('workspace_changed').files.map(({ path, sha256 }) => [path, sha256 === null])).toEqual([
      ['answer.txt', true],
      ['p/q/k', false],
    ]);
    await run.perform({ kind: 'check', criterion: 'label' });
    expect(run.last('criterion_checked')).toMatchObject({ result: 'fail' });
  });

  test.each([
    ['files', 'for i in $(seq 30); do echo > f$i; done'],
    ['bytes', 'head -c 5000 /dev/zero > big'],
  ])('floods the workspace with %s: the run cannot be judged, and says why', async (_what, script) => {
    const run = await agentRun(['sh', '-c', script]);
    const limits = { changes: { maxFiles: 20, maxBytes: 4_000 } };
    const drafts = await run.elsewhere(limits).perform(AGENT, run.state, () => {}, new AbortController().signal);
    expect(drafts).toMatchObject([
      { type: 'infrastructure_failed', body: { where: 'answer', code: 'workspace_flooded' } },
    ]);
  });

  test('cannot change the files that the next run starts from', async () => {
    const run = await agentRun(['sh', '-c', 'echo 2 > a.txt'], { workspace: { 'a.txt': '1' } });
    await run.perform(AGENT);
    expect(readFileSync(join(run.workspace, 'a.txt'), 'utf8')).toBe('1');
  });
});

describe('a command agent that is started again after a crash', () => {
  const displaced = { key: 'e'.repeat(64) as KeyId, session: 'd'.repeat(32) };
  const takeOver: Draft = { type: 'writer_changed', body: { displaced, reason: 'crashed' } };
  const intent: Draft = { type: 'agent_reported', body: { events: [{ type: 'started' }] } };
  const usage = { cost_nano_usd: 40_000, steps: 0, input_tokens: 90, output_tokens: 10, unmeasured_calls: 0 };
  const steps = (n: number): AgentEvent[] => Array.from({ length: n }, () => ({ type: 'step', name: '' }));

  async function restarted(command: string[], budget: Partial<Contract['budget']>, events: AgentEvent[], ms = 0) {
    const run = await agentRun(command, {
      contract: { agent: { kind: 'command', command }, budget: { ...unlimited, ...budget } },
    });
    await wait(ms);
    await run.record({ type: 'agent_reported', body: { events } }, takeOver, intent);
    return run;
  }

  test('is told what is left of its budget', async () => {
    const show =
      "import { readFileSync } from 'node:fs'; process.stdout.write(readFileSync(process.env.TRUSS_CONTEXT, 'utf8'))";
    const budget = { max_cost_nano_usd: 100_000, max_steps: 5, max_input_tokens: 90, max_output_tokens: null };
    const run = await restarted(node(show), budget, [...steps(2), { type: 'usage', usage }], 50);
    await run.perform(AGENT);
    const { output } = run.last('answer_submitted');
    const told = JSON.parse('text' in output ? output.text : '').budget;
    expect(told).toMatchObject({ max_cost_usd: 0.00006, max_steps: 3, max_input_tokens: 0, max_output_tokens: null });
    expect(told.timeout_ms).toBeLessThanOrEqual(unlimited.timeout_ms ?? 0);
    expect(told.timeout_ms).toBeLessThan(20_000 - 45);
  });

  test('is stopped when all attempts together go beyond it, and its own usage is its own', async () => {
    const run = await restarted(
      node(`${REPORT} for (let i = 0; i < 3; i++) report({ type: 'step' }); ${FOREVER}`),
      { max_steps: 4 },
      [...steps(2), { type: 'usage', usage }],
    );
    await run.perform(AGENT);
    expect(run.last('budget_exhausted')).toEqual({ limit: 'steps', max: 4, spent: 5 });
    expect(run.last('answer_submitted')).toMatchObject({ ended: 'stopped', usage: { steps: 3 } });
    expect(run.state.interrupted).toEqual({ ...usage, steps: 2 });
  });

  test('has the time that was left', async () => {
    const run = await restarted(node(FOREVER), { timeout_ms: 900 }, steps(1), 600);
    const begun = performance.now();
    await run.perform(AGENT);
    expect(performance.now() - begun).toBeLessThan(800);
    expect(run.last('budget_exhausted')).toMatchObject({ limit: 'time', max: 900 });
  });

  test('is not started where nothing is left: what there is without it is judged', async () => {
    const folder = await outside();
    const run = await restarted(['touch', join(folder, 'ran')], { max_steps: 2 }, steps(3));
    await run.perform(AGENT);
    expect(existsSync(join(folder, 'ran'))).toBe(false);
    expect(run.last('budget_exhausted')).toEqual({ limit: 'steps', max: 2, spent: 3 });
    expect(run.last('answer_submitted')).toMatchObject({
      ended: 'stopped',
      usage: { cost_nano_usd: 0, steps: 0, unmeasured_calls: 0 },
    });
    await run.perform({ kind: 'check', criterion: 'label' });
    expect(run.last('criterion_checked')).toMatchObject({ result: 'fail' });
  });
});

test('an abort ends the agent and its children promptly, and brings nothing', async () => {
  const folder = await outside();
  const run = await agentRun(['sh', '-c', `sleep 60 & echo $! >> ${folder}/pids; echo $$ >> ${folder}/pids; wait`]);
  const pids = () => {
    try {
      return readFileSync(join(folder, 'pids'), 'utf8').trim().split('\n').map(Number);
    } catch {
      return [];
    }
  };
  const abort = new AbortController();
  const result = run.perform(AGENT, abort.signal);
  expect(await waitFor(() => pids().length === 2)).toBe(true);
  const begun = performance.now();
  abort.abort();
  expect(await result).toEqual([]);
  expect(performance.now() - begun).toBeLessThan(1_000);
  expect(await waitFor(() => !pids().some(isAlive))).toBe(true);
});

test('a workspace that is not the pinned one is not run in', async () => {
  const run = await agentRun(['true'], { workspace: { 'a.txt': '1' } });
  await writeFile(join(run.workspace, 'a.txt'), '2');
  await run.perform(AGENT);
  expect(run.last('infrastructure_failed')).toMatchObject({ where: 'workspace', code: 'workspace_mismatch' });
});

test('a run leaves no folder and no process behind', async () => {
  const folder = await outside();
  const run = await agentRun(['sh', '-c', `mkdir -p d; chmod 500 d; echo "$HOME" > ${folder}/home`]);
  await run.perform(AGENT);
  await run.actions.dispose();
  const home = readFileSync(join(folder, 'home'), 'utf8').trim();
  expect(() => readFileSync(home)).toThrow('ENOENT');
});
