import { fold, joins, type LinkedEntry, type LiveChains } from '#lib/ledger';
import type { OwnerCore } from '../owner.js';
import { OwnerCore as SoundOwner } from '../owner.js';
import { ProjectionCore as SoundProjection } from '../projection.js';
import { RunCore as SoundRun } from '../run.js';

/** What the processes of a world go by. The production code carries no switches: a planted fault is another set of these. */
export interface Rules {
  readonly name: string;
  fold(live: LiveChains, entry: LinkedEntry): ReturnType<typeof fold>;
  joins(live: LiveChains, entry: LinkedEntry): boolean;
  readonly owner: new (...args: ConstructorParameters<typeof SoundOwner>) => OwnerCore;
  readonly run: new (...args: ConstructorParameters<typeof SoundRun>) => SoundRun;
  readonly projection: new (...args: ConstructorParameters<typeof SoundProjection>) => SoundProjection;
  /** Where a coordinator begins to read when an acceptance names the log's end of that time. */
  readonly trustsPositions: boolean;
}

export const SOUND: Rules = {
  name: 'none',
  fold,
  joins,
  owner: SoundOwner,
  run: SoundRun,
  projection: SoundProjection,
  trustsPositions: false,
};
