import { type EvalRunId, type JsonObject, NO_SPEND } from '#lib/ledger';
import type { ViewChange, ViewRow } from './port.js';
import type { EvaluationRow, LedgerRow } from './rows.js';

const START = Date.parse('2026-12-01T10:00:00.000Z');

export function evaluationNamed(name: string): EvalRunId {
  return `ev_${Buffer.from(name).toString('hex').padEnd(32, '0').slice(0, 32)}` as EvalRunId;
}

function evaluationRow(evaluation: EvalRunId, summary: string): EvaluationRow {
  return {
    eval_run_id: evaluation,
    contract_id: 'sums',
    requester: 'tests',
    request_id: 'one',
    status: 'open',
    reason: null,
    verdict: null,
    summary,
    report_ref: null,
    started_at: new Date(START).toISOString(),
    deadline: new Date(START).toISOString(),
    closed_at: null,
    repeats: 1,
    replicates: 1,
    runs: { planned: 2, requested: 0, anchored: 0 },
    arms: [],
    usage: NO_SPEND,
    max_cost_nano_usd: null,
    lessons: { promoted: 0, rejected: 0 },
    records: { joined: 1, duplicates: 0, superseded: 0, foreign: 0 },
  };
}

export function ledgerRow(ledger: string, entries = 1): ViewRow {
  const row: LedgerRow = {
    ledger,
    state: 'open',
    entries,
    head_hash: null,
    root_hash: null,
    anchor: null,
    verdict: null,
    verdict_ref: null,
    writers_changed: 0,
    duplicates: 0,
    superseded: 0,
    foreign: 0,
    last_at: null,
  };
  return { view: 'ledger', key: ledger, row };
}

export function reportRow(row: JsonObject): ViewRow {
  return { view: 'report', key: '', row };
}

/** A change whose evaluation row tells it from others by its summary. `started`: ms after a fixed time. */
export function change(
  evaluation: EvalRunId,
  part: Pick<ViewChange, 'base' | 'position'> & {
    readonly summary?: string;
    readonly started?: number;
    readonly rows?: readonly ViewRow[];
  },
): ViewChange {
  const { base, position, summary = '', started = 0, rows = [] } = part;
  const first: ViewRow = { view: 'evaluation', key: '', row: evaluationRow(evaluation, summary) };
  return { evaluation, base, position, started: START + started, rows: [first, ...rows] };
}
