import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import { AGENT, agentContract, EXAMPLE, fixedContract, idIn, LEARNING, workplace } from './cli.testkit.js';
import { REPORT_SCHEMA_FILE } from './report/schema.js';

const ESCAPE = '\u001b';
const schema = JSON.parse(
  readFileSync(fileURLToPath(new URL(`../../../${REPORT_SCHEMA_FILE}`, import.meta.url)), 'utf8'),
);
const isReport = new Ajv2020({ strict: true }).compile(schema);

test('the repair example runs to a report that fits its schema and verifies, learning and all', async () => {
  const { db, run } = workplace();
  const evaluated = await run(['eval', '--contract', EXAMPLE, '--repeats', '2', '--seed', '1', '--db', db]);
  expect(evaluated.stderr).toContain('[4/4]');
  expect(evaluated.code).toBe(0);
  const report = JSON.parse(evaluated.stdout);
  expect(isReport(report), JSON.stringify(isReport.errors)).toBe(true);
  const id: string = report.eval_run_id;
  expect(report).toMatchObject({
    contract_id: 'repair',
    repeats: 2,
    runs: 2,
    report_ref: expect.stringContaining(`${id}#`),
  });
  expect(evaluated.stderr).toContain(`truss --db ${db} --verify ${id}`);

  const verified = await run(['--db', db, '--verify', id]);
  expect(verified.stdout).toMatch(/^valid /);
  expect(verified.stdout).toContain('single_operator');
  expect(verified.code).toBe(0);

  expect(JSON.parse((await run(['report', id, '--db', db])).stdout)).toEqual(report);
  const markdown = (await run(['report', id, '--format', 'md', '--db', db])).stdout;
  expect(markdown).toMatch(/^# repair: (pass|fail)\n/);
  for (const arm of report.arms) {
    const name = arm.arm.replace('_', ' ');
    expect(markdown).toContain(`| ${name} | ${arm.counts.pass} | ${arm.counts.fail} | ${arm.counts.unverifiable} |`);
  }
});

test('every number of the report can be recomputed from what `truss ledger --json` prints', async () => {
  const { db, run, write } = workplace();
  write('agent.mjs', AGENT);
  write('c.toml', agentContract(2, 0, LEARNING));
  const { stdout } = await run(['eval', '--contract', 'c.toml', '--repeats', '2', '--replicates', '2', '--db', db]);
  const report = JSON.parse(stdout);
  const printed = await run(['ledger', report.eval_run_id, '--json', '--db', db]);
  const entries = printed.stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  for (const arm of report.arms) {
    const runs = new Set(arm.children.map((child: { child_run_id: string }) => child.child_run_id));
    const of = (type: string) =>
      entries
        .filter(({ payload }) => runs.has(payload.ledger) && payload.type === type)
        .map(({ payload }) => payload.body);
    const events = of('agent_reported').flatMap((body) => body.events);
    expect(events.filter((event) => event.type === 'step')).toHaveLength(arm.usage.steps);
    expect(of('verdict').filter((body) => body.verdict === 'pass')).toHaveLength(arm.counts.pass);
    const spent = events.filter((event) => event.type === 'usage').map((event) => event.usage.cost_nano_usd);
    expect(spent.reduce((sum, nano) => sum + nano, 0) / 1e9).toBe(arm.usage.cost_usd);
  }
  const refs = new Set(entries.map((entry) => entry.ref));
  for (const { verdict_ref, anchor_ref } of report.arms.flatMap((arm: { children: unknown }) => arm.children)) {
    expect(refs.has(verdict_ref) && refs.has(anchor_ref)).toBe(true);
  }
  expect(entries.every((entry) => entry.joining === 'joined' && entry.envelope.signatures.length === 1)).toBe(true);

  const one = await run(['ledger', report.arms[0].children[0].child_run_id, '--db', db]);
  expect(one.stdout).toMatch(/run_started.*executor[\s\S]*verdict +executor +pass/);
});

test('stdout carries the report and nothing else; stderr carries a line for each run and a summary', async () => {
  const { db, run, write, files } = workplace();
  write('c.toml', fixedContract());
  const { code, stdout, stderr } = await run([
    'eval',
    '--contract',
    'c.toml',
    '--repeats',
    '2',
    '--seed',
    '9',
    '--db',
    db,
  ]);
  expect(code).toBe(0);
  expect(() => JSON.parse(stdout)).not.toThrow();
  expect(stderr).toContain('seed 9');
  expect(stderr.match(/^\[\d\/4\] learning (on|off) +replicate 1 repeat \d +pass/gm)).toHaveLength(4);
  expect(stderr).toMatch(/passed +2 of 2 +2 of 2 +0/);
  expect(stderr).toContain('verdict  pass:');
  expect(stderr).not.toContain(ESCAPE);
  expect(files()).toEqual(expect.arrayContaining(['c.toml', 'truss.db', 'truss.db.keys']));
  expect(statSync(join(`${db}.keys`, 'executor.key')).mode & 0o077).toBe(0);
});

test('a seed gives the same schedule, cases and agent seeds again', async () => {
  const { run, write } = workplace();
  write('c.toml', fixedContract('[[cases]]\nid = "a"\n[[cases]]\nid = "b"\n[[cases]]\nid = "c"\n'));
  const schedules = [];
  for (const db of ['one.db', 'two.db']) {
    const { stdout, stderr } = await run([
      'eval',
      '--contract',
      'c.toml',
      '--repeats',
      '3',
      '--seed',
      '11',
      '--db',
      db,
    ]);
    expect(stderr).toContain('seed 11');
    const { stdout: lines } = await run(['ledger', JSON.parse(stdout).eval_run_id, '--json', '--db', db]);
    const bodies = lines
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).payload);
    schedules.push(
      bodies
        .filter(({ type }) => type === 'child_requested')
        .map(({ body }) => [body.child_run_id.slice(35), body.case, body.seed]),
    );
  }
  expect(schedules[0]).toEqual(schedules[1]);
});

