import { describe, expect, test } from 'vitest';
import { kit, node, REPORT } from './child-run.testkit.js';

describe('a fixed agent', () => {
  test('answers with its text, which a match criterion then reads', async () => {
    const run = await kit();
    expect((await run.perform({ kind: 'agent' })).map(({ type }) => type)).toEqual([
      'workspace_changed',
      'answer_submitted',
    ]);
    await run.perform({ kind: 'check', criterion: 'label' });
    expect(run.last('criterion_checked')).toMatchObject({ result: 'pass' });
    expect(run.last('answer_submitted')).toMatchObject({ ended: 'constant', output: { text: 'spam' } });
  });
});

describe('a command agent', () => {
  test('works in a copy of the workspace, and what it changed is judged by a command', async () => {
    const run = await kit({
      workspace: { 'a.txt': 'one', 'b.txt': 'two' },
      contract: {
        agent: {
          kind: 'command',
          command: node(
            `${REPORT} import { writeFileSync, rmSync } from 'node:fs'; report({ type: 'step', name: 'edit' }); writeFileSync('a.txt', 'ONE'); rmSync('b.txt'); console.log('done');`,
          ),
        },
        criteria: [
          {
            id: 'tests',
            kind: 'command',
            run: node(
              "import { readdirSync, readFileSync } from 'node:fs'; process.exit(readdirSync('.').join() === 'a.txt' && readFileSync('a.txt', 'utf8') === 'ONE' ? 0 : 1)",
            ),
            timeout_ms: 10_000,
          },
        ],
      },
    });
    await run.perform({ kind: 'agent' });
    expect(run.last('workspace_changed').files.map(({ path, change }) => [path, change])).toEqual([
      ['a.txt', 'modified'],
      ['b.txt', 'deleted'],
    ]);
    expect(run.last('answer_submitted')).toMatchObject({ ended: 'exited', exit_code: 0, output: { text: 'done\n' } });
    expect(run.events()).toEqual([{ type: 'step', name: 'edit' }]);
    await run.perform({ kind: 'check', criterion: 'tests' });
    expect(run.last('criterion_checked')).toMatchObject({ result: 'pass' });
  });
});
