import { plannedRuns, planContract, usageOf } from '#lib/evaluation';
import {
  addUsage,
  type ChildRunId,
  type Entry,
  type EntryHash,
  type EntryOf,
  type Joining,
  NO_SPEND,
  parseChildRunId,
  refOf,
} from '#lib/ledger';
import type { EvaluationRow, ReportRow } from './rows.js';

/** One evaluation's line in the list, and its report. */
export class EvaluationRows {
  row: EvaluationRow | null = null;
  report: ReportRow | null = null;
  readonly #records: EvaluationRow['records'] = { joined: 0, duplicates: 0, superseded: 0, foreign: 0 };
  readonly #arms = new Map<string, EvaluationRow['arms'][number]>();
  /** Superseded work was paid once, however often it was written. */
  readonly #superseded = new Set<EntryHash>();

  observe(entry: Entry, joining: Joining): void {
    switch (joining) {
      case 'duplicate':
        this.#records.duplicates += 1;
        return;
      case 'superseded':
        this.#records.superseded += 1;
        if (!this.#superseded.has(entry.hash)) this.#charge(entry);
        this.#superseded.add(entry.hash);
        return;
      case 'joined':
        this.#records.joined += 1;
        this.#charge(entry);
        if (entry.type === 'eval_started') this.#start(entry);
        else if (this.row !== null) this.#evolve(this.row, entry);
        return;
      default:
        joining satisfies never;
    }
  }

  foreign(): void {
    this.#records.foreign += 1;
  }

  #charge(entry: Entry): void {
    if (this.row !== null && entry.ledger !== entry.eval) this.row.usage = addUsage(this.row.usage, usageOf(entry));
  }

  #start({ at, eval: evaluation, body }: EntryOf<'eval_started'>): void {
    const { plan, requester, request_id } = body;
    const planned = plannedRuns(plan);
    for (const arm of plan.arms) {
      this.#arms.set(arm.name, {
        arm: arm.kind === 'control' ? arm.name : arm.kind,
        planned: planned / plan.arms.length,
        requested: 0,
        anchored: 0,
        counts: { pass: 0, fail: 0, unverifiable: 0 },
      });
    }
    this.row = {
      eval_run_id: evaluation,
      contract_id: plan.contracts.map((_, no) => planContract(plan, no).id).join('+'),
      requester,
      request_id,
      status: 'open',
      reason: null,
      verdict: null,
      summary: null,
      report_ref: null,
      started_at: at,
      deadline: plan.deadline,
      closed_at: null,
      repeats: plan.repeats,
      replicates: plan.replicates,
      runs: { planned, requested: 0, anchored: 0 },
      arms: [...this.#arms.values()],
      usage: NO_SPEND,
      max_cost_nano_usd: plan.max_cost_nano_usd,
      lessons: { promoted: 0, rejected: 0 },
      records: this.#records,
    };
  }

  #evolve(row: EvaluationRow, entry: Entry): void {
    switch (entry.type) {
      case 'child_requested':
        row.runs.requested += 1;
        this.#armOf(entry.body.child_run_id, (arm) => (arm.requested += 1));
        return;
      case 'child_anchor':
        row.runs.anchored += 1;
        this.#armOf(entry.body.child_run_id, (arm) => {
          arm.anchored += 1;
          arm.counts[entry.body.verdict] += 1;
        });
        return;
      case 'eval_closed': {
        const { outcome, reason } = entry.body;
        Object.assign(row, { status: outcome === 'complete' ? 'reporting' : outcome, reason, closed_at: entry.at });
        return;
      }
      case 'eval_report': {
        const { verdict, summary } = entry.body;
        const report_ref = refOf(entry);
        this.report = { ...entry.body, report_ref };
        Object.assign(row, { status: 'complete', verdict: textOf(verdict), summary: textOf(summary), report_ref });
        return;
      }
      default:
        return;
    }
  }

  #armOf(child: ChildRunId, change: (arm: EvaluationRow['arms'][number]) => void): void {
    const arm = this.#arms.get(parseChildRunId(child).arm);
    if (arm !== undefined) change(arm);
  }
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
