import {
  addUsage,
  type Arm,
  type JsonObject,
  NO_SPEND,
  NO_SPENDING,
  addSpend,
  type Plan,
  type Usage,
} from '#lib/ledger';
import { costOf, countVerdicts, type MeasuredArm, pairedDifference, usageOfRun } from './arms.js';
import { evidenceOf } from './evidence.js';
import { rateDifference, subtract, totalTokens, usd } from './numbers.js';
import { comparePrompts } from './prompts.js';
import type { CurvePosition, EvalReport, ReportArm, ReportChild, ReportUsage, ReportVersion } from './report.js';
import { childAt, places, planContract } from './schedule.js';
import { type ChildRecord, type EvaluationState, planOf } from './state.js';
import { summaryOf } from './summary.js';

/**
 * The report of a complete evaluation: a pure fold of its entries, with no clock of its own, so that whoever folds them gets the same body.
 * @throws Error where a planned run has no anchor: a caller's mistake.
 */
export function buildReport(state: EvaluationState): EvalReport & JsonObject {
  const plan = planOf(state);
  const arms = plan.arms.map((arm) => measureArm(state, plan, arm));
  const on = armOf(arms, 'learning_on');
  const off = armOf(arms, 'learning_off');
  const runs = plan.contracts.length * plan.replicates * plan.repeats;
  const software = state.started?.body.software;
  const version = state.started?.body.report_version === undefined ? 1 : 2;
  const prompts = comparePrompts(arms);
  const core = {
    eval_run_id: state.eval,
    contract_id: plan.contracts.map((_, no) => planContract(plan, no).id).join('+'),
    repeats: plan.repeats,
    replicates: plan.replicates,
    runs,
    verdict: verdictOf(on, off),
    arms: [on, off].map((arm) => reportArm(arm, runs, version)),
    controls: arms.filter(({ arm }) => arm.kind === 'control').map((arm) => reportArm(arm, runs, version)),
    delta: deltaOf(on, off, runs),
    curve: Array.from({ length: plan.repeats }, (_, i) => ({
      repeat: i + 1,
      learning_on: curvePosition(on, i + 1, version),
      learning_off: curvePosition(off, i + 1, version),
    })),
    spend: spendOf(arms, version),
    environment: {
      truss: software?.truss ?? 'unknown',
      node: software?.node ?? 'unknown',
      arms_differ_only_in_memory: differOnlyInMemory(arms) && (version === 1 || prompts.different === 0),
      ...(version === 1 ? {} : { prompts }),
    },
  };
  const evidence = evidenceOf(plan, on, off);
  return { ...core, evidence, summary: summaryOf(core, evidence, version), report_ref: null };
}

function armOf(arms: readonly MeasuredArm[], kind: Arm['kind']): MeasuredArm {
  const found = arms.find(({ arm }) => arm.kind === kind);
  if (found === undefined) throw new Error(`the plan has no arm ${kind}`);
  return found;
}

function measureArm(state: EvaluationState, plan: Plan, arm: Arm): MeasuredArm {
  const runs = [...places(plan)].map((place) => {
    const run = state.children.get(childAt(state.eval, place, arm.name));
    if (run?.anchor == null) throw new Error(`run ${childAt(state.eval, place, arm.name)} has no anchor`);
    return run;
  });
  return { arm, runs, counts: countVerdicts(runs), usage: sumUsage(runs) };
}

function sumUsage(runs: readonly ChildRecord[]): Usage {
  return runs.reduce((sum, run) => addUsage(sum, usageOfRun(run)), NO_SPEND);
}

function reportUsage(usage: Usage, version: ReportVersion): ReportUsage {
  const { cost_nano_usd, steps, input_tokens, output_tokens, unmeasured_calls, unpriced_calls = 0 } = usage;
  return {
    cost_usd: cost_nano_usd === null ? null : usd(cost_nano_usd),
    input_tokens,
    output_tokens,
    steps,
    ...(version === 1 ? { unmeasured_calls: unmeasured_calls + unpriced_calls } : { unmeasured_calls, unpriced_calls }),
  };
}

function reportArm({ arm, runs, counts, usage }: MeasuredArm, perArm: number, version: ReportVersion): ReportArm {
  return {
    arm: arm.kind === 'control' ? arm.name : arm.kind,
    memory: arm.memory,
    counts,
    pass_rate: counts.pass / perArm,
    usage: reportUsage(usage, version),
    children: runs.map((run) => reportChild(run, version)),
  };
}

