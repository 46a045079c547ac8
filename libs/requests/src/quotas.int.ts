import { expect, test } from 'vitest';
import { type EvalAccepted, evaluationOf } from '#lib/evaluation';
import { childRunId, type Draft, type EvalRunId, NO_SPEND } from '#lib/ledger';
import { Chain, drafts } from '../../event-log/src/fixtures.testkit.js';
import { deployment, KEYS, NOW } from './requests.testkit.js';
import { type QuotaLimits, type QuotaOptions, Quotas } from './quotas.js';

const DAY = 24 * 3_600_000;

function accepted(request_id: string, requester = 'ana', kind = 'command'): EvalAccepted {
  const request = {
    kind: 'eval' as const,
    requester,
    request_id,
    contracts: [{ digest: 'a'.repeat(64) as never, contract: { agent: { kind } } }],
    repeats: 1,
    replicates: 1,
    seed: 0,
    concurrency: 1,
    starting_lessons: [],
    max_cost_nano_usd: null,
    deadline_ms: DAY,
    statistics: { method_version: 1, primary: 'pass_rate' as const, alpha: 0.05, margin: 0.1, min_units: 6 },
    files: [],
  };
  return { kind: 'eval', eval_run_id: evaluationOf(request), accepted_at: NOW, from: 0, request };
}

function world(limits: Partial<QuotaLimits>) {
  const at = deployment();
  const { log, topics, clock } = at;
  const options = {
    limits: { open: 2, spendNanoUsdPerDay: null, ...limits },
    log,
    topics,
    keys: KEYS,
    now: () => clock.now,
  };
  const quotas = new Quotas(options);
  return {
    ...at,
    again: (part: Partial<QuotaOptions> = {}) => new Quotas({ ...options, ...part }),
    ask: async (one: EvalAccepted, by = quotas): Promise<string> => {
      try {
        await by.admit(one);
      } catch (error) {
        return (error as { code: string }).code;
      }
      await topics.publish('eval.accepted', one.eval_run_id, one);
      return 'accepted';
    },
    close: (one: EvalAccepted) =>
      topics.publish('eval.index', one.eval_run_id, { eval_run_id: one.eval_run_id, from: 0, outcome: 'complete' }),
  };
}

/** Writes an evaluation whose one run cost so much, half of it in vain. */
async function spend(log: ReturnType<typeof world>['log'], id: EvalRunId, nanoUsd: number, at: number): Promise<void> {
  const parent = Chain.evaluation(id);
  const child = childRunId({ eval: id, contract: 0, arm: 'on', replicate: 1, repeat: 1 });
  const usage = { ...NO_SPEND, cost_nano_usd: nanoUsd / 2 };
  const ref = `${child}#1@${'0'.repeat(64)}`;
  const hash = '0'.repeat(64);
  const anchor = {
    type: 'child_anchor',
    body: {
      child_run_id: child,
      entries: 2,
      root_hash: hash,
      head_hash: hash,
      verdict: 'pass',
      verdict_ref: ref,
      usage,
      superseded: { count: 1, hashes: [hash], usage },
    },
  } as Draft;
  const opening = [await parent.next(drafts.started()), await parent.next(drafts.requested(child))];
  await log.append([...opening, await parent.next(anchor, new Date(at).toISOString())]);
}

test('one requester has so many evaluations open at once, and another is none the poorer', async () => {
  const { ask, close, clock } = world({});
  const [one, two, three] = [accepted('1'), accepted('2'), accepted('3')];
  expect([await ask(one), await ask(two), await ask(three)]).toEqual(['accepted', 'accepted', 'quota_open']);
  expect(await ask(accepted('1', 'ben'))).toBe('accepted');
  await close(one);
  clock.now += 2_000;
  expect(await ask(three)).toBe('accepted');
});

test('what was accepted may be asked for again, open or closed, however full it is', async () => {
  const { ask, close } = world({});
  const [one, two] = [accepted('1'), accepted('2')];
  await ask(one);
  await ask(two);
  expect(await ask(one)).toBe('accepted');
  await close(two);
  expect(await ask(two)).toBe('accepted');
});

test('what another intake accepted counts, and so does what was accepted before a restart', async () => {
  const { ask, again, clock } = world({});
  await ask(accepted('1'));
  const other = again();
  expect(await ask(accepted('2'), other)).toBe('accepted');
  expect(await ask(accepted('3'), other)).toBe('quota_open');
  clock.now += 2_000;
  expect(await ask(accepted('3'))).toBe('accepted');
  clock.now += 2_000;
  expect(await ask(accepted('4'))).toBe('quota_open');
});

