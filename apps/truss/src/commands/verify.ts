import { Command, InvalidArgumentError } from 'commander';
import { usageError } from '../exit-codes.js';
import type { VerifyFlags } from '../verify/run.js';
import { contextOf, examples } from './context.js';

export function verifyCommand(): Command {
  const command = new Command('verify')
    .summary('check an evaluation and every run of it')
    .description(
      'Checks every signature, chain and anchor of an evaluation and derives each number of its report again.\n' +
        'Exits 0 when it is valid, 5 when it is not there, and 4 for everything else.',
    )
    .argument('[id]', 'the evaluation')
    .option('--bundle <file>', 'check an exported evaluation instead of one in the database')
    .option('--trust <file>', 'with --bundle: the trust store whose keys you trust')
    .option('--expect-head <hash>', 'a head that was saved earlier must be on its chain', headHash)
    .option('--json', 'print the whole result as JSON')
    .addHelpText(
      'after',
      examples(
        ['truss verify ev_0123456789abcdef0123456789abcdef', ''],
        ['truss verify --bundle eval.jsonl --trust trust.json', 'an exported evaluation'],
        ['truss --db truss.db --verify ev_0123456789abcdef0123456789abcdef', 'the same'],
      ),
    );
  return command.action(async (id: string | undefined, flags: VerifyFlags) => {
    const { runVerify, runVerifyBundle } = await import('../verify/run.js');
    const { bundle } = flags;
    if (bundle !== undefined) process.exitCode = await runVerifyBundle(id, { ...flags, bundle }, contextOf(command));
    else if (id === undefined) throw usageError('say which evaluation: `truss list` shows what there is');
    else process.exitCode = await runVerify(id, flags, contextOf(command));
  });
}

function headHash(text: string): string {
  if (/^[0-9a-f]{64}$/.test(text)) return text;
  throw new InvalidArgumentError('Expected 64 lower-case hex digits, as `truss verify` prints them.');
}