test('a measured fail exits 0, and 3 as a gate', async () => {
  const { db, run, write } = workplace();
  // Learning on recalls a lesson and then spends more: as many pass, at a greater cost.
  write(
    'agent.mjs',
    AGENT.replace(
      'cost_usd: 0.001',
      'cost_usd: JSON.parse(readFileSync(process.env.TRUSS_CONTEXT)).lessons.length === 0 ? 0.001 : 0.002',
    ).replace('import { appendFileSync,', 'import { appendFileSync, readFileSync,'),
  );
  write('c.toml', agentContract(1, 0, LEARNING));
  const measured = await run(['eval', '--contract', 'c.toml', '--repeats', '2', '--db', db]);
  expect(JSON.parse(measured.stdout).verdict).toBe('fail');
  expect(measured.code).toBe(0);
  expect((await run(['eval', '--contract', 'c.toml', '--repeats', '2', '--gate', '--db', db])).code).toBe(3);
});

test('lessons of one evaluation are the starting memory of the next, and of no database with other keys', async () => {
  const { db, run, write, files } = workplace();
  write('agent.mjs', AGENT);
  write('c.toml', agentContract(1, 0, LEARNING));
  const first = JSON.parse((await run(['eval', '--contract', 'c.toml', '--repeats', '1', '--db', db])).stdout);
  const listed = await run(['lessons', 'list', first.eval_run_id, '--db', db]);
  expect(listed.stdout).toContain('Count first');
  const exported = await run(['lessons', 'export', first.eval_run_id, '-o', 'lessons.jsonl', '--db', db]);
  expect(exported.code).toBe(0);
  const second = await run([
    'eval',
    '--contract',
    'c.toml',
    '--repeats',
    '1',
    '--lessons',
    'lessons.jsonl',
    '--db',
    db,
  ]);
  const report = JSON.parse(second.stdout);
  expect(report.curve[0].learning_on.lessons_rendered).toBe(1);
  expect(report.curve[0].learning_off.lessons_rendered).toBe(0);
  const verified = await run(['verify', report.eval_run_id, '--db', db]);
  expect(verified.stdout).toContain(
    `sibling_evaluations: another evaluation of the same contract in this log: ${first.eval_run_id}`,
  );
  expect(verified.code).toBe(0);

  const before = files();
  const strange = await run([
    'eval',
    '--contract',
    'c.toml',
    '--repeats',
    '1',
    '--lessons',
    'lessons.jsonl',
    '--db',
    'other.db',
  ]);
  expect(strange.code).toBe(2);
  expect(strange.stderr).toContain('other.db.keys');
  expect(files()).toEqual(before);
});

test('a budget for the whole evaluation ends it, keeps its ledger, and exits 6', async () => {
  const { db, run, write } = workplace();
  write('agent.mjs', AGENT);
  write('c.toml', agentContract(1, 0));
  const { code, stdout, stderr } = await run([
    'eval',
    '--contract',
    'c.toml',
    '--repeats',
    '5',
    '--max-cost-usd',
    '0.003',
    '--db',
    db,
  ]);
  expect(code).toBe(6);
  expect(stdout).toBe('');
  expect(stderr).toMatch(/stopped: ev_\w+ was ended after \d of 10 runs: the evaluation's budget is spent/);
  const verified = await run(['verify', idIn(stderr), '--db', db]);
  expect(verified.stdout).toMatch(/^ended /);
  expect(verified.code).toBe(4);
  expect((await run(['report', idIn(stderr), '--db', db])).code).toBe(6);
});

test('progress for programs is one JSON object a line, and nothing else on stderr', async () => {
  const { db, run, write } = workplace();
  write('c.toml', fixedContract());
  const { stderr } = await run(['eval', '--contract', 'c.toml', '--repeats', '1', '--progress', 'json', '--db', db]);
  const events = stderr
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).event);
  expect(events[0]).toBe('evaluation_started');
  expect(events.filter((event) => event === 'run_ended')).toHaveLength(2);
  expect(events.slice(-2)).toEqual(['evaluation_closed', 'evaluation_reported']);
});

test('the bar redraws in place and leaves nothing behind but the summary', async () => {
  const { db, run, write } = workplace();
  write('agent.mjs', AGENT);
  write('c.toml', agentContract(4, 100));
  const { stderr } = await run(['eval', '--contract', 'c.toml', '--repeats', '1', '--progress', 'bar', '--db', db]);
  const [before, ...frames] = stderr.split(`${ESCAPE}[2A${ESCAPE}[0J`);
  expect(before).toContain('stepper ');
  expect(frames.length).toBeGreaterThan(3);
  expect(frames.slice(0, -1).every((frame) => frame.split('\n').length === 3)).toBe(true);
  expect(frames.at(-1)).toMatch(/^\u001b\[\?25h\n/);
  expect(frames.at(-1)).not.toContain('━');
});

test('colours follow FORCE_COLOR and NO_COLOR, and the last one wins', async () => {
  const { db, run, write } = workplace();
  write('c.toml', fixedContract());
  const args = ['eval', '--contract', 'c.toml', '--repeats', '1', '--db', db];
  expect((await run(args, { FORCE_COLOR: '1' })).stderr).toContain(`${ESCAPE}[32mpass`);
  expect((await run(args, { FORCE_COLOR: '1', NO_COLOR: '1' })).stderr).not.toContain(ESCAPE);
});
