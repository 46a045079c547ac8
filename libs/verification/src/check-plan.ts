import { plannedRuns, REPORT_VERSION } from '#lib/evaluation';
import { canonicalJson, type EntryOf, evalRunId, type JsonObject, type Plan, sha256Hex, utf8 } from '#lib/ledger';
import { OFFER_RULE } from '#lib/lessons';
import type { Context } from './context.js';
import type { Stored } from './entry-index.js';
import { contractFault } from './plan-shape.js';

/**
 * Step 4: the plan says what it claims to say. Its id, digests and arms are derived again. False where the plan is such that nothing further can
 * be derived from it.
 */
export function checkPlan(context: Context, stored: Stored, started: EntryOf<'eval_started'>): boolean {
  const { plan, requester, request_id, common_digest, software, report_version = 1 } = started.body;
  const wrong = (message: string): void => context.findings.error('plan_mismatch', stored, message);
  if (evalRunId(requester, request_id) !== context.evaluation)
    wrong('the id of the evaluation does not follow from requester and request_id');
  const { arms: _arms, ...common } = plan;
  if (digestOf({ ...common, software }) !== common_digest) {
    wrong('common_digest is not the digest of all in which the arms do not differ');
  }
  checkArms(plan, wrong);
  let usable = true;
  plan.contracts.forEach(({ digest, contract }, no) => {
    if (digestOf(contract) !== digest) wrong(`the digest of contract ${no} is not that of the contract`);
    const fault = contractFault(contract);
    if (fault === null) return;
    usable = false;
    wrong(`contract ${no} cannot be read: ${fault}`);
  });
  if (plan.offer_rule !== OFFER_RULE) {
    usable = false;
    context.findings.error(
      'entry_type_unknown',
      stored,
      `this version does not know the offer rule ${plan.offer_rule}: verify with one that does`,
    );
  }
  if (report_version > REPORT_VERSION) {
    usable = false;
    context.findings.error(
      'entry_type_unknown',
      stored,
      `this version does not know reports of version ${report_version}: verify with one that does`,
    );
  }
  if (plannedRuns(plan) > context.limits.runs) {
    usable = false;
    context.findings.error(
      'input_too_large',
      stored,
      `the plan has ${plannedRuns(plan)} runs, at most ${context.limits.runs} are verified`,
    );
  }
  return (
    usable &&
    plan.arms.some(({ kind }) => kind === 'learning_on') &&
    plan.arms.some(({ kind }) => kind === 'learning_off')
  );
}

function checkArms(plan: Plan, wrong: (message: string) => void): void {
  for (const kind of ['learning_on', 'learning_off'] as const) {
    const count = plan.arms.filter((arm) => arm.kind === kind).length;
    if (count !== 1) wrong(`the plan has ${count} arms ${kind}, not one`);
  }
  if (new Set(plan.arms.map(({ name }) => name)).size !== plan.arms.length) wrong('two arms have one name');
  for (const { name, kind, memory } of plan.arms) {
    const isOff = memory.extraction === 'off' && memory.promotion === 'off' && memory.recall === 'off';
    if (kind === 'learning_off' && !isOff) wrong(`arm ${name} is learning_off and its memory is not off`);
  }
}

function digestOf(value: JsonObject): string {
  return sha256Hex(utf8(canonicalJson(value)));
}
