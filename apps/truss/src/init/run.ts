import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { loadContract } from '#lib/contract';
import { reportSchema } from '#lib/evaluation';
import type { Context } from '../commands/context.js';
import { runEval } from '../evaluate/run.js';
import { EXIT, type ExitCode, usageError } from '../exit-codes.js';
import { plural } from '../format.js';
import { filePlace } from '../place.js';
import type { Output, Terminal } from '../terminal.js';
import { CODING_AGENT } from './coding-agent.js';
import { COMMAND } from './command.js';
import { ENDPOINT } from './endpoint.js';
import type { StartFiles } from './task.js';

export type StartKind = 'command' | 'endpoint' | 'coding-agent';

const STARTS: Readonly<Record<StartKind, StartFiles>> = {
  command: COMMAND,
  endpoint: ENDPOINT,
  'coding-agent': CODING_AGENT,
};

/** What is to be done before the first evaluation. */
const FIRST: Readonly<Record<StartKind, string>> = {
  command: 'It runs as it is. To evaluate your own agent, put it into agent.mjs, and your task into contract.toml.',
  endpoint:
    'Say in contract.toml, under [providers.main], where your model is served, what it is called, and which variable holds its key.',
  'coding-agent': 'See in agent.mjs which command line is started, and which file of yours logs it in.',
};

/** `truss init`: writes a contract with all that it needs, and checks that it loads; where nothing is paid for, also that it runs. */
export async function runInit(folder: string, kind: StartKind, { terminal: { out } }: Context): Promise<ExitCode> {
  const files = STARTS[kind];
  await refuseToOverwrite(folder, Object.keys(files));
  await writeAll(folder, files);
  const contract = join(folder, 'contract.toml');
  await loadContract(contract);
  const checked =
    kind === 'command' ? `one pair of runs: ${await runOnePair(contract)}` : 'it loads; nothing was called';
  const lines = [
    `wrote ${plural(Object.keys(files).length, 'file')} to ${folder === '.' ? 'this folder' : folder}: ${tops(files).join(', ')}`,
    `checked: ${checked}`,
    '',
    FIRST[kind],
    'Then:',
    `  truss eval --contract ${shown(contract)}`,
  ];
  await out.write(`${lines.join('\n')}\n`);
  return EXIT.done;
}

async function refuseToOverwrite(folder: string, files: readonly string[]): Promise<void> {
  const there = await stat(folder).catch(() => null);
  if (there !== null && !there.isDirectory())
    throw usageError(`${folder} is no folder: name another, or one to be made`);
  // A file in a folder that is a file is there, too.
  for (const file of tops(Object.fromEntries(files.map((name) => [name, ''])))) {
    if ((await stat(join(folder, file)).catch(() => null)) === null) continue;
    throw usageError(
      `${join(folder, file)} is there already, and nothing is overwritten: name another folder, as in \`truss init my-eval\``,
    );
  }
}

async function writeAll(folder: string, files: StartFiles): Promise<void> {
  try {
    for (const [name, text] of Object.entries(files)) {
      const path = join(folder, name);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, text, { flag: 'wx' });
    }
  } catch (cause) {
    const why = cause instanceof Error && 'code' in cause ? String(cause.code) : String(cause);
    throw usageError(`cannot write to ${folder} (${why}): name a folder that can be written`, cause);
  }
}

/** The verdicts of one pair of runs, with a database of its own that is gone afterwards. */
async function runOnePair(contract: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'truss-init-'));
  const db = join(folder, 'truss.db');
  try {
    let printed = '';
    const keep = (text: string): void => void (printed += text);
    const terminal: Terminal = { out: silent(keep), err: silent(() => {}) };
    await runEval({ contract, repeats: 1, progress: 'plain' }, { db, cluster: null, place: filePlace(db), terminal });
    const { arms } = reportSchema.parse(JSON.parse(printed));
    return arms.map(({ arm, children: [child] }) => `${arm} ${child?.verdict ?? 'did not run'}`).join(', ');
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

function silent(told: (text: string) => void): Output {
  return { isTerminal: false, columns: () => 80, paint: (_, text) => text, write: async (text) => told(text) };
}

/** The files and folders that stand directly in the folder, each once. */
function tops(files: StartFiles): string[] {
  return [...new Set(Object.keys(files).map((name) => name.split('/')[0] ?? name))];
}

function shown(path: string): string {
  const here = relative('', path);
  return here === '' || here.startsWith('..') ? path : here;
}
