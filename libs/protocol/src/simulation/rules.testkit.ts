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
  /** An append is answered when the cluster has it, before it was read back. */
  readonly answersAtAcknowledgement: boolean;
  /** What was taken from a partition is committed although it is another's. */
  readonly keepsLostTrackers: boolean;
  /** The last acceptance says where an evaluation begins. */
  readonly laterBeginningsCount: boolean;
  /** A lease store that came back empty is believed at once. */
  readonly trustsEmptyStores: boolean;
  /** What ends late ends the work that is there under the same name. */
  readonly releasesByName: boolean;
  /** What a repeat asks for is compared with what this process saw first, and not with the ledger. */
  readonly comparesWithTheFirst: boolean;
  /** A run that is still reading when its patience ends is asked again later. */
  readonly asksAgain: boolean;
}

export const SOUND: Rules = {
  name: 'none',
  fold,
  joins,
  owner: SoundOwner,
  run: SoundRun,
  projection: SoundProjection,
  trustsPositions: false,
  answersAtAcknowledgement: false,
  keepsLostTrackers: false,
  laterBeginningsCount: false,
  trustsEmptyStores: false,
  releasesByName: false,
  comparesWithTheFirst: false,
  asksAgain: true,
};
