import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { snapshotWorkspace } from '#lib/contract';
import { kit } from './child-run.testkit.js';
import { faultOf } from './faults.js';
import { Scratch } from './scratch.js';
import { runLimits } from './work.js';
import { createRunActions } from './run-actions.js';
import { rebuildWorkspace } from './workspace.js';

const SCRIPT = `
  set -e
  echo changed > a.txt
  rm gone.txt deep/only.txt
  chmod +x tool.sh
  mkdir -p new/dir && printf '\\000\\377' > new/dir/binary
  rm -r swap && echo file > swap
  rm file && mkdir file && echo in > file/inner
  ln -s a.txt link && ln -s ../a.txt new/up
  rm -r real && mkdir real2 && echo x > real2/x && ln -s real2 real
  : > empty
  printf 'ü' > 'naïve name.txt'
  cp -r . "$OUT"
`;

test('another executor rebuilds just what the agent left: contents, modes, links, deletions, and kinds that changed', async () => {
  const out = await mkdtemp(join(tmpdir(), 'outside-'));
  onTestFinished(() => rm(out, { recursive: true, force: true }));
  const run = await kit({
    workspace: {
      'a.txt': 'one',
      'gone.txt': '1',
      'deep/only.txt': '2',
      'tool.sh': 'x',
      'swap/x': '1',
      file: 'f',
      'real/x': 'r',
      'same.txt': 's',
    },
    contract: { agent: { kind: 'command', command: ['sh', '-c', SCRIPT.replace('$OUT', out)] } },
  });
  await run.perform({ kind: 'agent' });
  expect(run.last('answer_submitted')).toMatchObject({ exit_code: 0 });
  const scratch = new Scratch();
  onTestFinished(() => scratch.dispose());
  const place = await scratch.place();
  const work = { run: run.run, ports: run.ports, scratch, limits: runLimits, redact: (text: string) => text };
  await rebuildWorkspace(work, run.last('workspace_changed'), place.workspace);
  expect(await snapshotWorkspace(place.workspace)).toEqual(await snapshotWorkspace(out));
});

test('a rebuild without the recorded files fails, rather than judge something else', async () => {
  const run = await kit({
    contract: {
      agent: { kind: 'command', command: ['sh', '-c', 'head -c 9000 /dev/urandom > answer.txt'] },
      criteria: [{ id: 'it', kind: 'command', run: ['true'], timeout_ms: 1 }],
    },
  });
  await run.perform({ kind: 'agent' });
  const erased = { ...run.ports, attachment: () => Promise.resolve(null) };
  const actions = createRunActions(run.run, erased);
  onTestFinished(() => actions.dispose());
  const drafts = await actions.perform(
    { kind: 'check', criterion: 'it' },
    run.state,
    () => {},
    new AbortController().signal,
  );
  expect(drafts).toMatchObject([
    { body: { result: 'unverifiable', reason: 'the files of the answer are not at hand: they were erased' } },
  ]);
});

test('a log that cannot keep an attachment stops the run: it is no fault for the ledger', async () => {
  const run = await kit({
    contract: { agent: { kind: 'command', command: ['sh', '-c', 'head -c 9000 /dev/urandom > answer.txt'] } },
  });
  const full = { ...run.ports, putAttachment: () => Promise.reject(new Error('database or disk is full')) };
  const actions = createRunActions(run.run, full);
  onTestFinished(() => actions.dispose());
  const result = actions.perform({ kind: 'agent' }, run.state, () => {}, new AbortController().signal);
  await expect(result).rejects.toMatchObject({ name: 'CannotGoOn', code: 'log_failed' });
});

test('a full disk stops the run too', () => {
  expect(() => faultOf(Object.assign(new Error('write'), { code: 'ENOSPC' }), 'workspace')).toThrow(
    'free some, then resume',
  );
});
