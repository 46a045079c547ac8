import type { CancelRequested, EvalAccepted, EvalRequested } from '#lib/evaluation';
import type { EventLog, Leases, TopicRecord, Topics } from '#lib/event-log';
import type { AttachmentRef, EvalRunId, JsonValue, KeyRing, Signer } from '#lib/ledger';
import type { LiveDeps } from '#lib/providers';
import type { ViewWriter } from '#lib/views';

/** Where the files of a contract are on this machine. */
export interface ContractLocator {
  /**
   * Brings a contract's files here, if they are not, from where the hints of a command say that they may be had. What comes is
   * checked against the digests in the signed plan; it resolves when they are here or cannot be had.
   */
  fetch(digest: string, hints: JsonValue): Promise<void>;
  /** By the contract's digest: its folder, and its workspace's (`null`: an empty one). */
  locate(digest: string): ContractFiles | null;
  /** Why `fetch` could not bring them, in a sentence for the ledger; `null` where it could, or was not asked. */
  whyNot(digest: string): string | null;
}
export interface ContractFiles {
  readonly directory: string;
  readonly workspace: string | null;
}

/** Why a request is not accepted: a stable code, and one sentence. */
export interface Refusal {
  readonly kind: 'refused';
  readonly code: string;
  readonly reason: string;
}

/** Judges what comes on `eval.requested`. It throws only what must stop the service, such as an error of the log. */
export interface RequestResolver {
  /** What is asked for, with everything of the plan that the requester decides. */
  resolve(record: TopicRecord): Promise<EvalRequested | CancelRequested | Refusal>;
  /** Whether there is room for it: asked one after another, each right before the acceptance is published. */
  admit(accepted: EvalAccepted): Promise<Refusal | null>;
}

/** What a service is given of the world; the log behind it may be any. */
export interface Ports {
  readonly log: EventLog;
  readonly topics: Topics;
  readonly leases: Leases;
  /** Read models for whoever cannot read the log; absent where everybody can, as when embedded. */
  readonly views?: ViewWriter;
  readonly keys: KeyRing;
  readonly signers: { readonly coordinator: Signer; readonly executor: Signer; readonly projector: Signer };
  readonly trustStore: AttachmentRef;
  readonly contracts: ContractLocator;
  readonly requests: RequestResolver;
  /** How models are reached: the variables that hold keys, and the limits that all runs of the process share. */
  readonly models: LiveDeps;
  readonly software: { readonly truss: string; readonly node: string };
  readonly leaseMs: number;
  /** After so long without news of a work, its process may have been stopped and replaced. Absent: half a lease. */
  readonly stallMs?: number;
  /** How many runs this process has under way at once. */
  readonly slots: number;
  /**
   * How long a run that is handed back at the end of a process may take to finish what it is at, such as a model call that is paid for.
   * Absent: what it is at ends at once, and the next process goes on from the ledger.
   */
  readonly handBackMs?: number;
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
