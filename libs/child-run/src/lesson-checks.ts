import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Criterion, isProtected } from '#lib/contract';
import type { ChildState } from '#lib/evaluation';
import type { Draft, LedgerRef } from '#lib/ledger';
import { type CheckContext, runChecks } from '#lib/lessons';
import { faultOf } from './faults.js';
import { usedLessons } from './recall.js';
import { pristineWorkspace } from './workspace.js';
import type { Work } from './work.js';

const MAX_PROTECTED_BYTES = 1024 * 1024;

/** The deterministic checks of one lesson that its ledger does not hold yet. A lesson that cannot be checked is not passed. */
export async function checkLesson(work: Work, ref: LedgerRef, state: ChildState): Promise<Draft[]> {
  const at = state.lessons.findIndex((lesson) => lesson.ref === ref);
  const own = state.lessons[at];
  if (own === undefined) throw new Error(`lesson ${ref} is not of this run`);
  const { contract, case: row } = work.run;
  const draft = (check: string, passed: boolean, reason: string): Draft => ({
    type: 'lesson_checked',
    body: { lesson: ref, gate: 'checks', check, passed, reason },
  });
  let protectedFiles: string[];
  try {
    protectedFiles = await protectedTexts(work);
  } catch (cause) {
    return [draft('protected_overlap', false, faultOf(cause, 'workspace').message)];
  }
  const context: CheckContext = {
    held: [...usedLessons(work, state.recalled?.body ?? null), ...state.lessons.slice(0, at)],
    criteria: contract.criteria.flatMap(textsOf),
    cases: contract.cases,
    toCome: contract.cases
      .map(({ id }) => id)
      .filter((id) => contract.learning?.same_case === 'allow' || id !== row?.id),
    protectedFiles,
  };
  return runChecks(own.lesson, context)
    .filter(({ check }) => !own.checks.some((done) => done.gate === 'checks' && done.check === check))
    .map(({ check, passed, reason }) => draft(check, passed, reason));
}

function textsOf(criterion: Criterion): string[] {
  switch (criterion.kind) {
    case 'command':
      return [criterion.run.join(' ')];
    case 'review':
      return [criterion.question];
    case 'match':
      if ('equals' in criterion) return [criterion.equals];
      return 'regex' in criterion ? [criterion.regex] : [JSON.stringify(criterion.json_schema)];
    default:
      return criterion satisfies never;
  }
}

async function protectedTexts(work: Work): Promise<string[]> {
  if (work.run.contract.workspace.protected.length === 0) return [];
  const pristine = await pristineWorkspace(work);
  const files = (pristine?.files ?? []).filter(
    ({ path, mode, bytes }) =>
      mode !== '120000' && bytes <= MAX_PROTECTED_BYTES && isProtected(work.run.contract, path),
  );
  return Promise.all(files.map(({ path }) => readFile(join(pristine?.folder ?? '', path), 'utf8')));
}
