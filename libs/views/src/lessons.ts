import { type ChildRunId, type Entry, isChildRunId, type LedgerRef, refOf } from '#lib/ledger';
import { LessonCounters } from '#lib/lessons';
import type { LessonRow } from './rows.js';

type Row = Omit<LessonRow, 'counters'>;

/** The lessons of one evaluation: those it started with, and what its runs extracted. */
export class LessonRows {
  readonly #rows = new Map<LedgerRef, Row>();
  readonly #counters = new LessonCounters();
  /** By run, until it is anchored: what it was offered, and what it extracted. */
  readonly #offered = new Map<ChildRunId, readonly LedgerRef[]>();
  readonly #extracted = new Map<ChildRunId, LedgerRef[]>();
  promoted = 0;
  rejected = 0;

  get(lesson: LedgerRef): LessonRow | undefined {
    const row = this.#rows.get(lesson);
    return row && { ...row, counters: this.#counters.of(lesson) };
  }

  keys(): Iterable<LedgerRef> {
    return this.#rows.keys();
  }

  /** Takes an entry in that joined; returns the lessons whose rows changed. */
  observe(entry: Entry): readonly LedgerRef[] {
    this.#counters.observe(entry);
    switch (entry.type) {
      case 'eval_started':
        return entry.body.plan.starting_lessons.map(({ lesson }) =>
          this.#add(lesson, { state: 'starting', anchored: true }),
        );
      case 'child_requested':
        this.#offered.set(entry.body.child_run_id, entry.body.lessons);
        return this.#known(entry.body.lessons);
      case 'lessons_recalled':
      case 'agent_reported':
        return isChildRunId(entry.ledger) ? this.#known(this.#offered.get(entry.ledger) ?? []) : [];
      case 'lesson_extracted': {
        const child = entry.ledger as ChildRunId;
        const ref = this.#add(refOf(entry), { child_run_id: child, content: entry.body.lesson });
        this.#extracted.set(child, [...(this.#extracted.get(child) ?? []), ref]);
        return [ref];
      }
      case 'lesson_promoted':
        return this.#judge(entry.body.lesson, { state: 'promoted' });
      case 'lesson_rejected':
        return this.#judge(entry.body.lesson, { state: 'rejected', gate: entry.body.gate, reason: entry.body.reason });
      case 'child_anchor': {
        const child = entry.body.child_run_id;
        const extracted = this.#extracted.get(child) ?? [];
        for (const ref of extracted) this.#change(ref, { anchored: true });
        const offered = this.#offered.get(child) ?? [];
        this.#offered.delete(child);
        this.#extracted.delete(child);
        return [...extracted, ...this.#known(offered)];
      }
      default:
        return [];
    }
  }

  #known(lessons: readonly LedgerRef[]): LedgerRef[] {
    return lessons.filter((lesson) => this.#rows.has(lesson));
  }

  #add(lesson: LedgerRef, part: Partial<Row>): LedgerRef {
    const row: Row = {
      lesson,
      child_run_id: null,
      state: 'extracted',
      gate: null,
      reason: null,
      anchored: false,
      content: null,
      ...part,
    };
    this.#rows.set(lesson, row);
    return lesson;
  }

  // Rejected once is rejected for good: see `promotedLessons` in libs/lessons.
  #judge(lesson: LedgerRef, part: Partial<Row>): LedgerRef[] {
    const before = this.#rows.get(lesson)?.state;
    if (before === undefined || before === 'rejected' || before === part.state) return [];
    if (before === 'promoted') this.promoted -= 1;
    if (part.state === 'promoted') this.promoted += 1;
    else this.rejected += 1;
    this.#change(lesson, part);
    return [lesson];
  }

  #change(lesson: LedgerRef, part: Partial<Row>): void {
    const row = this.#rows.get(lesson);
    if (row !== undefined) this.#rows.set(lesson, { ...row, ...part });
  }
}
