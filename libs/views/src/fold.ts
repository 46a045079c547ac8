import type { Entry, EvalRunId, Joining, LedgerId, LedgerRef, LiveChains } from '#lib/ledger';
import { EvaluationRows } from './evaluation.js';
import { LedgerRows } from './ledgers.js';
import { LessonRows } from './lessons.js';
import type { ViewChange, ViewRow } from './port.js';

/**
 * The views of one evaluation as a fold over its log. Give it everything from the first record on, in log order; take changes from it
 * whenever it suits, one at a time: what was not `written` is in the next one again. It ends with the evaluation: whatever is written under its
 * name after that changes nothing, so that everybody's views end at one position.
 */
export class EvaluationFold {
  readonly #evaluation = new EvaluationRows();
  readonly #ledgers = new LedgerRows();
  readonly #lessons = new LessonRows();
  readonly #changed = { ledgers: new Set<LedgerId>(), lessons: new Set<LedgerRef>() };
  /** Of the last change that was taken. */
  #taken = { ledgers: new Set<LedgerId>(), lessons: new Set<LedgerRef>() };
  #last: ViewChange | null = null;
  #base: number | null = null;
  #position = -1;

  constructor(readonly evaluation: EvalRunId) {}

  /** Whether the evaluation has its report, or was closed without one. */
  get ended(): boolean {
    const status = this.#evaluation.row?.status;
    return status !== undefined && status !== 'open' && status !== 'reporting';
  }

  entry(entry: Entry, joining: Joining, live: LiveChains, position: number): void {
    if (this.ended) return;
    this.#position = position;
    this.#evaluation.observe(entry, joining);
    for (const ledger of this.#ledgers.observe(entry, joining, live)) this.#changed.ledgers.add(ledger);
    if (joining !== 'joined') return;
    for (const lesson of this.#lessons.observe(entry)) this.#changed.lessons.add(lesson);
  }

  foreign(position: number): void {
    if (this.ended) return;
    this.#position = position;
    this.#evaluation.foreign();
    this.#ledgers.foreign(this.evaluation);
    this.#changed.ledgers.add(this.evaluation);
  }

  /** Whether there is something that no written change holds. Before `eval_started` there never is: what anybody can write is no evaluation. */
  get dirty(): boolean {
    return this.#evaluation.row !== null && this.#position !== this.#base;
  }

  /** What changed since the last change that was written. @throws Error where nothing is dirty: a caller's mistake */
  change(): ViewChange {
    for (const ledger of this.#changed.ledgers) this.#taken.ledgers.add(ledger);
    for (const lesson of this.#changed.lessons) this.#taken.lessons.add(lesson);
    this.#changed.ledgers.clear();
    this.#changed.lessons.clear();
    if (this.#base === null) return this.whole();
    return this.#changeOf(this.#base, this.#taken.ledgers, this.#taken.lessons);
  }

  /** All rows as they are now. */
  whole(): ViewChange {
    return this.#changeOf(null, this.#ledgers.keys(), this.#lessons.keys());
  }

  /** That the views have the last change that was taken. Of an earlier one this says nothing: the last holds it too. */
  written(change: ViewChange): void {
    if (change !== this.#last) return;
    this.#base = change.position;
    this.#taken = { ledgers: new Set(), lessons: new Set() };
  }

  #changeOf(base: number | null, ledgers: Iterable<LedgerId>, lessons: Iterable<LedgerRef>): ViewChange {
    const { row, report } = this.#evaluation;
    if (row === null) throw new Error(`evaluation ${this.evaluation} has not started: there is nothing to write`);
    const { promoted, rejected } = this.#lessons;
    const rows: ViewRow[] = [{ view: 'evaluation', key: '', row: { ...row, lessons: { promoted, rejected } } }];
    if (report !== null) rows.push({ view: 'report', key: '', row: report });
    for (const ledger of ledgers) {
      const one = this.#ledgers.get(ledger);
      if (one !== undefined) rows.push({ view: 'ledger', key: ledger, row: one });
    }
    for (const lesson of lessons) {
      const one = this.#lessons.get(lesson);
      if (one !== undefined) rows.push({ view: 'lesson', key: lesson, row: one });
    }
    const started = Date.parse(row.started_at);
    this.#last = { evaluation: this.evaluation, base, position: this.#position, started, rows };
    return this.#last;
  }
}
