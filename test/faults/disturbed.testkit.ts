import { expect } from 'vitest';
import type { ServiceRole } from '#lib/key-store';
import type { ChildRunId, Entry, EvalRunId } from '#lib/ledger';
import type { Deployment } from './deployment.testkit.js';
import { type Outcome, type Plan, undisturbed } from './outcome.testkit.js';
import type { Service } from './service.testkit.js';
import { paidBeyond, type PaidModel } from './work.testkit.js';

/** What an evaluation is without a fault: its outcome, and what the models were asked. */
export interface Calm {
  readonly outcome: Outcome;
  readonly calls: readonly string[];
}

export async function calmOf(contract: string, plan: Plan, model: PaidModel): Promise<Calm> {
  const before = model.calls.length;
  const outcome = await undisturbed(contract, plan);
  expect(outcome.unmeasured).toBe(0);
  return { outcome, calls: model.calls.slice(before) };
}

/** What a fault cost. */
export interface Cost {
  /** Calls that were paid for more than once. */
  readonly paidTwice: number;
  /** Calls that the report shows as unmeasured. */
  readonly unmeasured: number;
  /** Ledgers that another writer took over. */
  readonly taken: { readonly evaluation: number; readonly runs: number };
  readonly entries: readonly Entry[];
}

/**
 * Waits for the report, and expects that it measures what it does without a fault, that it verifies, and that no call was paid twice but
 * those that were in flight when their process was displaced: at most one a run, each of which the report shows as unmeasured.
 * @param before how many calls the model had answered when the evaluation was asked for
 */
export async function expectCalm(
  at: Deployment,
  evaluation: EvalRunId,
  calm: Calm,
  { model, before }: { readonly model: PaidModel; readonly before: number },
): Promise<Cost> {
  const { measured, unmeasured } = await at.outcomeOf(evaluation);
  expect(measured).toEqual(calm.outcome.measured);
  const beyond = [...paidBeyond(calm.calls, model.calls.slice(before)).values()];
  expect(beyond.filter((count) => count < 0)).toEqual([]);
  const paidTwice = beyond.reduce((sum, count) => sum + count, 0);
  expect(paidTwice).toBeLessThanOrEqual(unmeasured);
  const entries = await at.entries(evaluation);
  const taken = entries.filter(({ type }) => type === 'writer_changed').map(({ ledger }) => ledger);
  const runs = taken.filter((ledger) => ledger !== evaluation).length;
  expect(unmeasured).toBeLessThanOrEqual(runs);
  await at.verify(evaluation);
  expect(await at.list('eval.report', evaluation)).toHaveLength(1);
  return { paidTwice, unmeasured, taken: { evaluation: taken.length - runs, runs }, entries };
}

/** The runs of an evaluation that a process began or took over. */
export function runsOf(service: Service, evaluation: EvalRunId): ReadonlySet<ChildRunId> {
  const begun = [...service.lines('run started'), ...service.lines('ledger taken over')];
  const ids = begun.filter((line) => line['eval_run_id'] === evaluation).map((line) => line['child_run_id']);
  return new Set(ids.filter((id) => id !== undefined) as ChildRunId[]);
}

/** The process that runs the most of an evaluation, with how many it has begun. */
export function busiest(at: Deployment, evaluation: EvalRunId): { readonly victim: Service; readonly runs: number } {
  const [first] = at
    .of('executor')
    .map((victim) => ({ victim, runs: runsOf(victim, evaluation).size }))
    .toSorted((a, b) => b.runs - a.runs);
  if (first === undefined || first.runs === 0) throw new Error(`no executor runs anything of ${evaluation}`);
  return first;
}

/** The process of a role that logged something of the evaluation last. */
export function whoSaid(at: Deployment, role: ServiceRole, message: string, evaluation: EvalRunId): Service {
  const said = at.of(role).find((service) => service.lines(message).some((line) => line['eval_run_id'] === evaluation));
  if (said === undefined) throw new Error(`no ${role} said "${message}" of ${evaluation}`);
  return said;
}

/** Polls until it holds, for as long as a busy machine may take. */
export function eventually(read: () => unknown, timeout = 60_000) {
  return expect.poll(read, { timeout, interval: 25 });
}
