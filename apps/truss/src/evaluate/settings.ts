import type { Contract, LoadedContract } from '#lib/contract';
import type { EvalRequested } from '#lib/evaluation';
import { planOfRequest } from '#lib/requests';

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

/** A pair is two runs side by side. */
const PAIR = 2;

type Request = Omit<EvalRequested, 'starting_lessons'>;

/**
 * What is asked for: flags win over the contract's `[evaluation]`.
 * @throws RequestError for what cannot be run or recorded
 */
export function requestFor(
  loaded: LoadedContract,
  flags: EvalFlags,
  { seed, requestId, parallelism }: Surroundings,
): Request {
  const planned = planOfRequest(loaded, { ...flags, maxCostNanoUsd: flags.maxCostUsd });
  return {
    kind: 'eval',
    requester: 'local',
    request_id: flags.requestId ?? requestId(),
    ...planned,
    seed: flags.seed ?? seed(),
    concurrency: flags.concurrency ?? Math.max(1, Math.min(planned.replicates, Math.floor(parallelism / PAIR))),
    files: [{ directory: loaded.directory, workspace: loaded.workspaceDir }],
  };
}
