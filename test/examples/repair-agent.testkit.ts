import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const exampleDir = join(import.meta.dirname, '../../examples/repair');

interface RepairCase {
  readonly id: string;
  readonly inputs: { readonly source: string; readonly tests: string };
}

export type AgentEvent =
  | { type: 'step'; name: string }
  | { type: 'usage'; input_tokens: number; output_tokens: number; cost_usd: number }
  | { type: 'note'; text: string }
  | { type: 'lesson'; title: string; when: string; text: string }
  | { type: 'cited'; lesson: string };

export interface Repair {
  readonly exit: number | null;
  readonly events: AgentEvent[];
  readonly steps: string[];
  readonly lesson: Extract<AgentEvent, { type: 'lesson' }> | undefined;
  /** The module before and after. */
  readonly before: string;
  readonly after: string;
  /** The exit codes of the case's tests before and after. */
  readonly tests: { readonly before: number | null; readonly after: number | null };
}

/** The rows of a case file of the example; `set` is the folder that holds it. */
export function casesOf(set: string): RepairCase[] {
  const rows: RepairCase[] = readFileSync(join(exampleDir, set, 'cases.jsonl'), 'utf8')
    .trim()
    .split('\n')
    .map((row) => JSON.parse(row));
  return rows;
}

/** Runs the agent on a fresh copy of the set's workspace, as an evaluation would. */
export async function repair(
  set: string,
  { inputs }: RepairCase,
  options: { seed?: number; maxSteps?: number; lessons?: object[] } = {},
): Promise<Repair> {
  const folder = mkdtempSync(join(tmpdir(), 'repair-'));
  try {
    const cwd = join(folder, 'workspace');
    cpSync(join(exampleDir, set, 'workspace'), cwd, { recursive: true });
    const [context, log] = [join(folder, 'context.json'), join(folder, 'events.jsonl')];
    const { seed = 1, maxSteps = 1000, lessons = [] } = options;
    const budget = { max_steps: maxSteps };
    writeFileSync(context, JSON.stringify({ title: '', instructions: '', inputs, lessons, seed, budget, run: 'run' }));
    writeFileSync(log, '');
    const source = join(cwd, inputs.source);
    const before = readFileSync(source, 'utf8');
    const failed = await node(['--test', inputs.tests], cwd);
    const exit = await node([join(exampleDir, 'agent.mjs')], cwd, { TRUSS_CONTEXT: context, TRUSS_EVENTS: log });
    const events: AgentEvent[] = readFileSync(log, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    return {
      exit,
      events,
      steps: events.flatMap((event) => (event.type === 'step' ? [event.name] : [])),
      lesson: events.find((event) => event.type === 'lesson'),
      before,
      after: readFileSync(source, 'utf8'),
      tests: { before: failed, after: await node(['--test', inputs.tests], cwd) },
    };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** @returns the exit code; the output is dropped */
export function node(args: string[], cwd: string, env: Record<string, string> = {}): Promise<number | null> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { cwd, env: { PATH: process.env['PATH'], ...env }, stdio: 'ignore' });
    child.on('error', reject).on('close', resolve);
  });
}
