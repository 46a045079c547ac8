import { type ChildRecord, countVerdicts, type EvaluationState, planContract, plannedRuns } from '#lib/evaluation';
import type { BodyOf, Entry } from '#lib/ledger';
import type { OpenView } from '#lib/runtime';
import type { ProgressEvent, RunName } from './events.js';

/**
 * Turns the entries of an evaluation into progress, from the one that it is at on.
 * @returns what ends it
 */
export function watchEvaluation(open: OpenView, tell: (event: ProgressEvent) => void): () => void {
  const { state } = open.view;
  const reasons = new Map<string, string>();
  if (state.started !== null) {
    tell(startedEvent(state, true));
    for (const child of state.children.values()) {
      if (child.anchor === null && child.run?.started === true) tell({ event: 'run_started', ...nameOf(child) });
    }
  }
  return open.subscribe((entry, joining) => {
    if (joining !== 'joined') return;
    for (const event of eventsOf(state, entry, reasons)) tell(event);
  });
}

function eventsOf(state: EvaluationState, entry: Entry, reasons: Map<string, string>): ProgressEvent[] {
  switch (entry.type) {
    case 'eval_started':
      return [startedEvent(state, false)];
    case 'run_started':
    case 'writer_changed': {
      const child = childOf(state, entry.ledger);
      return child === undefined ? [] : [{ event: 'run_started', ...nameOf(child) }];
    }
    case 'agent_reported': {
      const steps = entry.body.events.filter((event) => event.type === 'step').length;
      const spends = entry.body.events.some((event) => event.type === 'usage');
      if (steps === 0 && !spends) return [];
      return [{ event: 'run_reported', child_run_id: entry.ledger, steps, spent: state.spent }];
    }
    case 'verdict':
      reasons.set(entry.ledger, entry.body.reason);
      return [];
    case 'child_anchor': {
      const child = childOf(state, entry.body.child_run_id);
      if (child === undefined) return [];
      const reason = reasons.get(child.id) ?? '';
      reasons.delete(child.id);
      return [endedEvent(state, child, entry.body.verdict, entry.body.usage, reason)];
    }
    case 'eval_closed':
      return [{ event: 'evaluation_closed', outcome: entry.body.outcome, reason: entry.body.reason }];
    case 'eval_report': {
      const report_ref = state.report?.ref ?? '';
      return [{ event: 'evaluation_reported', report_ref, verdict: verdictText(entry.body) }];
    }
    default:
      return [];
  }
}

function startedEvent(state: EvaluationState, resumed: boolean): ProgressEvent {
  if (state.started === null) throw new Error(`evaluation ${state.eval} has not started`);
  const { plan } = state.started.body;
  return {
    event: 'evaluation_started',
    eval_run_id: state.eval,
    contract_id: planContract(plan, 0).id,
    repeats: plan.repeats,
    replicates: plan.replicates,
    runs_planned: plannedRuns(plan),
    runs_done: state.anchors,
    seed: plan.seed,
    concurrency: plan.concurrency,
    max_cost_nano_usd: plan.max_cost_nano_usd,
    resumed,
    verdicts: Object.fromEntries(
      plan.arms.map(({ name }) => [
        name,
        countVerdicts([...state.children.values()].filter((child) => child.arm === name && child.anchor !== null)),
      ]),
    ),
    spent: state.spent,
  };
}

function endedEvent(
  state: EvaluationState,
  child: ChildRecord,
  verdict: Extract<ProgressEvent, { event: 'run_ended' }>['verdict'],
  usage: Extract<ProgressEvent, { event: 'run_ended' }>['usage'],
  reason: string,
): ProgressEvent {
  return {
    event: 'run_ended',
    ...nameOf(child),
    verdict,
    reason,
    usage,
    lessons_rendered: child.rendered.lessons,
    lessons_promoted: child.promoted.length,
    runs_done: state.anchors,
    spent: state.spent,
  };
}

/** The verdict that a report states; `?` where it states none. */
function verdictText({ verdict }: BodyOf<'eval_report'>): string {
  return typeof verdict === 'string' ? verdict : '?';
}

function childOf(state: EvaluationState, ledger: string): ChildRecord | undefined {
  return state.children.get(ledger as ChildRecord['id']);
}

function nameOf(child: ChildRecord): RunName {
  return {
    child_run_id: child.id,
    arm: child.arm,
    replicate: child.replicate,
    repeat: child.repeat,
    case: child.request.body.case,
  };
}
