import { describe, expect, test } from 'vitest';
import { FAULTS } from '../../libs/protocol/src/simulation/faults.testkit.js';
import { type Rules, SOUND } from '../../libs/protocol/src/simulation/rules.testkit.js';
import { search } from '../../libs/protocol/src/simulation/search.testkit.js';
import { type Bounds, smallModel } from '../../libs/protocol/src/simulation/small.testkit.js';

const MOST_STATES = 400_000;
const NOTHING: Bounds = { executors: 0, owners: 0, claims: 1, crashes: 0, copies: 0, cancel: false, coarse: false };

/** The least number of states that each case has: fewer would mean that the model lost some of what may happen. */
const CASES: readonly (readonly [name: string, bounds: Bounds, states: number])[] = [
  ['one child, two executors', { ...NOTHING, executors: 2 }, 100_000],
  [
    'one child, an executor that crashes and comes back, copies, and a cancel at any moment',
    { ...NOTHING, executors: 1, claims: 2, crashes: 1, copies: 1, cancel: true },
    5_000,
  ],
  ['two owners', { ...NOTHING, owners: 2, coarse: true }, 50_000],
  [
    'an owner that crashes and comes back, and a cancel at any moment',
    { ...NOTHING, owners: 1, claims: 2, crashes: 1, cancel: true },
    20_000,
  ],
];

describe('every order of events of a small case keeps every invariant, and from every state there is a way to the end', {
  timeout: 300_000,
}, () => {
  test.each(CASES)('%s', (_, bounds, states) => {
    const searched = search(smallModel(bounds, SOUND), MOST_STATES);
    expect(searched.violation, searched.path.join('\n')).toBeNull();
    expect(searched.complete).toBe(true);
    expect(searched.states).toBeGreaterThanOrEqual(states);
    expect(searched.ends).toBeGreaterThan(0);
  });
});

describe('the search finds a loosened rule by the shortest way', { timeout: 300_000 }, () => {
  test.each([
    ['a command finished on lost', 'offset_past_unfinished'],
    ['a take-over below the live head', 'unconfirmed_effect'],
  ] as const)('%s', (name, invariant) => {
    const rules = FAULTS.find((fault) => fault.name === name) as Rules;
    const { violation, path } = search(smallModel({ ...NOTHING, executors: 2, coarse: true }, rules), MOST_STATES);
    expect(violation?.invariant, path.join('\n')).toBe(invariant);
  });
});
