import {
  type ChildRunId,
  type Entry,
  type EvalRunId,
  isChildRunId,
  type Joining,
  type LedgerRef,
  parseChildRunId,
} from '#lib/ledger';
import type { HeldLesson } from './lesson.js';
import { LessonError } from './errors.js';
import { buildLessonProof, type LessonProof } from './proof.js';
import { promotedLessons } from './promoted.js';

interface Kept {
  readonly held: HeldLesson;
  /** Absent where the chain cannot prove it: it is offered all the same, and refused at recall. */
  readonly proof: LessonProof | undefined;
}

/**
 * Proofs of the lessons that running evaluations promote. Give it every entry in log order with what became of it. It holds the entries of open
 * children, of anchored ones only the proofs of promoted lessons, and both until their replicate or evaluation is forgotten.
 */
export class ProofKeeper {
  readonly #open = new Map<ChildRunId, Entry[]>();
  /** By child; a child without a promoted lesson is not in it. */
  readonly #kept = new Map<ChildRunId, readonly Kept[]>();
  readonly #byLesson = new Map<LedgerRef, Kept>();

  observe(entry: Entry, joining: Joining): void {
    if (joining !== 'joined') return;
    if (isChildRunId(entry.ledger)) {
      const chain = this.#open.get(entry.ledger);
      if (chain !== undefined) chain.push(entry);
      else if (entry.seq === 0) this.#open.set(entry.ledger, [entry]);
    } else if (entry.type === 'child_anchor') this.#anchored(entry.body.child_run_id, entry);
    else if (entry.type === 'eval_closed') this.#drop(this.#open, (child) => child.eval === entry.eval);
  }

  /** Of a promoted lesson whose child is anchored. */
  proof(lesson: LedgerRef): LessonProof | undefined {
    return this.#byLesson.get(lesson)?.proof;
  }

  /** Of an anchored child, its promoted lessons in order of their extraction. */
  lessonsOf(child: ChildRunId): HeldLesson[] {
    return (this.#kept.get(child) ?? []).map(({ held }) => held);
  }

  /** Lets go of all arms' children of a replicate (it counts from 1). */
  forgetReplicate(evaluation: EvalRunId, replicate: number): void {
    this.#forget((child) => child.eval === evaluation && child.replicate === replicate);
  }

  forgetEvaluation(evaluation: EvalRunId): void {
    this.#forget((child) => child.eval === evaluation);
  }

  #anchored(child: ChildRunId, anchor: Entry): void {
    const chain = this.#open.get(child);
    this.#open.delete(child);
    if (chain === undefined) return;
    const kept = promotedLessons(chain).map((held) => ({ held, proof: proofOf(held, chain, anchor) }));
    for (const one of kept) this.#byLesson.set(one.held.ref, one);
    if (kept.length > 0) this.#kept.set(child, kept);
  }

  #forget(matches: (child: ReturnType<typeof parseChildRunId>) => boolean): void {
    this.#drop(this.#open, matches);
    for (const { held } of this.#drop(this.#kept, matches).flat()) this.#byLesson.delete(held.ref);
  }

  #drop<T>(byChild: Map<ChildRunId, T>, matches: (child: ReturnType<typeof parseChildRunId>) => boolean): T[] {
    return [...byChild].flatMap(([child, value]) =>
      matches(parseChildRunId(child)) && byChild.delete(child) ? [value] : [],
    );
  }
}

function proofOf(held: HeldLesson, chain: readonly Entry[], anchor: Entry): LessonProof | undefined {
  try {
    return buildLessonProof(held.ref, chain, anchor);
  } catch (error) {
    if (error instanceof LessonError) return undefined;
    throw error;
  }
}
