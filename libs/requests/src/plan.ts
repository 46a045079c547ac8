import { limitWithoutRoom } from '#lib/child-run';
import { budgetProblem, type Contract, type LoadedContract, providersInUse, unsupportedReason } from '#lib/contract';
import type { EvalRequested } from '#lib/evaluation';
import type { EntryHash } from '#lib/ledger';
import { pricingOf } from '#lib/providers';
import { RequestError } from './errors.js';

/** What a request says of the plan; what is absent or `null` is the contract's `[evaluation]`. */
export interface Wanted {
  readonly repeats?: number | null | undefined;
  readonly replicates?: number | null | undefined;
  readonly maxCostNanoUsd?: number | null | undefined;
  readonly deadlineMs?: number | null | undefined;
  readonly primary?: Contract['evaluation']['primary'] | null | undefined;
  readonly alpha?: number | null | undefined;
  readonly margin?: number | null | undefined;
}

/** What of a request follows from its contract. */
export type Planned = Pick<
  EvalRequested,
  'contracts' | 'repeats' | 'replicates' | 'max_cost_nano_usd' | 'deadline_ms' | 'statistics'
>;

/** A body of the ledger is read as JSON up to 32 MiB: the plan must fit, and so must the report, which names every run. */
const MAX_BODY_BYTES = 30 * 1024 * 1024;
/** What the report needs for a run beside the name of its case, and for a position of the curve; measured, with room to spare. */
const RUN_BYTES = 720;
const POSITION_BYTES = 700;
const ARMS = 2;

/**
 * The plan of a request: what it says wins over the contract.
 * @throws RequestError for what cannot be run or recorded
 */
export function planOfRequest(
  { contract, digest }: Pick<LoadedContract, 'contract' | 'digest'>,
  wanted: Wanted,
): Planned {
  const { evaluation } = contract;
  const unsupported = unsupportedReason(contract);
  if (unsupported !== null) throw new RequestError('contract_unsupported', unsupported);
  const repeats = wanted.repeats ?? evaluation.repeats;
  if (repeats === null) {
    throw new RequestError(
      'repeats_missing',
      'nothing says how often to repeat: add --repeats N, or `repeats = N` under [evaluation] in the contract',
    );
  }
  const replicates = wanted.replicates ?? evaluation.replicates;
  checkCases(contract, repeats);
  checkSize(contract, repeats, replicates);
  return {
    contracts: [{ digest: digest as EntryHash, contract }],
    repeats,
    replicates,
    max_cost_nano_usd: wanted.maxCostNanoUsd ?? evaluation.max_cost_nano_usd,
    deadline_ms: wanted.deadlineMs ?? evaluation.deadline_ms,
    statistics: {
      method_version: 1,
      primary: wanted.primary ?? evaluation.primary,
      alpha: wanted.alpha ?? evaluation.alpha,
      margin: wanted.margin ?? evaluation.margin,
      min_units: evaluation.min_units,
    },
  };
}

/**
 * Whether limits of cost can be kept, and leave room for a first call. Nothing is called.
 * @param maxCostNanoUsd of the whole evaluation
 * @param nowMs the day of the price table
 * @throws RequestError `price_unknown`, `budget_too_small`
 */
export async function checkBudget(contract: Contract, maxCostNanoUsd: number | null, nowMs: number): Promise<void> {
  const priced = new Set<string>();
  for (const name of providersInUse(contract)) {
    if ((await pricingOf(name, contract, nowMs)).rates !== null) priced.add(name);
  }
  const problem = budgetProblem(contract, maxCostNanoUsd, (name) => priced.has(name));
  if (problem !== null) throw new RequestError('price_unknown', problem);
  const limit = await limitWithoutRoom(contract, nowMs);
  if (limit !== null)
    throw new RequestError(
      'budget_too_small',
      `\`${limit}\` in [budget] has no room for the agent's first call beside what the panel may need to judge it: raise it`,
    );
}

function checkCases({ cases, id }: Contract, repeats: number): void {
  if (cases.length === 0 || cases.length >= repeats) return;
  throw new RequestError(
    'cases_too_few',
    `${plural(repeats, 'repeat')} need as many cases, and the contract ${id} has ${plural(cases.length, 'case')}: ` +
      `ask for at most --repeats ${cases.length}, or add cases`,
  );
}

function checkSize(contract: Contract, repeats: number, replicates: number): void {
  const runs = repeats * replicates * ARMS;
  const most = mostRuns(contract, replicates);
  if (runs > most) {
    throw new RequestError(
      'plan_too_large',
      `${plural(repeats, 'repeat')} x ${plural(replicates, 'replicate')} x 2 arms are ${whole(runs)} child runs, and one evaluation of ` +
        `this contract can record ${whole(most)}: lower --repeats or --replicates, or make several evaluations of it`,
    );
  }
  const bytes = Buffer.byteLength(JSON.stringify(contract));
  if (bytes > MAX_BODY_BYTES) {
    throw new RequestError(
      'plan_too_large',
      `the plan would hold a contract of ${whole(bytes)} bytes, and at most ${whole(MAX_BODY_BYTES)} can be recorded: use fewer or shorter cases`,
    );
  }
}

function mostRuns({ cases }: Contract, replicates: number): number {
  const caseBytes = cases.reduce((longest, { id }) => Math.max(longest, Buffer.byteLength(JSON.stringify(id))), 0);
  return Math.floor(MAX_BODY_BYTES / (RUN_BYTES + caseBytes + POSITION_BYTES / (replicates * ARMS)));
}

function whole(value: number): string {
  return value.toLocaleString('en-US');
}

function plural(count: number, one: string): string {
  return `${whole(count)} ${count === 1 ? one : `${one}s`}`;
}
