import { Command, Option } from 'commander';
import { cancelCommand } from './commands/cancel.js';
import { contractsCommand } from './commands/contracts.js';
import { examples, type GlobalOptions, contextOf, theTerminal } from './commands/context.js';
import { deployCommand } from './commands/deploy.js';
import { deadLetterCommand } from './commands/dead-letter.js';
import { doctorCommand } from './commands/doctor.js';
import { evalCommand } from './commands/eval.js';
import { exportCommand } from './commands/export.js';
import { initCommand } from './commands/init.js';
import { keysCommand } from './commands/keys.js';
import { ledgerCommand } from './commands/ledger.js';
import { lessonsCommand } from './commands/lessons.js';
import { listCommand } from './commands/list.js';
import { replayCommand } from './commands/replay.js';
import { reportCommand } from './commands/report.js';
import { requestCommand } from './commands/request.js';
import { serveCommand } from './commands/serve.js';
import { verifyCommand } from './commands/verify.js';
import { viewsCommand } from './commands/views.js';
import { clusterOptions } from './cluster.js';
import { EXIT, usageError } from './exit-codes.js';
import { SOFTWARE } from './software.js';

/** The whole command line. Importing it loads nothing but what `--help` needs. */
export function createProgram(): Command {
  const program = new Command('truss')
    .description(
      'Does the memory of your agent help, and what does it cost? Signed evaluations that anybody can check.',
    )
    .version(SOFTWARE.truss, '-V, --version', 'say which version this is')
    .helpOption('-h, --help', 'say how to use it')
    .addOption(new Option('--db <file>', 'the database').env('TRUSS_DB').default('truss.db'))
    .option('--debug', 'show where an error came from')
    .option('--verify <id>', 'the same as `truss verify <id>`')
    .addHelpText(
      'after',
      examples(
        ['truss eval --contract examples/repair/contract.toml --repeats 3', 'evaluate'],
        ['truss --db truss.db --verify ev_0123456789abcdef0123456789abcdef', 'check every number of it'],
      ),
    );
  for (const option of clusterOptions()) program.addOption(option);
  const commands = [
    initCommand(),
    evalCommand(),
    verifyCommand(),
    replayCommand(),
    reportCommand(),
    listCommand(),
    ledgerCommand(),
    cancelCommand(),
    exportCommand(),
    lessonsCommand(),
    keysCommand(),
    requestCommand(),
    contractsCommand(),
    deadLetterCommand(),
    serveCommand(),
    viewsCommand(),
    deployCommand(),
    doctorCommand(),
  ];
  for (const command of commands) program.addCommand(configured(command));
  program.allowExcessArguments().action(async ({ verify }: GlobalOptions) => {
    const [unknown] = program.args;
    if (unknown !== undefined) throw usageError(`there is no command ${unknown}: truss --help shows what there is`);
    if (verify === undefined) {
      await theTerminal().err.write(program.helpInformation());
      process.exitCode = EXIT.usage;
      return;
    }
    const { runVerify } = await import('./verify/run.js');
    process.exitCode = await runVerify(verify, {}, contextOf(program));
  });
  return configured(program);
}

function configured(command: Command): Command {
  command
    .helpCommand(false)
    .exitOverride()
    .configureHelp({ showGlobalOptions: true, sortSubcommands: false })
    .configureOutput({ writeErr: () => {} });
  for (const child of command.commands) configured(child);
  return command;
}
