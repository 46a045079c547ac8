import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
export const BIN = join(ROOT, 'bin', 'truss.js');
export const EXAMPLE = join(ROOT, 'examples', 'repair', 'contract.toml');

if (!existsSync(join(ROOT, 'dist', 'apps', 'truss', 'src', 'main.js'))) {
  throw new Error('these tests run the built command line: run `npm run build` first');
}

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Running {
  readonly process: ChildProcess;
  readonly ended: Promise<Ended>;
  /** Resolves when the text stands in stderr; fails when the process ends without it. */
  shows(text: string | RegExp): Promise<void>;
}

type Env = Readonly<Record<string, string>>;

/** Starts the real command line in a process of its own, without what this one's terminal or CI would change. */
export function start(args: readonly string[], { cwd, env = {} }: { cwd: string; env?: Env }): Running {
  const { NO_COLOR: _a, FORCE_COLOR: _b, TRUSS_DB: _c, ...inherited } = process.env;
  const child = spawn(process.execPath, [BIN, ...args], {
    cwd,
    env: { ...inherited, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  let onText = (): void => {};
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
    onText();
  });
  const ended = new Promise<Ended>((resolve) => {
    child.once('close', (code, signal) => resolve({ code, signal, stdout, stderr }));
  });
  return {
    process: child,
    ended,
    async shows(text) {
      const found = () => (typeof text === 'string' ? stderr.includes(text) : text.test(stderr));
      await new Promise<void>((resolve, reject) => {
        onText = () => {
          if (found()) resolve();
        };
        onText();
        void ended.then(({ code }) => reject(new Error(`ended with ${code} before it showed ${text}:\n${stderr}`)));
      });
    },
  };
}

/** A folder of its own, and the command line in it. */
export function workplace(finished: (then: () => void) => void = onTestFinished): {
  folder: string;
  db: string;
  run(args: readonly string[], env?: Env): Promise<Ended>;
  start(args: readonly string[], env?: Env): Running;
  files(): string[];
  write(name: string, content: string): string;
} {
  const folder = mkdtempSync(join(tmpdir(), 'truss-cli-'));
  finished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  const begin = (args: readonly string[], env?: Env) =>
    start(args, { cwd: folder, ...(env === undefined ? {} : { env }) });
  return {
    folder,
    db: join(folder, 'truss.db'),
    run: (args, env) => begin(args, env).ended,
    start: begin,
    files: () => readdirSync(folder).toSorted(),
    write(name, content) {
      writeFileSync(join(folder, name), content);
      return name;
    },
  };
}

/** A constant answer and one criterion: nothing to run, so it is over at once. */
export function fixedContract(more = ''): string {
  return `id = "fixed"
instructions = "Answer."
[agent]
kind = "fixed"
answer = "answer.txt"
answer_text = "spam"
[[criteria]]
id = "label"
kind = "match"
file = "answer.txt"
equals = "spam"
[budget]
max_steps = 1
${more}`;
}

/** A program that takes so many steps of so many milliseconds, and says what it learned. */
export function agentContract(steps: number, ms: number, more = ''): string {
  return `id = "stepper"
instructions = "Take your steps."
[agent]
kind = "command"
command = ["node", "agent.mjs", "${steps}", "${ms}"]
[[criteria]]
id = "label"
kind = "match"
file = "answer.txt"
equals = "spam"
[budget]
max_steps = 1000
${more}`;
}

export const LEARNING = `
[learning]
extractor = "agent"
gates = ["verdict", "checks"]
scope = "steps"
`;

export const AGENT = `
import { appendFileSync, writeFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
const [steps, ms] = process.argv.slice(2).map(Number);
const say = (event) => appendFileSync(process.env.TRUSS_EVENTS, JSON.stringify(event) + '\\n');
for (let i = 0; i < steps; i++) {
  if (ms > 0) await wait(ms);
  say({ type: 'step', name: 'step ' + i });
}
say({ type: 'usage', input_tokens: 10, output_tokens: 5, cost_usd: 0.001 });
say({ type: 'lesson', title: 'Count first', when: 'Steps are to be taken.', text: 'Counting before the first step saved one.' });
writeFileSync('answer.txt', 'spam');
`;

/** The id of the evaluation that progress names first. */
export function idIn(text: string): string {
  return /ev_[0-9a-f]{32}/.exec(text)?.[0] ?? 'no id';
}
