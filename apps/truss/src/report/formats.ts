import { InvalidArgumentError } from 'commander';
import { usageError } from '../exit-codes.js';

const LATER: ReadonlySet<string> = new Set(['jsonl', 'csv', 'html', 'junit']);

/** @throws CliError for a format that a later release brings */
export function reportFormat(text: string): 'json' | 'md' {
  if (text === 'json' || text === 'md') return text;
  if (LATER.has(text)) throw usageError(`--format ${text} is not in this version: use json or md`);
  throw new InvalidArgumentError('Expected json or md.');
}
