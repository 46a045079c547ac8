import { describe, expect, test } from 'vitest';
import { addUsage, canonicalJson, NO_SPEND, UNMEASURED, type Usage } from '#lib/ledger';
import { buildReport } from './measure.js';
import { rateDifference, sixDigits, usd } from './numbers.js';
import { reportSchema } from './report.js';
import { contractWith, LEARNING } from '../../contract/src/smallest.testkit.js';
import { complete, requestFor, Scene } from './scene.testkit.js';

const spent = (cost: number, tokens: number, steps = 1): Usage => ({
  cost_nano_usd: cost,
  steps,
  input_tokens: tokens,
  output_tokens: 0,
  unmeasured_calls: 0,
});

describe('the measured block', () => {
  test('counts every run of the plan and takes the differences on minus off', () => {
    const scene = complete(
      new Scene(requestFor(contractWith({ learning: LEARNING }), { repeats: 3 })),
      (arm, _, repeat) => ({
        verdict: arm === 'on' || repeat < 3 ? 'pass' : 'fail',
        usage: arm === 'on' ? spent(100_000_000, 10) : spent(200_000_001, 30, 4),
      }),
    );
    const report = buildReport(scene.view.state);
    expect(reportSchema.safeParse(report).error).toBeUndefined();
    expect(report).toMatchObject({ runs: 3, verdict: 'pass', report_ref: null });
    expect(report.arms[0]).toMatchObject({
      arm: 'learning_on',
      counts: { pass: 3, fail: 0, unverifiable: 0 },
      pass_rate: 1,
    });
    expect(report.delta).toEqual({
      pass_rate: 1 / 3,
      cost_usd: -0.300000003,
      steps: -9,
      input_tokens: -60,
      output_tokens: 0,
      total_tokens: -60,
    });
    expect(report.curve.map((position) => position.learning_on.lessons_rendered)).toEqual([0, 1, 1]);
    expect(report.environment.arms_differ_only_in_memory).toBe(true);
  });

  test('is the same body whoever folds the entries', () => {
    const make = () => complete(new Scene(requestFor(contractWith())), () => ({ verdict: 'pass' }));
    expect(canonicalJson(buildReport(make().view.state))).toBe(canonicalJson(buildReport(make().view.state)));
  });

  test('keeps unknown spend unknown, and says that a tie with nothing measured shows nothing', () => {
    const scene = complete(new Scene(requestFor(contractWith(), { repeats: 1 })), () => ({
      verdict: 'pass',
      usage: UNMEASURED,
    }));
    const report = buildReport(scene.view.state);
    expect(report.arms.map((arm) => arm.usage.cost_usd)).toEqual([null, null]);
    expect(report.delta.cost_usd).toBeNull();
    expect(report.spend.unmeasured_calls).toBe(2);
    expect(report.summary).toContain('the tie shows nothing');
  });

  test('gives a tie to learning only where it costs no more', () => {
    const verdictAt = (on: Usage, off: Usage) =>
      buildReport(
        complete(new Scene(requestFor(contractWith(), { repeats: 1 })), (arm) => ({
          verdict: 'pass',
          usage: arm === 'on' ? on : off,
        })).view.state,
      ).verdict;
    expect(verdictAt(spent(5, 5), spent(5, 5))).toBe('pass');
    expect(verdictAt(spent(6, 5), spent(5, 5))).toBe('fail');
    expect(verdictAt(spent(5, 6), spent(5, 5))).toBe('fail');
    expect(verdictAt(spent(4, 6), spent(5, 5))).toBe('fail');
  });

  test('compares cost only over pairs that both arms measured', () => {
    const scene = complete(new Scene(requestFor(contractWith(), { repeats: 2 })), (arm, _, repeat) => {
      if (arm === 'off' && repeat === 2) return { verdict: 'pass', usage: UNMEASURED };
      return { verdict: 'pass', usage: spent(10, 10) };
    });
    expect(buildReport(scene.view.state).verdict).toBe('pass');
  });

  test('says that a tie shows nothing where each arm measured, but no pair in both', () => {
    const scene = complete(new Scene(requestFor(contractWith(), { repeats: 2 })), (arm, _, repeat) => ({
      verdict: 'pass',
      usage: (arm === 'on') === (repeat === 1) ? spent(10, 10) : UNMEASURED,
    }));
    const report = buildReport(scene.view.state);
    expect(report.verdict).toBe('pass');
    expect(report.summary).toContain('the tie shows nothing');
    expect(report.evidence.warnings).toContainEqual(
      expect.stringContaining('cost: 0 of 2 pairs were measured in both arms'),
    );
  });
});

