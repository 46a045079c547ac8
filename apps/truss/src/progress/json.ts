import type { Output } from '../terminal.js';
import type { Reporter } from './events.js';

/** One JSON object a line, for programs. */
export function jsonReporter(err: Output): Reporter {
  let writing = Promise.resolve();
  return {
    tell(event) {
      writing = writing.then(() => err.write(`${JSON.stringify(event)}\n`)).catch(() => {});
    },
    close: () => writing,
  };
}