function reportChild(run: ChildRecord, version: ReportVersion): ReportChild {
  const { anchor } = run;
  if (anchor === null) throw new Error(`run ${run.id} has no anchor`);
  // The names in the order of canonical JSON: there are as many of these as runs, and so none is put in order to be signed.
  return {
    anchor_ref: anchor.ref,
    case: run.request.body.case,
    child_run_id: run.id,
    contract: run.contract,
    head_hash: anchor.body.head_hash,
    repeat: run.repeat,
    replicate: run.replicate,
    root_hash: anchor.body.root_hash,
    usage: reportUsage(anchor.body.usage, version),
    verdict: anchor.body.verdict,
    verdict_ref: anchor.body.verdict_ref,
  };
}

function deltaOf(on: MeasuredArm, off: MeasuredArm, runs: number): EvalReport['delta'] {
  const cost = subtract(on.usage.cost_nano_usd, off.usage.cost_nano_usd);
  return {
    pass_rate: rateDifference(on.counts.pass, runs, off.counts.pass, runs),
    cost_usd: cost === null ? null : usd(cost),
    steps: on.usage.steps - off.usage.steps,
    input_tokens: subtract(on.usage.input_tokens, off.usage.input_tokens),
    output_tokens: subtract(on.usage.output_tokens, off.usage.output_tokens),
    total_tokens: subtract(totalTokens(on.usage), totalTokens(off.usage)),
  };
}

/** `pass` when learning-on passed more runs, or as many with cost and tokens no greater over the pairs that both arms measured. */
function verdictOf(on: MeasuredArm, off: MeasuredArm): 'pass' | 'fail' {
  if (on.counts.pass !== off.counts.pass) return on.counts.pass > off.counts.pass ? 'pass' : 'fail';
  return [costOf, totalTokens].every((of) => pairedDifference(on, off, of).difference <= 0) ? 'pass' : 'fail';
}

function curvePosition(arm: MeasuredArm, repeat: number, version: ReportVersion): CurvePosition {
  const runs = arm.runs.filter((run) => run.repeat === repeat);
  const counts = countVerdicts(runs);
  return {
    runs: runs.length,
    counts,
    pass_rate: counts.pass / runs.length,
    usage: reportUsage(sumUsage(runs), version),
    lessons_held: runs.reduce((sum, run) => sum + run.request.body.lessons.length, 0),
    lessons_rendered: runs.reduce((sum, run) => sum + run.rendered.lessons, 0),
    lesson_tokens: runs.reduce((sum, run) => sum + run.rendered.tokens, 0),
  };
}

function spendOf(arms: readonly MeasuredArm[], version: ReportVersion): EvalReport['spend'] {
  const runs = arms.flatMap((arm) => arm.runs);
  const spend = runs.reduce((sum, run) => addSpend(sum, run.sealed?.spend ?? NO_SPENDING), NO_SPENDING);
  const superseded = runs.reduce((sum, run) => addUsage(sum, run.anchor?.body.superseded.usage ?? NO_SPEND), NO_SPEND);
  const interrupted = runs.reduce((sum, run) => addUsage(sum, run.sealed?.interrupted ?? NO_SPEND), NO_SPEND);
  const { agent, tools, reviewers, extraction } = spend;
  const all = reportUsage(
    [agent, tools, reviewers, extraction, superseded, interrupted].reduce(addUsage, NO_SPEND),
    version,
  );
  return {
    agent: reportUsage(agent, version),
    tools: reportUsage(tools, version),
    reviewers: reportUsage(reviewers, version),
    extraction: reportUsage(extraction, version),
    superseded: reportUsage(superseded, version),
    interrupted: reportUsage(interrupted, version),
    unmeasured_calls: all.unmeasured_calls,
    ...(all.unpriced_calls === undefined ? {} : { unpriced_calls: all.unpriced_calls }),
  };
}

// Contract, budget and version are the plan's, one for all arms; what remains is that each pair had one case and one seed.
function differOnlyInMemory(arms: readonly MeasuredArm[]): boolean {
  const [first, ...rest] = arms;
  return rest.every((arm) =>
    arm.runs.every((run, i) => {
      const other = first?.runs[i]?.request.body;
      return other !== undefined && other.seed === run.request.body.seed && other.case === run.request.body.case;
    }),
  );
}
