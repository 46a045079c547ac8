import type { RenderedCase, Contract } from '#lib/contract';
import type { ChildState } from '#lib/evaluation';
import type { Arm, BodyOf, ChildRunId, Draft, LedgerRef } from '#lib/ledger';
import type { HeldLesson, LessonProof } from '#lib/lessons';

/** All that a child run is: from the signed request and the signed plan, and from nothing else. */
export interface RunContext {
  readonly child: ChildRunId;
  readonly request: { readonly ref: LedgerRef; readonly body: BodyOf<'child_requested'> };
  readonly arm: Arm;
  readonly contract: Contract;
  readonly contractDigest: string;
  /** The contract's texts with this run's case filled in. */
  readonly rendered: RenderedCase;
  /** The case's family and inputs, where the contract has cases. */
  readonly case: {
    readonly id: string;
    readonly family: string | null;
    readonly inputs: Readonly<Record<string, unknown>>;
  } | null;
  /** Expected answers of the contract's other cases: a lesson must not carry them. */
  readonly otherCases: readonly { readonly id: string; readonly expected: Readonly<Record<string, unknown>> }[];
  readonly software: { readonly truss: string; readonly node: string };
}

/** Work with an effect outside the ledger. What it brings is recorded as entries; none of it starts before its ground is confirmed. */
export type Action =
  /** Verify the offered lessons and render those that verify: `lessons_recalled`. */
  | { readonly kind: 'recall' }
  /** Run the agent; the intent is recorded already: events as they come, then `answer_submitted` or `infrastructure_failed`. */
  | { readonly kind: 'agent' }
  /** Check a `command` or `match` criterion: `criterion_checked`. */
  | { readonly kind: 'check'; readonly criterion: string }
  /** Ask one reviewer about a `review` criterion: `review_returned`. Its `review_delegated` is recorded already. */
  | { readonly kind: 'review'; readonly criterion: string; readonly reviewer: string }
  /** Extract lessons that are not in the ledger yet: `lesson_extracted`, none or more. */
  | { readonly kind: 'extract' }
  /** Run the deterministic checks of a lesson: `lesson_checked`, one each. */
  | { readonly kind: 'check_lesson'; readonly lesson: LedgerRef }
  /** Ask one reviewer about a lesson: `lesson_reviewed`. */
  | { readonly kind: 'review_lesson'; readonly lesson: LedgerRef; readonly reviewer: string };

/** Where the files of a contract are, and what an action may use of the world. */
export interface ActionPorts {
  /** The folder of the contract with this digest, on this machine; `null` where it is not here. */
  contractDirectory(digest: string): string | null;
  /** The folder of that contract's workspace, on this machine; `null` where it is not here or the contract has none. */
  workspaceDirectory(digest: string): string | null;
  attachment(sha256: string): Promise<Uint8Array | null>;
  putAttachment(bytes: Uint8Array): Promise<{ sha256: string; size: number }>;
  /** The proof of an offered lesson, from the starting bundle or from an anchored repeat. */
  lessonProof(ref: LedgerRef): LessonProof | undefined;
  /** Checks a proof against the keys that this evaluation trusts. */
  verifyLesson(proof: LessonProof): { ok: true; held: HeldLesson } | { ok: false; code: string; reason: string };
  /** Milliseconds since the epoch. */
  now(): number;
}

/** Performs the actions of one child run; holds its workspace and processes. */
export interface RunActions {
  /**
   * Does the work of an action and resolves to the entries that record it. Entries that must stand before the work is
   * done (an agent's events as they come) go to `progress`. Faults of the infrastructure become entries, never errors.
   * An abort ends it promptly, with every process that it started; what it resolves to then is ignored.
   * Rejects with `CannotGoOn` where the disk is full or the log fails: the run stops there, and can be resumed.
   */
  perform(action: Action, state: ChildState, progress: (drafts: Draft[]) => void, abort: AbortSignal): Promise<Draft[]>;
  /** Ends every process and removes every folder of the run. */
  dispose(): Promise<void>;
}