describe('calls of which not everything is known', () => {
  const counted: Usage = { ...spent(0, 10), cost_nano_usd: null, unpriced_calls: 1 };

  test('are unpriced where only the cost is unknown, unmeasured where the tokens are, and said apart', () => {
    const usage = [counted, UNMEASURED].reduce(addUsage);
    const scene = complete(new Scene(requestFor(contractWith(), { repeats: 1 })), () => ({ verdict: 'pass', usage }));
    const report = buildReport(scene.view.state);
    expect(report.arms[0]?.usage).toMatchObject({ input_tokens: 10, unmeasured_calls: 1, unpriced_calls: 1 });
    expect(report.spend).toMatchObject({ unmeasured_calls: 2, unpriced_calls: 2 });
    expect(report.summary).toContain('The spend of 2 calls is unknown');
    expect(report.summary).toContain('The cost of 2 calls is unknown');
  });

  test('are all unmeasured in a report of version 1, which had one word for both', () => {
    const scene = new Scene(requestFor(contractWith(), { repeats: 1 }), 1);
    const report = buildReport(complete(scene, () => ({ verdict: 'pass', usage: counted })).view.state);
    expect(report.spend).toMatchObject({ unmeasured_calls: 2 });
    expect(report.summary).toMatch(/^summary\/v1: .*The spend of 2 calls is unknown/u);
    expect(canonicalJson(report)).not.toContain('unpriced');
    expect(reportSchema.safeParse(report).error).toBeUndefined();
  });
});

describe('the evidence, method version 1', () => {
  test('is not_treated where no lesson was ever rendered', () => {
    const scene = complete(new Scene(requestFor(contractWith(), { repeats: 2 })), () => ({ verdict: 'pass' }));
    expect(buildReport(scene.view.state).evidence.finding).toBe('not_treated');
  });

  test('bounds the difference by every unverifiable run counted against and for learning', () => {
    const scene = complete(
      new Scene(requestFor(contractWith({ learning: LEARNING }), { repeats: 3 })),
      (arm, _, repeat) => ({
        verdict: repeat === 1 ? 'unverifiable' : arm === 'on' ? 'pass' : 'fail',
      }),
    );
    const { evidence } = buildReport(scene.view.state);
    expect(evidence.finding).toBe('descriptive');
    expect(evidence.primary.bounds).toEqual([0.333333, 1]);
    expect(evidence.arms.learning_off).toMatchObject({
      counts: { pass: 0, fail: 2, unverifiable: 1 },
      pass_rate_bounds: [0, 0.333333],
    });
  });
});

test('differences of rates are the nearest double of the exact fraction, where subtracting two rates is not', () => {
  expect(rateDifference(3, 3, 2, 3)).toBe(1 / 3);
  expect(1 - 2 / 3).not.toBe(1 / 3);
  expect(Object.is(rateDifference(0, 3, 0, 3), 0)).toBe(true);
  expect(() => rateDifference(2 ** 40, 2 ** 40, 1, 2 ** 40)).toThrow(RangeError);
});

test('money leaves as the nearest double of the exact decimal', () => {
  expect(usd(1_234_000)).toBe(0.001234);
  expect(sixDigits(1 / 3)).toBe(0.333333);
  expect(NO_SPEND.cost_nano_usd).toBe(0);
});
