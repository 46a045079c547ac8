import type { EventLog, Leases, Topics } from '#lib/event-log';
import type { AttachmentRef, EvalRunId, JsonValue, KeyRing, Signer } from '#lib/ledger';
import type { LiveDeps } from '#lib/providers';

/** Where the files of a contract are on this machine. */
export interface ContractLocator {
  /**
   * Brings a contract's files here, if they are not, from where the hints of a command say that they may be had. What comes is
   * checked against the digests in the signed plan; it resolves when they are here or cannot be had.
   */
  fetch(digest: string, hints: JsonValue): Promise<void>;
  /** By the contract's digest: its folder, and its workspace's (`null`: an empty one). */
  locate(digest: string): ContractFiles | null;
}
export interface ContractFiles {
  readonly directory: string;
  readonly workspace: string | null;
}

/** What a service is given of the world; the log behind it may be any. */
export interface Ports {
  readonly log: EventLog;
  readonly topics: Topics;
  readonly leases: Leases;
  readonly keys: KeyRing;
  readonly signers: { readonly coordinator: Signer; readonly executor: Signer; readonly projector: Signer };
  readonly trustStore: AttachmentRef;
  readonly contracts: ContractLocator;
  /** How models are reached: the variables that hold keys, and the limits that all runs of the process share. */
  readonly models: LiveDeps;
  readonly software: { readonly truss: string; readonly node: string };
  readonly leaseMs: number;
  /** How many runs this process has under way at once. */
  readonly slots: number;
  /** Whether this process drives an evaluation: an embedded one only those that it was asked for. */
  readonly drives: (evaluation: EvalRunId) => boolean;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly random128: () => string;
  readonly below: (bound: number) => number;
  readonly fatal: (error: unknown) => void;
}

/** Injection token of `Ports`. */
export const PORTS = Symbol('truss.ports');
