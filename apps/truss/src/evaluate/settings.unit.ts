import { expect, test } from 'vitest';
import type { Contract, LoadedContract } from '#lib/contract';
import { contractWith } from '../../../../libs/contract/src/smallest.testkit.js';
import { RequestError } from '#lib/requests';
import { type EvalFlags, requestFor } from './settings.js';

const { evaluation } = contractWith();
const contract = contractWith({
  evaluation: { ...evaluation, max_cost_nano_usd: 5, repeats: 3, replicates: 6, primary: 'steps' },
});

function asked(flags: EvalFlags, changes: Partial<Contract> = {}, parallelism = 8) {
  const loaded: LoadedContract = {
    contract: { ...contract, ...changes },
    digest: '0'.repeat(64),
    directory: '/c',
    workspaceDir: null,
  };
  return requestFor(loaded, flags, { seed: () => 42, requestId: () => 'r', parallelism });
}

test("the contract's [evaluation] holds where no flag is given", () => {
  expect(asked({})).toMatchObject({
    repeats: 3,
    replicates: 6,
    seed: 42,
    max_cost_nano_usd: 5,
    statistics: { primary: 'steps', alpha: 0.05 },
  });
});

test('flags win over the contract', () => {
  const flags = {
    repeats: 1,
    replicates: 2,
    seed: 7,
    maxCostUsd: 9,
    primary: 'pass_rate',
    alpha: 0.1,
    margin: 0.2,
  } as const;
  expect(asked(flags)).toMatchObject({
    repeats: 1,
    replicates: 2,
    seed: 7,
    max_cost_nano_usd: 9,
    statistics: { primary: 'pass_rate', alpha: 0.1, margin: 0.2 },
  });
});

test.each([
  [8, 6, 4],
  [8, 2, 2],
  [1, 6, 1],
  [3, 6, 1],
])('on %i cores with %i replicates %i pairs run side by side', (parallelism, replicates, pairs) => {
  expect(asked({ replicates }, {}, parallelism).concurrency).toBe(pairs);
});

test('fewer cases than repeats are refused with the number that is possible', () => {
  const cases = [{ id: 'a', family: null, inputs: {}, expected: {} }];
  expect(() => asked({ repeats: 2 }, { cases })).toThrow(/has 1 case: ask for at most --repeats 1/);
});

test('without a number of repeats anywhere the message says both places', () => {
  const evaluation = { ...contract.evaluation, repeats: null };
  expect(() => asked({}, { evaluation })).toThrow(/--repeats N, or `repeats = N`/);
});

test('a plan too large to record is refused with its number and the largest that can be', () => {
  expect(() => asked({ repeats: 1e9 })).toThrow(RequestError);
  expect(() => asked({ repeats: 50_000, replicates: 1 })).toThrow(
    /100,000 child runs, .* can record \d\d,\d\d\d: lower/,
  );
  expect(asked({ repeats: 10_000, replicates: 1 }).repeats).toBe(10_000);
});
