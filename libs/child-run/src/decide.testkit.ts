import type { Contract } from '#lib/contract';
import { type ChildRunId, type Draft, type EntryHash, ledgerRef } from '#lib/ledger';
import { contractWith, LEARNING } from '../../contract/src/smallest.testkit.js';
import type { RunContext } from './actions.js';

export const CHILD = `ev_${'0'.repeat(32)}.0.on.1.1` as ChildRunId;
export const REQUEST = ledgerRef(`ev_${'0'.repeat(32)}` as never, 1, '1'.repeat(64) as EntryHash);
export const blob = { text: '' };
export const hash = (n: number) => n.toString(16).padStart(64, '0') as EntryHash;
export const ref = (seq: number) => ledgerRef(CHILD, seq, hash(seq));

/** A run of a program, in a plan of that contract. */
export function contextOf(arm: 'on' | 'off', part: Partial<Contract> = {}): RunContext {
  const contract = contractWith({ agent: { kind: 'command', command: ['agent'] }, learning: LEARNING, ...part });
  const memory =
    arm === 'on'
      ? ({ extraction: 'on', promotion: 'eager', recall: 'verified' } as const)
      : ({ extraction: 'off', promotion: 'off', recall: 'off' } as const);
  return {
    child: CHILD,
    request: { ref: REQUEST, body: { child_run_id: CHILD, case: null, seed: 1, run: 'r', lessons: [] } },
    arm: { name: arm, kind: arm === 'on' ? 'learning_on' : 'learning_off', memory },
    contract,
    contractDigest: 'd'.repeat(64),
    rendered: { instructions: contract.instructions, agent: contract.agent, criteria: contract.criteria },
    case: null,
    otherCases: [],
    software: { truss: '0', node: '0' },
  };
}

export const started: Draft = {
  type: 'run_started',
  body: {
    request: REQUEST,
    contract_digest: 'd'.repeat(64) as EntryHash,
    budget: contractWith().budget,
    executor: { truss: '0', node: '0' },
  },
};
export const recalled: Draft = {
  type: 'lessons_recalled',
  body: { used: [], refused: [], layer: blob, layer_digest: hash(0) },
};
export const takeOver: Draft = {
  type: 'writer_changed',
  body: { displaced: { key: hash(9) as never, session: '0'.repeat(32) }, reason: '' },
};
