import { type ChildProcess, spawn } from 'node:child_process';
import { Capture } from './output.js';

const DRAIN_MS = 1_000;
const UNKILLABLE_MS = 5_000;
const MAX_TIMER_MS = 2 ** 31 - 1;

export interface Launch {
  /** Program and arguments; no shell. */
  readonly argv: readonly string[];
  readonly cwd: string;
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Without it the program's input is empty. */
  readonly stdin?: string;
  readonly timeoutMs: number | null;
  /** Kills the program, and everything in its process group, at once. */
  readonly stop: AbortSignal;
}

export type ProgramEnd =
  | { readonly kind: 'not_started'; readonly code: string }
  | {
      readonly kind: 'ended';
      readonly exitCode: number | null;
      readonly signal: string | null;
      readonly stopped: 'no' | 'timeout' | 'stop';
      readonly elapsedMs: number;
      readonly stdout: string;
      readonly stderr: string;
    };

const groups = new Set<number>();

function endAll(): void {
  for (const group of groups) killGroup(group);
}

/**
 * Runs a program to its end in a process group of its own. The group is killed (SIGKILL) when the program ends, at the timeout
 * and on `stop`; whoever keeps the pipes open is not waited for. Output is always drained and kept in part ({@link Capture}).
 * A process that leaves the group (`setsid`) is out of reach here: see `stragglers.ts`. When this process exits the groups are killed
 * too; when it is killed itself they stay. Never rejects.
 */
export function runProgram(launch: Launch): Promise<ProgramEnd> {
  const [program = '', ...args] = launch.argv;
  const { cwd, env, stop } = launch;
  if (stop.aborted) return Promise.resolve({ kind: 'not_started', code: 'stopped' });
  let child: ChildProcess;
  try {
    const stdin = launch.stdin === undefined ? 'ignore' : 'pipe';
    child = spawn(program, args, { cwd, env, detached: true, windowsHide: true, stdio: [stdin, 'pipe', 'pipe'] });
  } catch (cause) {
    return Promise.resolve({ kind: 'not_started', code: codeOf(cause) });
  }
  const group = child.pid;
  if (group !== undefined) {
    if (groups.size === 0) process.once('exit', endAll);
    groups.add(group);
  }
  const begun = performance.now();
  const stdout = new Capture();
  const stderr = new Capture();
  child.stdout?.on('data', (chunk: Buffer) => stdout.add(chunk));
  child.stderr?.on('data', (chunk: Buffer) => stderr.add(chunk));
  // A program need not read its input to the end.
  child.stdin?.on('error', () => {});
  child.stdin?.end(launch.stdin);

  return new Promise((resolve) => {
    let stopped: 'no' | 'timeout' | 'stop' = 'no';
    let elapsedMs = 0;
    const timers: NodeJS.Timeout[] = [];
    const later = (ms: number, then: () => void): void => {
      timers.push(setTimeout(then, Math.min(ms, MAX_TIMER_MS)));
    };
    const settle = (end: ProgramEnd): void => {
      for (const timer of timers) clearTimeout(timer);
      stop.removeEventListener('abort', onStop);
      child.stdout?.destroy();
      child.stderr?.destroy();
      child.stdin?.destroy();
      if (group !== undefined && groups.delete(group) && groups.size === 0) process.removeListener('exit', endAll);
      resolve(end);
    };
    const ended = (): void =>
      settle({
        kind: 'ended',
        exitCode: child.exitCode,
        signal: child.signalCode,
        stopped,
        elapsedMs,
        stdout: stdout.text(),
        stderr: stderr.text(),
      });
    const kill = (why: 'timeout' | 'stop'): void => {
      if (stopped !== 'no' || child.exitCode !== null || child.signalCode !== null) return;
      stopped = why;
      elapsedMs = performance.now() - begun;
      killGroup(group);
      later(UNKILLABLE_MS, ended);
    };
    const onStop = (): void => kill('stop');
    stop.addEventListener('abort', onStop, { once: true });
    if (launch.timeoutMs !== null) later(launch.timeoutMs, () => kill('timeout'));
    child.once('error', (cause) => settle({ kind: 'not_started', code: codeOf(cause) }));
    child.once('exit', () => {
      if (stopped === 'no') elapsedMs = performance.now() - begun;
      killGroup(group);
      later(DRAIN_MS, ended);
    });
    child.once('close', ended);
  });
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // Nobody is left in the group.
  }
}

function codeOf(cause: unknown): string {
  return cause instanceof Error && 'code' in cause && typeof cause.code === 'string' ? cause.code : 'unknown';
}
