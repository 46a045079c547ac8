import { stripVTControlCharacters, styleText } from 'node:util';
import { NO_SPEND } from '#lib/ledger';
import { expect, test } from 'vitest';
import { columnsOf } from '../format.js';
import type { Output } from '../terminal.js';
import { barReporter, type BarState, drawBar } from './bar.js';
import type { ProgressEvent } from './events.js';

const plain: Output['paint'] = (_style, text) => text;
const coloured: Output['paint'] = (style, text) =>
  text === '' ? '' : styleText(style, text, { validateStream: false });

const state: BarState = {
  contract: 'repair',
  planned: 12,
  done: 4,
  doneBefore: 2,
  budgetNano: 20_000_000_000,
  spentNano: 123_400_000,
  verdicts: new Map([
    ['on', { pass: 2, fail: 0, unverifiable: 0 }],
    ['off', { pass: 1, fail: 1, unverifiable: 0 }],
  ]),
  running: new Map([['x', { child_run_id: 'x', arm: 'on', replicate: 1, repeat: 3, case: 'pager', steps: 7 }]]),
  elapsed: 10_000,
  frame: 0,
};

test('the bar says arm, repeat, verdicts so far, spend against budget and time left', () => {
  expect(drawBar(state, 100, plain)).toEqual([
    'repair ━━━━━━━━━━━━━─────────────────────────── 4/12 runs  $0.1234 of $20.00  about 40 s left',
    '  learning on  2 pass  0 fail  ⠋ replicate 1 repeat 3 pager, step 7',
    '  learning off 1 pass  1 fail',
  ]);
});

test.each([20, 30, 40, 60, 80, 120, 300])(
  'no line is wider than a terminal of %i columns, colours or not',
  (columns) => {
    for (const line of drawBar(state, columns, coloured)) {
      expect(stripVTControlCharacters(line).length).toBeLessThan(columns);
    }
  },
);

test('a case named in wide characters is cut by the columns it takes', () => {
  const running = new Map([
    ['x', { child_run_id: 'x', arm: 'on', replicate: 1, repeat: 1, case: '日'.repeat(30), steps: 0 }],
  ]);
  for (const line of drawBar({ ...state, running }, 60, plain)) expect(columnsOf(line)).toBeLessThan(60);
});

test('a case named with control characters draws as one line', () => {
  const running = new Map([
    ['x', { child_run_id: 'x', arm: 'on', replicate: 1, repeat: 1, case: 'a\nb\u001b[2J', steps: 0 }],
  ]);
  expect(drawBar({ ...state, running }, 100, plain)[1]).toBe(
    '  learning on  2 pass  0 fail  ⠋ replicate 1 repeat 1 a b [2J',
  );
});

test('the block is erased and the cursor shown again when it is closed', async () => {
  let written = '';
  const err: Output = {
    isTerminal: true,
    columns: () => 80,
    paint: plain,
    write: async (text) => void (written += text),
  };
  const reporter = barReporter(err, () => 0);
  reporter.tell(started());
  await reporter.close();
  expect(written.endsWith('\u001b[2A\u001b[0J\u001b[?25h')).toBe(true);
  expect(written.split('\u001b[?25l')).toHaveLength(2);
});

function started(): ProgressEvent {
  return {
    event: 'evaluation_started',
    eval_run_id: `ev_${'0'.repeat(32)}` as Extract<ProgressEvent, { event: 'evaluation_started' }>['eval_run_id'],
    contract_id: 'repair',
    repeats: 3,
    replicates: 1,
    runs_planned: 6,
    runs_done: 0,
    seed: 1,
    concurrency: 1,
    max_cost_nano_usd: null,
    resumed: false,
    verdicts: {},
    spent: NO_SPEND,
  };
}