test('what the evaluations of a requester spent in a day, in vain too, is counted from their anchors', async () => {
  const { ask, again, log, close, clock } = world({ open: 10, spendNanoUsdPerDay: 1_000 });
  const one = accepted('1');
  expect(await ask(one)).toBe('accepted');
  await spend(log, one.eval_run_id as EvalRunId, 600, NOW);
  expect(await ask(accepted('2'), again())).toBe('accepted');
  await spend(log, accepted('2').eval_run_id as EvalRunId, 400, NOW + 1);
  await close(one);
  const restarted = again();
  expect(await ask(accepted('3'), restarted)).toBe('quota_spend');
  expect(await ask(accepted('3', 'ben'), restarted)).toBe('accepted');
  clock.now = NOW + DAY + 1;
  expect(await ask(accepted('3'), restarted)).toBe('accepted');
});

test('what is spent after an acceptance is known a little later, without a request waiting for it', async () => {
  const { ask, log, clock } = world({ open: 10, spendNanoUsdPerDay: 1_000 });
  const one = accepted('1');
  await ask(one);
  await spend(log, one.eval_run_id as EvalRunId, 1_000, NOW);
  expect(await ask(accepted('2'))).toBe('accepted');
  clock.now += 31_000;
  let no = 3;
  await expect.poll(() => ask(accepted(String(no++)))).toBe('quota_spend');
});

test('an evaluation that can cost nothing is not even read', async () => {
  const { ask, log } = world({ open: 10, spendNanoUsdPerDay: 1 });
  const one = accepted('1', 'ana', 'fixed');
  await ask(one);
  await spend(log, one.eval_run_id as EvalRunId, 600, NOW);
  expect(await ask(accepted('2'))).toBe('accepted');
});

test('what was read once of the topics is not read again', async () => {
  const { ask, again, topics, close, clock } = world({ open: 1 });
  let read = 0;
  const list: typeof topics.list = async function* (topic, after) {
    for await (const record of topics.list(topic, after)) {
      read += 1;
      yield record;
    }
  };
  const counting = again({ topics: { ...topics, list } });
  await ask(accepted('1', 'ben'));
  await ask(accepted('1'));
  expect(await ask(accepted('2'), counting)).toBe('quota_open');
  expect(read).toBe(2);
  clock.now += 2_000;
  expect(await ask(accepted('2'), counting)).toBe('quota_open');
  expect(read).toBe(2);
  await close(accepted('1'));
  clock.now += 2_000;
  expect(await ask(accepted('2'), counting)).toBe('accepted');
  expect(read).toBe(3);
});

test('an evaluation that was accepted and ended between the two topics is not open for ever', async () => {
  const { ask, again, topics, close, clock } = world({ open: 1 });
  const one = accepted('1');
  let between = async (): Promise<void> => {
    between = async () => {};
    await topics.publish('eval.accepted', one.eval_run_id, one);
    await close(one);
  };
  const list: typeof topics.list = async function* (topic, after) {
    if (topic === 'eval.index') await between();
    yield* topics.list(topic, after);
  };
  const quotas = again({ topics: { ...topics, list } });
  expect(await ask(accepted('1', 'ben'), quotas)).toBe('accepted');
  clock.now += 2_000;
  expect(await ask(accepted('2'), quotas)).toBe('accepted');
});

test('what a requester spent before a restart is read side by side', async () => {
  const { ask, again, log } = world({ open: 10, spendNanoUsdPerDay: 1_000 });
  for (const no of ['1', '2', '3']) await ask(accepted(no));
  const all = Promise.withResolvers<void>();
  let reading = 0;
  const records: typeof log.records = async function* (id) {
    reading += 1;
    if (reading === 3) all.resolve();
    await all.promise;
    yield* log.records(id);
  };
  expect(await ask(accepted('4'), again({ log: { ...log, records } }))).toBe('accepted');
});

test('who asked for an evaluation is known of every one that was accepted, and of no other', async () => {
  const { ask, again } = world({});
  const one = accepted('1');
  await ask(one);
  expect(await again().requesterOf(one.eval_run_id as EvalRunId)).toBe('ana');
  expect(await again({ looks: 1 }).requesterOf(accepted('2').eval_run_id as EvalRunId)).toBeNull();
});
