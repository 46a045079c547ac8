import type { RenderedCase, Contract } from '#lib/contract';
import type { ChildState } from '#lib/evaluation';
import type { Arm, BodyOf, CallPurpose, ChildRunId, Draft, LedgerRef } from '#lib/ledger';
import type { HeldLesson, LessonProof } from '#lib/lessons';
import type { ModelPort } from '#lib/providers';

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

/** Which call to a model: by whom, and about what. `subject` as in `model_call_started`. */
export interface CallKey {
  readonly purpose: CallPurpose;
  readonly subject: string | null;
  readonly reviewer: string | null;
}

/** Work with an effect outside the ledger. What it brings is recorded as entries; none of it starts before its ground is confirmed. */
export type Action =
  /** Verify the offered lessons and render those that verify: `lessons_recalled`. */
  | { readonly kind: 'recall' }
  /** Run the agent; the intent is recorded already: events as they come, then `answer_submitted` or `infrastructure_failed`. */
  | { readonly kind: 'agent' }
  /**
   * Write the next request to a model and see that the budget covers it: `model_call_started`, which has no effect outside yet; else
   * `budget_exhausted`, or the abstention of the reviewer who cannot be asked.
   */
  | ({ readonly kind: 'prepare_call' } & CallKey)
  /** Make a call whose intent is recorded: `model_call_completed`, answered or failed. */
  | { readonly kind: 'call'; readonly call: number }
  /** Do what a model's answer asks for: `tool_called` and, where it changed files, `workspace_changed`. */
  | { readonly kind: 'tool'; readonly call: number; readonly index: number }
  /** Take a model's last reply, or what it left, as the answer: `answer_submitted`. */
  | { readonly kind: 'submit' }
  /** Check a `command` or `match` criterion: `criterion_checked`. */
  | { readonly kind: 'check'; readonly criterion: string }
  /** Ask one reviewer about a `review` criterion, or read what its model answered: `review_returned`. Its `review_delegated` is recorded already. */
  | { readonly kind: 'review'; readonly criterion: string; readonly reviewer: string }
  /** Extract lessons that are not in the ledger yet: `lesson_extracted`, none or more. */
  | { readonly kind: 'extract' }
  /** Run the deterministic checks of a lesson: `lesson_checked`, one each. */
  | { readonly kind: 'check_lesson'; readonly lesson: LedgerRef }
  /** The same about a lesson: `lesson_reviewed`. */
  | { readonly kind: 'review_lesson'; readonly lesson: LedgerRef; readonly reviewer: string };

/** Where the files of a contract are, and what an action may use of the world. */
export interface ActionPorts {
  /** The folder of the contract with this digest, on this machine; `null` where it is not here. */
  contractDirectory(digest: string): string | null;
  /** The folder of that contract's workspace, on this machine; `null` where it is not here or the contract has none. */
  workspaceDirectory(digest: string): string | null;
  /** Why they are not here, in a sentence without a path; `null` or absent: nobody says. */
  contractProblem?(digest: string): string | null;
  attachment(sha256: string): Promise<Uint8Array | null>;
  putAttachment(bytes: Uint8Array): Promise<{ sha256: string; size: number }>;
  /** The proof of an offered lesson, from the starting bundle or from an anchored repeat. */
  lessonProof(ref: LedgerRef): LessonProof | undefined;
  /** Checks a proof against the keys that this evaluation trusts. */
  verifyLesson(proof: LessonProof): { ok: true; held: HeldLesson } | { ok: false; code: string; reason: string };
  /** A provider of the contract; one port for the whole run. @throws ProviderError where it cannot be used */
  model(provider: string): ModelPort;
  /** Values that must stand in no ledger, and the variables that hold them. */
  readonly secrets: readonly { readonly name: string; readonly value: string }[];
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
