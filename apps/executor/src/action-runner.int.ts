import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { openSqliteLog, type TopicRecord } from '#lib/event-log';
import { type ChildRunId, type Entry, isChildRunId, openTrustStore, signDraft } from '#lib/ledger';
import type { RunEvent } from '#lib/protocol';
import { EvaluationViews, type OpenView } from '#lib/runtime';
import { testPorts } from '../../../libs/runtime/src/ports.testkit.js';
import { type Evaluated, evaluate, SIGNERS, trust } from '../../../libs/verification/src/evaluation.testkit.js';
import { ActionRunner } from './action-runner.js';
import { FileHints } from './file-hints.js';

let evaluated: Evaluated;
/** Up to the beginning of a run that has yet to recall. */
let begun: Entry[];
let first: Entry & { readonly ledger: ChildRunId };
beforeAll(async () => {
  evaluated = await evaluate();
  const at = evaluated.entries.findIndex(({ type, ledger }) => type === 'run_started' && ledger.includes('.on.'));
  begun = evaluated.entries.slice(0, at + 1);
  const entry = begun.at(-1);
  if (entry === undefined || !isChildRunId(entry.ledger)) throw new Error('no run of the arm that learns');
  first = entry as typeof first;
});

/** An executor's actions on a run that it is the writer of. `files`: what happens while the contract's files come, and how long that takes. */
async function world(files: (world: { takeOver: () => Promise<void> }) => Promise<number>) {
  const folder = mkdtempSync(join(tmpdir(), 'truss-executor-'));
  const keys = openTrustStore(trust);
  const { log, topics, close } = openSqliteLog({ file: join(folder, 'truss.db'), keys, mode: 'drive' });
  onTestFinished(async () => {
    await close();
    rmSync(folder, { recursive: true, force: true });
  });
  for (const bytes of evaluated.attachments.values()) await log.putAttachment(bytes);
  const append = async (entry: Entry) => {
    expect(await log.append([{ entry, attachment: null }])).toBe('confirmed');
  };
  for (const entry of begun) await append(entry);
  const takeOver = async () => {
    const { eval: id, ledger, hash: prev, seq, at, key, session } = first;
    const draft = { type: 'writer_changed', body: { displaced: { key, session }, reason: 'no lease' } } as const;
    const place = { eval: id, ledger, prev, seq: seq + 1, session: 'e'.repeat(32), at };
    const { entry } = await signDraft(draft, place, SIGNERS.executor);
    await append(entry);
  };
  let late = 0;
  const failures: unknown[] = [];
  const ports = testPorts({
    log,
    topics,
    keys,
    contracts: {
      fetch: async () => {
        late += await files({ takeOver });
      },
      locate: () => null,
      whyNot: () => null,
    },
    leaseMs: 60_000,
    now: () => Date.now() + late,
    below: () => 0,
    fatal: (error) => failures.push(error),
  });
  const open = await new EvaluationViews(ports).open(evaluated.evaluation);
  return { ports, open, takeOver, failures };
}

const command: TopicRecord = {
  topic: 'eval.child-run.commands',
  partition: 0,
  position: 0,
  key: 'a run',
  value: { files: null },
};

async function recalled({ ports, open, failures }: Awaited<ReturnType<typeof world>>): Promise<RunEvent[]> {
  const runner = new ActionRunner(ports, open, new FileHints(command));
  onTestFinished(() => runner.dispose());
  const posted: RunEvent[] = [];
  const effect = { kind: 'perform', id: 1, action: { kind: 'recall' } } as const;
  runner.perform(first.ledger, first.session, effect, (event) => posted.push(event), ports.fatal);
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(failures).toEqual([]);
  return posted;
}

test('an action is done by the writer of its run', async () => {
  expect(await recalled(await world(async () => 0))).toMatchObject([
    { kind: 'performed', id: 1, drafts: [{ type: 'lessons_recalled' }] },
  ]);
});

test('an action is not begun when another took the run over while its files came', async () => {
  const displaced = await world(async ({ takeOver }) => {
    await takeOver();
    return 0;
  });
  expect(await recalled(displaced)).toEqual([]);
});

test('files that took long to come are time enough for a take-over that was not read yet: the log is read first', async () => {
  for (const [took, done] of [
    [0, 1],
    [60_000, 0],
  ] as const) {
    const displaced = await world(async () => took);
    // What stands in the log is seen when it is read to its end, and not before.
    const unread: OpenView = {
      ...displaced.open,
      caughtUp: async () => {
        await displaced.takeOver();
        await displaced.open.caughtUp();
      },
    };
    expect(await recalled({ ...displaced, open: unread })).toHaveLength(done);
  }
});
