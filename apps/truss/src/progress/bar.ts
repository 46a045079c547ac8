import { stripVTControlCharacters } from 'node:util';
import type { Verdict } from '#lib/ledger';
import { columnsOf, duration, fitColumns, oneLine, usd, whole } from '../format.js';
import type { Output } from '../terminal.js';
import type { ProgressEvent, Reporter, RunName } from './events.js';
import { armText, startedLine, stoppingLine } from './plain.js';

const HIDE_CURSOR = '\u001b[?25l';
const SHOW_CURSOR = '\u001b[?25h';
const CLEAR_BELOW = '\u001b[0J';
const REDRAW_MS = 100;
const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

export interface BarState {
  readonly contract: string;
  readonly planned: number;
  done: number;
  readonly budgetNano: number | null;
  spentNano: number | null;
  readonly verdicts: Map<string, Record<Verdict, number>>;
  readonly running: Map<string, RunName & { steps: number }>;
  /** Ms since this process began to drive, and how many runs were done then. */
  elapsed: number;
  readonly doneBefore: number;
  frame: number;
}

/** The block of lines that stands at the end of a terminal while an evaluation runs. Pure, so that a test can look at it. */
export function drawBar(state: BarState, columns: number, paint: Output['paint']): string[] {
  const { done, planned } = state;
  const share = planned === 0 ? 0 : done / planned;
  const right = [`${whole(done)}/${whole(planned)} runs`, spendText(state), timeLeft(state)].filter(
    (part) => part !== '',
  );
  const name = oneLine(state.contract, 24);
  // What matters least goes first when the terminal is narrow.
  while (right.length > 1 && name.length + right.join('  ').length + 16 > columns) right.pop();
  const tail = right.join('  ');
  const width = Math.min(40, Math.max(4, columns - name.length - tail.length - 5));
  const filled = Math.round(share * width);
  const bar = paint('green', '━'.repeat(filled)) + paint('dim', '─'.repeat(width - filled));
  const lines = [`${paint('bold', name)} ${bar} ${tail}`];
  for (const arm of ['on', 'off']) {
    const spinner = FRAMES[state.frame % FRAMES.length] ?? '';
    const active = [...state.running.values()].filter((run) => run.arm === arm);
    const [first, ...others] = active;
    const now =
      first === undefined
        ? ''
        : `${paint('cyan', spinner)} ${runText(first)}${others.length > 0 ? ` and ${others.length} more` : ''}`;
    lines.push(`  ${armText(arm).padEnd(12)} ${verdictsText(state.verdicts.get(arm), paint)}  ${now}`);
  }
  return lines.map((line) => fit(line, columns - 1));
}

function spendText({ spentNano, budgetNano, done }: BarState): string {
  // Before the first run has ended, nothing measured only means that nobody has reported yet.
  const spent = spentNano !== null ? cents(spentNano) : done > 0 ? 'unknown cost' : cents(0);
  if (budgetNano !== null) return `${spent} of ${usd(budgetNano)}`;
  return spentNano === 0 || (spentNano === null && done === 0) ? '' : spent;
}

// In the bar an amount is for orientation: four decimals do.
function cents(nano: number): string {
  return `$${(nano / 1e9).toFixed(nano < 1e9 ? 4 : 2)}`;
}

function timeLeft({ done, doneBefore, planned, elapsed }: BarState): string {
  const here = done - doneBefore;
  if (here <= 0) return '';
  if (done === planned) return 'writing the report';
  return `about ${duration(Math.max(1000, (elapsed / here) * (planned - done)))} left`;
}

function verdictsText(counts: Record<Verdict, number> | undefined, paint: Output['paint']): string {
  const { pass = 0, fail = 0, unverifiable = 0 } = counts ?? {};
  const parts = [
    paint('green', `${whole(pass)} pass`),
    fail > 0 ? paint('red', `${whole(fail)} fail`) : `${whole(fail)} fail`,
  ];
  if (unverifiable > 0) parts.push(paint('yellow', `${whole(unverifiable)} unverifiable`));
  return parts.join('  ');
}

function runText(run: RunName & { steps: number }): string {
  const what = run.case === null ? '' : ` ${oneLine(run.case, 30)}`;
  return `replicate ${run.replicate} repeat ${run.repeat}${what}${run.steps > 0 ? `, step ${run.steps}` : ''}`;
}

/** Cuts a painted line to a width; what is cut takes its colours with it. */
function fit(line: string, width: number): string {
  const plain = stripVTControlCharacters(line);
  return columnsOf(plain) <= width ? line.trimEnd() : fitColumns(plain, width);
}

/** A live block that is redrawn in place, and gone when it is closed. */
export function barReporter(err: Output, now: () => number): Reporter {
  let state: BarState | null = null;
  let begun = now();
  let drawn = 0;
  let writing = Promise.resolve();
  const write = (text: string): void => {
    writing = writing.then(() => err.write(text)).catch(() => {});
  };
  const showCursor = (): void => void process.stderr.write(SHOW_CURSOR);
  const erase = (): string => (drawn === 0 ? '' : `\r${drawn > 1 ? `\u001b[${drawn - 1}A` : ''}${CLEAR_BELOW}`);
  const redraw = (): void => {
    if (state === null) return;
    state.elapsed = now() - begun;
    state.frame += 1;
    const lines = drawBar(state, err.columns(), err.paint);
    write(`${erase()}${lines.join('\n')}`);
    drawn = lines.length;
  };
  let timer: NodeJS.Timeout | null = null;
  return {
    tell(event) {
      if (event.event === 'evaluation_started') {
        write(`${erase()}${err.paint('dim', startedLine(event))}\n${HIDE_CURSOR}`);
        drawn = 0;
        begun = now();
        state = {
          contract: event.contract_id,
          planned: event.runs_planned,
          done: event.runs_done,
          doneBefore: event.runs_done,
          budgetNano: event.max_cost_nano_usd,
          spentNano: event.spent.cost_nano_usd,
          verdicts: new Map(Object.entries(event.verdicts).map(([arm, counts]) => [arm, { ...counts }])),
          running: new Map(),
          elapsed: 0,
          frame: 0,
        };
        process.once('exit', showCursor);
        timer ??= setInterval(redraw, REDRAW_MS);
        redraw();
      } else if (event.event === 'stopped') {
        if (timer !== null) clearInterval(timer);
        write(`${erase()}${stoppingLine(event)}\n`);
        drawn = 0;
      } else if (state !== null) take(state, event);
    },
    async close() {
      if (timer !== null) clearInterval(timer);
      if (state !== null) {
        write(`${erase()}${SHOW_CURSOR}`);
        process.off('exit', showCursor);
      }
      state = null;
      await writing;
    },
  };
}

function take(state: BarState, event: ProgressEvent): void {
  if (event.event === 'run_started') {
    const { child_run_id, arm, replicate, repeat } = event;
    state.running.set(child_run_id, { child_run_id, arm, replicate, repeat, case: event.case, steps: 0 });
  } else if (event.event === 'run_reported') {
    const run = state.running.get(event.child_run_id);
    if (run !== undefined) run.steps += event.steps;
    state.spentNano = event.spent.cost_nano_usd;
  } else if (event.event === 'run_ended') {
    state.running.delete(event.child_run_id);
    const counts = state.verdicts.get(event.arm) ?? { pass: 0, fail: 0, unverifiable: 0 };
    counts[event.verdict] += 1;
    state.verdicts.set(event.arm, counts);
    state.done = event.runs_done;
    state.spentNano = event.spent.cost_nano_usd;
  }
}
