import { describe, expect, test } from 'vitest';
import { type EvalAccepted, evaluationOf } from '#lib/evaluation';
import { contractWith } from '../../contract/src/smallest.testkit.js';
import { requestFor } from '../../evaluation/src/scene.testkit.js';
import { readAcceptance } from './acceptance.js';

const contract = contractWith();
const request = requestFor(contract);
const good: EvalAccepted = {
  kind: 'eval',
  eval_run_id: evaluationOf(request),
  accepted_at: 1_764_500_000_000,
  from: 0,
  request,
};
const read = (change: object) => readAcceptance({ ...good, ...change });

describe('an acceptance', () => {
  test('of a request is read, and so is a cancel', () => {
    expect(read({})).toEqual({ kind: 'accepted', id: good.eval_run_id, accepted: good });
    const cancel = { kind: 'cancel', eval_run_id: good.eval_run_id, reason: 'enough', accepted_at: 0 } as const;
    expect(readAcceptance(cancel)).toEqual({ kind: 'accepted', id: good.eval_run_id, accepted: cancel });
  });

  test.each([
    ['of another shape', { from: -1 }, 'from'],
    ['under no id', { eval_run_id: 'nonsense' }, 'no evaluation has the id nonsense'],
    ['under the id of another request', { eval_run_id: `ev_${'0'.repeat(32)}` }, 'another request'],
    ['with a deadline beyond all dates', { accepted_at: Number.MAX_SAFE_INTEGER }, 'no date'],
    [
      'of what is no contract',
      { request: { ...request, contracts: [{ ...request.contracts[0], contract: {} }] } },
      'contract 0',
    ],
    [
      'of a contract under another digest',
      { request: { ...request, contracts: [{ contract, digest: '0'.repeat(64) }] } },
      'not the one of its digest',
    ],
  ])('%s is refused', (_, change, reason) => {
    expect(read(change)).toMatchObject({ kind: 'malformed', reason: expect.stringContaining(reason) });
  });
});
