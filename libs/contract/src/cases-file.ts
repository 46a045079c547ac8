import { errorAt } from './errors.js';
import { readText } from './files.js';
import { jsonNode, type Node } from './toml.js';

const maxBytes = 64 * 1024 * 1024;

/** The rows of a JSONL file of cases, each standing at its line. @throws ContractError `unreadable`, `too_large`, `syntax` */
export async function readCasesFile(path: string, shown: string): Promise<Node[]> {
  const lines = (await readText(path, shown, maxBytes)).split('\n');
  return lines.flatMap((line, index) => {
    if (line.trim() === '') return [];
    const at = { file: shown, line: index + 1, column: 1 };
    try {
      return [jsonNode(JSON.parse(line), at)];
    } catch (cause) {
      const position = cause instanceof Error ? /at position (\d+)/.exec(cause.message)?.[1] : undefined;
      const column = position === undefined ? 1 : Number(position) + 1;
      throw errorAt(
        'syntax',
        { ...at, column },
        'bad JSON',
        'write one case a line, such as {"id": "c1", "inputs": {}}',
        cause,
      );
    }
  });
}
