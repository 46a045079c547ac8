import {
  acceptedSchema,
  type EvaluationState,
  evalRequestedSchema,
  evaluationOf,
  planContract,
  plannedRuns,
} from '#lib/evaluation';
import type { EvalRunId } from '#lib/ledger';
import type { Context } from './commands/context.js';
import { type ReadDatabase, withDatabase } from './database.js';
import { EXIT, type ExitCode } from './exit-codes.js';
import { table, whole } from './format.js';
import { readParent } from './read-parent.js';

/** `open`: stopped, and can be resumed. `running`: open while a process drives the database. `requested`: nothing is recorded yet. */
type State = 'requested' | 'open' | 'running' | 'complete' | 'cancelled' | 'failed';

interface Row {
  readonly eval_run_id: string;
  readonly contract_id: string;
  readonly state: State;
  readonly runs_done: number;
  readonly runs_planned: number;
  readonly verdict: string | null;
  /** When it started, as its ledger claims; null before. */
  readonly started_at: string | null;
}

/** `truss list`. */
export async function runList({ json }: { json?: boolean }, { place, terminal: { out } }: Context): Promise<ExitCode> {
  return withDatabase(place, async (database) => {
    const rows = await rowsOf(database);
    if (json === true) {
      for (const row of rows) await out.write(`${JSON.stringify(row)}\n`);
      return EXIT.done;
    }
    if (rows.length === 0) {
      await out.write(`No evaluation in ${place.name} yet. Start one: truss eval --contract FILE --repeats 3\n`);
      return EXIT.done;
    }
    const head = ['id', 'contract', 'state', 'runs', 'verdict', 'started'];
    const cells = rows.map((row) => [
      row.eval_run_id,
      row.contract_id,
      row.state,
      `${whole(row.runs_done)}/${whole(row.runs_planned)}`,
      row.verdict ?? '-',
      row.started_at === null ? '-' : `${row.started_at.slice(0, 16).replace('T', ' ')} UTC`,
    ]);
    const lines = table([head, ...cells], ['left', 'left', 'left', 'right'], (cell, row, column) => {
      if (row === 0) return out.paint('dim', cell);
      if (column !== 4) return cell;
      return cell.startsWith('pass')
        ? out.paint('green', cell)
        : cell.startsWith('fail')
          ? out.paint('red', cell)
          : cell;
    });
    await out.write(`${lines.join('\n')}\n`);
    return EXIT.done;
  });
}

async function rowsOf(database: ReadDatabase): Promise<Row[]> {
  const driven = await database.place.isDriven();
  const rows: Row[] = [];
  const seen = new Set<EvalRunId>();
  for await (const evaluation of database.log.evaluations()) {
    seen.add(evaluation);
    rows.push(rowOf(await readParent(database, evaluation), driven));
  }
  for await (const { value } of database.topics.list('eval.accepted')) {
    const accepted = acceptedSchema.safeParse(value);
    if (accepted.success && accepted.data.kind === 'eval') addRequested(accepted.data.request, rows, seen);
  }
  for await (const { value } of database.topics.list('eval.requested')) {
    const requested = evalRequestedSchema.safeParse(value);
    if (requested.success) addRequested(requested.data, rows, seen);
  }
  return rows;
}

function rowOf(state: EvaluationState, driven: boolean): Row {
  const plan = state.started?.body.plan;
  const verdict = state.report?.body['verdict'];
  return {
    eval_run_id: state.eval,
    contract_id: plan === undefined ? '?' : planContract(plan, 0).id,
    state: stateOf(state, driven),
    runs_done: state.anchors,
    runs_planned: plan === undefined ? 0 : plannedRuns(plan),
    verdict: typeof verdict === 'string' ? verdict : null,
    started_at: state.started?.at ?? null,
  };
}

function stateOf({ closed, report }: EvaluationState, driven: boolean): State {
  if (closed !== null && (closed.body.outcome !== 'complete' || report !== null)) return closed.body.outcome;
  return driven ? 'running' : 'open';
}

function addRequested(request: Parameters<typeof evaluationOf>[0], rows: Row[], seen: Set<EvalRunId>): void {
  const id = evaluationOf(request);
  if (seen.has(id)) return;
  seen.add(id);
  const { repeats, replicates, contracts } = request;
  const contract = contracts[0]?.contract as { id?: unknown } | undefined;
  rows.push({
    eval_run_id: id,
    contract_id: typeof contract?.id === 'string' ? contract.id : '?',
    state: 'requested',
    runs_done: 0,
    runs_planned: contracts.length * repeats * replicates * 2,
    verdict: null,
    started_at: null,
  });
}
