import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

// Our imports end in `.js`; node runs the `.ts` beside it.
const RESOLVE_TS = `data:text/javascript,${encodeURIComponent(`
import { registerHooks } from 'node:module';
registerHooks({ resolve(name, context, next) {
  try { return next(name, context); } catch (error) {
    if (name.startsWith('.') && name.endsWith('.js')) return next(name.slice(0, -3) + '.ts', context);
    throw error;
  }
} });`)}`;

export interface SourceProcess {
  /** The next line on its stdout; `null` when it has ended. */
  line(): Promise<string | null>;
  kill(): Promise<void>;
  readonly ended: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
}

/** Runs a TypeScript file of these sources as a process of its own. */
export function runSource(file: URL, args: readonly string[] = []): SourceProcess {
  const child: ChildProcess = spawn(
    process.execPath,
    [
      '--experimental-transform-types',
      '--no-warnings',
      '--conditions=truss-src',
      '--import',
      RESOLVE_TS,
      fileURLToPath(file),
      ...args,
    ],
    { stdio: ['ignore', 'pipe', 'inherit'], env: { PATH: process.env.PATH } },
  );
  if (child.stdout === null) throw new Error('no stdout');
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ended = new Promise<Awaited<SourceProcess['ended']>>((resolve) => {
    child.on('close', (code, signal) => resolve({ code, signal }));
  });
  return {
    ended,
    async line() {
      const next = await lines.next();
      return next.done === true ? null : next.value;
    },
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}
