import type { EntryType } from './bodies.js';

/** One key has one role. `requester` signs requests and writes no ledger. */
export type Role = 'coordinator' | 'executor' | 'projector' | 'requester';
export const ROLES: readonly Role[] = ['coordinator', 'executor', 'projector', 'requester'];

export type LedgerKind = 'evaluation' | 'child';

const EVALUATION_TYPES = ['eval_started', 'child_requested', 'child_anchor', 'eval_closed', 'writer_changed'] as const;
const CHILD_TYPES = [
  'run_started',
  'lessons_recalled',
  'agent_reported',
  'model_call_started',
  'model_call_completed',
  'tool_called',
  'budget_exhausted',
  'infrastructure_failed',
  'workspace_changed',
  'answer_submitted',
  'criterion_checked',
  'review_delegated',
  'review_returned',
  'verdict',
  'lesson_extracted',
  'lesson_checked',
  'lesson_reviewed',
  'lesson_promoted',
  'lesson_rejected',
  'run_sealed',
  'writer_changed',
] as const;

const ALLOWED: Readonly<Record<Role, Readonly<Record<LedgerKind, ReadonlySet<EntryType>>>>> = {
  coordinator: { evaluation: new Set(EVALUATION_TYPES), child: new Set() },
  executor: { evaluation: new Set(), child: new Set(CHILD_TYPES) },
  projector: { evaluation: new Set(['eval_report']), child: new Set() },
  requester: { evaluation: new Set(), child: new Set() },
};

/** Default deny: what is not in the table may not be written. */
export function mayWrite(role: Role, kind: LedgerKind, type: EntryType): boolean {
  return ALLOWED[role][kind].has(type);
}
