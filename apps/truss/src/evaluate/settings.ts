import type { Contract, LoadedContract } from '#lib/contract';
import type { EvalRequested } from '#lib/evaluation';
import type { EntryHash } from '#lib/ledger';
import { usageError } from '../exit-codes.js';
import { plural, whole } from '../format.js';

/** The flags of `truss eval` that say what is measured; absent ones are the contract's `[evaluation]`, or a default. */
export interface EvalFlags {
  readonly repeats?: number;
  readonly replicates?: number;
  readonly seed?: number;
  readonly concurrency?: number;
  readonly maxCostUsd?: number;
  readonly alpha?: number;
  readonly margin?: number;
  readonly primary?: Contract['evaluation']['primary'];
  readonly requestId?: string;
}

export interface Surroundings {
  /** A whole number from 0 to 2^48 - 1. */
  readonly seed: () => number;
  readonly requestId: () => string;
  /** How many programs run well side by side here. */
  readonly parallelism: number;
}

/** A body of the ledger is read as JSON up to 32 MiB: the plan must fit, and so must the report, which names every run. */
const MAX_BODY_BYTES = 30 * 1024 * 1024;
/** What the report needs for a run beside the name of its case, and for a position of the curve; measured, with room to spare. */
const RUN_BYTES = 720;
const POSITION_BYTES = 700;
const ARMS = 2;

type Request = Omit<EvalRequested, 'starting_lessons'>;

/**
 * What is asked for: flags win over the contract's `[evaluation]`.
 * @throws CliError for what cannot be run or recorded
 */
export function requestFor(
  { contract, digest, directory, workspaceDir }: LoadedContract,
  flags: EvalFlags,
  { seed, requestId, parallelism }: Surroundings,
): Request {
  const { evaluation } = contract;
  const repeats = flags.repeats ?? evaluation.repeats;
  if (repeats === null) {
    throw usageError(
      'nothing says how often to repeat: add --repeats N, or `repeats = N` under [evaluation] in the contract',
    );
  }
  const replicates = flags.replicates ?? evaluation.replicates;
  checkCases(contract, repeats);
  checkSize(contract, repeats, replicates);
  return {
    kind: 'eval',
    requester: 'local',
    request_id: flags.requestId ?? requestId(),
    contracts: [{ digest: digest as EntryHash, contract }],
    repeats,
    replicates,
    seed: flags.seed ?? seed(),
    // A pair is two runs side by side.
    concurrency: flags.concurrency ?? Math.max(1, Math.min(replicates, Math.floor(parallelism / ARMS))),
    max_cost_nano_usd: flags.maxCostUsd ?? evaluation.max_cost_nano_usd,
    deadline_ms: evaluation.deadline_ms,
    statistics: {
      method_version: 1,
      primary: flags.primary ?? evaluation.primary,
      alpha: flags.alpha ?? evaluation.alpha,
      margin: flags.margin ?? evaluation.margin,
      min_units: evaluation.min_units,
    },
    files: [{ directory, workspace: workspaceDir }],
  };
}

function checkCases({ cases, id }: Contract, repeats: number): void {
  if (cases.length === 0 || cases.length >= repeats) return;
  throw usageError(
    `${plural(repeats, 'repeat')} need as many cases, and the contract ${id} has ${plural(cases.length, 'case')}: ` +
      `ask for at most --repeats ${cases.length}, or add cases`,
  );
}

function checkSize(contract: Contract, repeats: number, replicates: number): void {
  const runs = repeats * replicates * ARMS;
  const most = mostRuns(contract, replicates);
  if (runs > most) {
    throw usageError(
      `${plural(repeats, 'repeat')} x ${plural(replicates, 'replicate')} x 2 arms are ${whole(runs)} child runs, and one evaluation of ` +
        `this contract can record ${whole(most)}: lower --repeats or --replicates, or make several evaluations of it`,
    );
  }
  const bytes = Buffer.byteLength(JSON.stringify(contract));
  if (bytes > MAX_BODY_BYTES) {
    throw usageError(
      `the plan would hold a contract of ${whole(bytes)} bytes, and at most ${whole(MAX_BODY_BYTES)} can be recorded: use fewer or shorter cases`,
    );
  }
}

function mostRuns({ cases }: Contract, replicates: number): number {
  const caseBytes = cases.reduce((longest, { id }) => Math.max(longest, Buffer.byteLength(JSON.stringify(id))), 0);
  return Math.floor(MAX_BODY_BYTES / (RUN_BYTES + caseBytes + POSITION_BYTES / (replicates * ARMS)));
}
