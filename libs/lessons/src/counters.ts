import type { ChildRunId, Entry, LedgerRef, Verdict } from '#lib/ledger';
import { lessonAlias } from './render.js';

export interface LessonCount {
  /** Runs to which it was offered (`child_requested`). */
  readonly offered: number;
  /** Runs that saw it in their prompt (`lessons_recalled`, used). */
  readonly rendered: number;
  /** Runs that saw it and said that they used it. */
  readonly cited: number;
  /** Verdicts of the anchored runs that saw it: what came after, not what came of it. */
  readonly after: Readonly<Record<Verdict, number>>;
}

const NEVER: LessonCount = { offered: 0, rendered: 0, cited: 0, after: { pass: 0, fail: 0, unverifiable: 0 } };

/** The counters of lessons as a fold over joined entries, of any number of evaluations, each in log order. A lesson is never written to: these are derived each time. */
export class LessonCounters {
  readonly #counts = new Map<LedgerRef, LessonCount>();
  /** What open runs saw, by the name under which they saw it; those that they cited are in `cited`. */
  readonly #seen = new Map<
    ChildRunId,
    { readonly byAlias: ReadonlyMap<string, LedgerRef>; readonly cited: Set<LedgerRef> }
  >();

  observe(entry: Entry): void {
    switch (entry.type) {
      case 'child_requested':
        for (const lesson of new Set(entry.body.lessons))
          this.#change(lesson, ({ offered }) => ({ offered: offered + 1 }));
        return;
      case 'lessons_recalled': {
        const used = entry.body.used.map(({ lesson }) => lesson);
        for (const lesson of new Set(used)) this.#change(lesson, ({ rendered }) => ({ rendered: rendered + 1 }));
        this.#seen.set(entry.ledger as ChildRunId, {
          byAlias: new Map(used.map((ref, at) => [lessonAlias(at + 1), ref])),
          cited: new Set(),
        });
        return;
      }
      case 'agent_reported':
        for (const event of entry.body.events)
          if (event.type === 'cited') this.#cite(entry.ledger as ChildRunId, event.lesson);
        return;
      case 'child_anchor': {
        const { child_run_id, verdict } = entry.body;
        for (const lesson of new Set(this.#seen.get(child_run_id)?.byAlias.values())) {
          this.#change(lesson, ({ after }) => ({ after: { ...after, [verdict]: after[verdict] + 1 } }));
        }
        this.#seen.delete(child_run_id);
        return;
      }
      default:
    }
  }

  /** All zero for a lesson that no entry names. */
  of(lesson: LedgerRef): LessonCount {
    return this.#counts.get(lesson) ?? NEVER;
  }

  // A run that cites what it never saw, or one lesson twice, adds nothing.
  #cite(child: ChildRunId, alias: string): void {
    const seen = this.#seen.get(child);
    const lesson = seen?.byAlias.get(alias);
    if (seen === undefined || lesson === undefined || seen.cited.has(lesson)) return;
    seen.cited.add(lesson);
    this.#change(lesson, ({ cited }) => ({ cited: cited + 1 }));
  }

  #change(lesson: LedgerRef, step: (count: LessonCount) => Partial<LessonCount>): void {
    const count = this.of(lesson);
    this.#counts.set(lesson, { ...count, ...step(count) });
  }
}
