import { Command } from 'commander';
import { contextOf, examples } from './context.js';

export function lessonsCommand(): Command {
  const command = new Command('lessons')
    .summary('show or export what an evaluation learned')
    .description('The lessons that the runs of an evaluation promoted, and that its anchors prove.')
    .addHelpText('after', examples(['truss lessons list ev_0123456789abcdef0123456789abcdef', '']));
  const list = new Command('list')
    .description('Shows the promoted lessons of an evaluation, and how often each was offered, rendered and cited.')
    .argument('<id>', 'the evaluation')
    .option('--json', 'one JSON object a line')
    .addHelpText('after', examples(['truss lessons list ev_0123456789abcdef0123456789abcdef', '']));
  list.action(async (id: string, flags: { json?: boolean }) => {
    const { listLessons } = await import('../lessons.js');
    process.exitCode = await listLessons(id, flags, contextOf(list));
  });
  const bundle = new Command('export')
    .description(
      'Writes the promoted lessons with their proofs, one JSON line each: a starting memory for `truss eval --lessons`.',
    )
    .argument('<id>', 'the evaluation')
    .option('-o, --output <file>', 'write to this file (absent: to stdout)')
    .addHelpText(
      'after',
      examples(
        ['truss lessons export ev_0123456789abcdef0123456789abcdef -o lessons.jsonl', ''],
        ['truss eval --contract my.toml --repeats 3 --lessons lessons.jsonl', ''],
      ),
    );
  bundle.action(async (id: string, flags: { output?: string }) => {
    const { exportLessons } = await import('../lessons.js');
    process.exitCode = await exportLessons(id, flags, contextOf(bundle));
  });
  return command.addCommand(list).addCommand(bundle);
}
