import { describe, expect, test } from 'vitest';
import type { Vote } from '#lib/ledger';
import { CHECKS, VERDICT_CHECK } from './check-names.js';
import { decidePromotion, type Gate, type GateCheck, type GateVote } from './gates.js';

const ALL: readonly Gate[] = ['verdict', 'checks', 'panel'];
const passed = (gate: 'verdict' | 'checks', check: string): GateCheck => ({
  gate,
  check,
  passed: true,
  reason: 'fine',
});
const VERDICT = passed('verdict', VERDICT_CHECK);
const CHECKED = [VERDICT, ...CHECKS.map((check) => passed('checks', check))];
const votes = (...cast: Vote[]): GateVote[] => cast.map((vote, at) => ({ reviewer: `reviewer ${at}`, vote }));
const panel = (cast: readonly GateVote[], quorum = 2, reviewers = 3): ReturnType<typeof decidePromotion> =>
  decidePromotion(ALL, { checks: CHECKED, votes: cast, quorum, reviewers });

describe('the gates', () => {
  test('open in order: verdict, checks, panel', () => {
    const rest = { votes: [], quorum: 2, reviewers: 3 };
    expect(decidePromotion(ALL, { checks: [], ...rest })).toEqual({ kind: 'next', gate: 'verdict' });
    expect(decidePromotion(ALL, { checks: [VERDICT], ...rest })).toEqual({ kind: 'next', gate: 'checks' });
    expect(decidePromotion(ALL, { checks: CHECKED.slice(0, -1), ...rest })).toEqual({ kind: 'next', gate: 'checks' });
    expect(decidePromotion(ALL, { checks: CHECKED, ...rest })).toEqual({ kind: 'next', gate: 'panel' });
  });

  test('a check that failed rejects, and says which and why', () => {
    const failed: GateCheck = { gate: 'checks', check: 'duplicate', passed: false, reason: 'the same as another' };
    const decision = decidePromotion(ALL, {
      checks: [VERDICT, failed],
      votes: votes('approve', 'approve'),
      quorum: 2,
      reviewers: 3,
    });
    expect(decision).toEqual({ kind: 'rejected', gate: 'checks', reason: 'duplicate: the same as another' });
  });

  test('without a panel the checks promote, with the verdict alone the verdict does', () => {
    const none = { votes: [], quorum: 0, reviewers: 0 };
    expect(decidePromotion(['verdict', 'checks'], { checks: CHECKED, ...none })).toEqual({ kind: 'promoted' });
    expect(decidePromotion(['verdict'], { checks: [VERDICT], ...none })).toEqual({ kind: 'promoted' });
  });

  test('approvals that reach the quorum promote, also before the last vote', () => {
    expect(panel(votes('approve', 'approve'))).toEqual({ kind: 'promoted' });
    expect(panel(votes('reject', 'approve', 'approve'))).toEqual({ kind: 'promoted' });
  });

  test('the panel stays open while those still to vote can reach the quorum', () => {
    expect(panel(votes('reject'))).toEqual({ kind: 'next', gate: 'panel' });
    expect(panel(votes('reject', 'approve'))).toEqual({ kind: 'next', gate: 'panel' });
  });

  test.each([[['reject', 'reject']], [['abstain', 'reject']], [['approve', 'abstain', 'abstain']]] as const)(
    'no quorum is a rejection that says so: %j',
    (cast) => {
      const reason = expect.stringMatching(/^no quorum: [01] of 3 reviewers approved, 2 must$/u);
      expect(panel(votes(...cast))).toEqual({ kind: 'rejected', gate: 'panel', reason });
    },
  );

  test('one reviewer counts once, by the first vote', () => {
    const twice = [
      { reviewer: 'one', vote: 'approve' },
      { reviewer: 'one', vote: 'approve' },
    ] as const;
    expect(panel(twice)).toEqual({ kind: 'next', gate: 'panel' });
    const turned = [{ reviewer: 'one', vote: 'reject' }, ...twice, { reviewer: 'two', vote: 'approve' }] as const;
    expect(panel(turned)).toEqual({ kind: 'next', gate: 'panel' });
  });

  test('a panel without a quorum approves nothing', () => {
    expect(panel(votes('approve', 'approve', 'approve'), 0)).toMatchObject({ kind: 'rejected', gate: 'panel' });
  });
});
