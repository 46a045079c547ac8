import { EXIT } from '../exit-codes.js';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const NAMES: Readonly<Record<string, string>> = { SIGINT: 'Ctrl-C', SIGTERM: 'SIGTERM', SIGHUP: 'SIGHUP' };

/**
 * The first signal asks to stop, the second ends the process at once.
 * @returns what stops listening
 */
export function onInterrupt(first: (what: string) => void): () => void {
  let asked = false;
  const handle = (signal: string): void => {
    if (asked) process.exit(EXIT.stopped);
    asked = true;
    first(NAMES[signal] ?? signal);
  };
  for (const signal of SIGNALS) process.on(signal, handle);
  return () => {
    for (const signal of SIGNALS) process.off(signal, handle);
  };
}
