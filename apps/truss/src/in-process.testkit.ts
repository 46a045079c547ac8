import { onTestFinished, vi } from 'vitest';
import { run } from './main.js';

export interface Said {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the whole command line in this process, and catches what it says. */
export async function truss(...args: readonly string[]): Promise<Said> {
  const outputs = [process.stdout, process.stderr].map((stream) => {
    let text = '';
    const spy = vi.spyOn(stream, 'write').mockImplementation((chunk, encodingOrDone, done) => {
      text += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString('utf8');
      const told = typeof encodingOrDone === 'function' ? encodingOrDone : done;
      told?.();
      return true;
    });
    return { spy, text: () => text };
  });
  try {
    const code = await run([process.execPath, 'truss', ...args]);
    const [stdout = '', stderr = ''] = outputs.map(({ text }) => text());
    return { code, stdout, stderr };
  } finally {
    for (const { spy } of outputs) spy.mockRestore();
    process.exitCode = undefined;
  }
}

/** Sets variables of this process for one test. */
export function withEnv(variables: Readonly<Record<string, string | undefined>>): void {
  for (const [name, value] of Object.entries(variables)) {
    const before = process.env[name];
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
    onTestFinished(() => {
      if (before === undefined) delete process.env[name];
      else process.env[name] = before;
    });
  }
}
