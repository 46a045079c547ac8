import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { logContract } from '../log-contract.testkit.js';
import {
  type Asked,
  scriptedEndpoint,
  type ScriptedEndpoint,
  type Step,
} from '../../libs/providers/src/scripted-endpoint.testkit.js';

/** Calls that are kept waiting, and how many. */
export interface Hold {
  readonly waiting: number;
  release(): void;
}

/** A model on loopback that counts its calls outside the product. An answer depends on nothing but the prompt. */
export class PaidModel {
  /** Of every answer, in ms. */
  delayMs = 0;
  readonly #holds = new Set<{
    readonly which: (asked: Asked) => boolean;
    readonly release: Promise<void>;
    waiting: number;
  }>();
  private constructor(
    private readonly work: Work,
    private readonly endpoint: () => ScriptedEndpoint,
  ) {}

  /** Its tools leave a line `tool` in the effects of the work, and wait at its gate. */
  static async start(work: Work): Promise<PaidModel> {
    const model: PaidModel = new PaidModel(work, () => endpoint);
    const endpoint = await scriptedEndpoint((asked) => model.#answer(asked));
    return model;
  }

  get url(): string {
    return this.endpoint().url;
  }
  /** Of every call its prompt, whole, in order. */
  get calls(): readonly string[] {
    return this.endpoint().asked.map(({ text }) => text);
  }
  /** How many calls came with this key: executors can have keys of their own. */
  by(key: string): number {
    return this.endpoint().asked.filter(({ headers }) => headers.authorization === `Bearer ${key}`).length;
  }
  /** Connections that wait for their answer now. */
  get inFlight(): number {
    return this.endpoint().load.now;
  }

  /** Keeps calls waiting from now on. */
  hold(which: (asked: Asked) => boolean = () => true): Hold {
    const { promise, resolve } = Promise.withResolvers<void>();
    const hold = { which, release: promise, waiting: 0 };
    this.#holds.add(hold);
    return {
      get waiting() {
        return hold.waiting;
      },
      release: () => {
        this.#holds.delete(hold);
        resolve();
      },
    };
  }

  close(): Promise<void> {
    return this.endpoint().close();
  }

  async #answer(asked: Asked): Promise<Step> {
    if (this.delayMs > 0) await new Promise((resolve) => setTimeout(resolve, this.delayMs));
    for (const hold of this.#holds) {
      if (!hold.which(asked)) continue;
      hold.waiting += 1;
      await hold.release;
    }
    return answerTo(asked, this.work);
  }
}

/** Writes a word with each of two tools, which only comes out right where nothing that was confirmed is done again. */
function answerTo({ body, text }: Asked, { effects, gate }: Work): Step {
  if (isVote({ body })) return { kind: 'reply', text: '{"vote":"approve","reason":"yes"}' };
  if (isExtraction({ body })) {
    const lesson = { title: 'Append', when: 'A log is kept.', when_not: '', text: 'Append to the log.' };
    return { kind: 'reply', text: JSON.stringify({ lessons: [lesson] }) };
  }
  const step = toolResults({ text });
  const word = ['one', ' two'][step];
  if (word === undefined) return { kind: 'reply', text: 'Done.' };
  const wait = `while [ -e ${gate} ]; do sleep 0.05; done`;
  const command = `echo "tool $PWD" >> ${effects}; ${wait}; printf '${word}' >> log.txt`;
  return { kind: 'reply', tool_calls: [{ name: 'run_command', arguments: { command } }] };
}

const shapeOf = ({ body }: Pick<Asked, 'body'>): string => JSON.stringify(body['response_format'] ?? '');
export const isVote = (asked: Pick<Asked, 'body'>): boolean => shapeOf(asked).includes('"vote"');
export const isExtraction = (asked: Pick<Asked, 'body'>): boolean => shapeOf(asked).includes('"lessons"');
/** A call of the agent, after so many tools. */
export const isAgent = (asked: Asked, step?: number): boolean =>
  !isVote(asked) && !isExtraction(asked) && (step === undefined || toolResults(asked) === step);
const toolResults = ({ text }: Pick<Asked, 'text'>): number => text.split('"role":"tool"').length - 1;

/** How often each prompt was paid for beyond `calm`; less than there is a fault of its own, and negative. */
export function paidBeyond(calm: readonly string[], calls: readonly string[]): Map<string, number> {
  const beyond = new Map<string, number>();
  for (const call of calls) beyond.set(call, (beyond.get(call) ?? 0) + 1);
  for (const call of calm) beyond.set(call, (beyond.get(call) ?? 0) - 1);
  for (const [call, count] of beyond) if (count === 0) beyond.delete(call);
  return beyond;
}

/** Contracts in a folder of their own, whose programs leave a line outside the product for every time that they were run. */
export class Work {
  readonly folder = mkdtempSync(join(tmpdir(), 'truss-work-'));
  readonly effects = join(this.folder, 'effects.log');
  readonly gate = join(this.folder, 'gate');

  /** Lines that programs left, those that begin so. */
  done(start: string): string[] {
    const text = readFileSync(this.effects, { encoding: 'utf8', flag: 'a+' });
    return text.split('\n').filter((line) => line.startsWith(start));
  }
  clear(): void {
    writeFileSync(this.effects, '');
  }
  /** Programs wait at the gate from now on. */
  shut(): void {
    writeFileSync(this.gate, '');
  }
  open(): void {
    rmSync(this.gate, { force: true });
  }
  close(): void {
    this.open();
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }

  /** An agent that is a model with a tool, a model that reviews, a model that writes lessons. */
  modelContract(url: string): string {
    return this.#write('model', { 'contract.toml': logContract(url, 'MODEL_KEY') });
  }
  /** An agent that is a program of two steps; each takes so long. */
  programContract(stepMs: number): string {
    const args = JSON.stringify(['node', 'agent.mjs', this.effects, this.gate, String(stepMs)]);
    return this.#write('program', { 'contract.toml': programToml(args), 'agent.mjs': AGENT });
  }

  #write(name: string, files: Readonly<Record<string, string>>): string {
    for (const [path, text] of Object.entries(files)) {
      const file = join(this.folder, name, path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text);
    }
    return join(this.folder, name, 'contract.toml');
  }
}

const programToml = (command: string): string => `
id = "program"
instructions = "Write the word."
[agent]
kind = "command"
command = ${command}
[[criteria]]
id = "word"
kind = "match"
file = "answer.txt"
equals = "word"
[budget]
max_steps = 10
timeout = "120s"
[learning]
extractor = "agent"
gates = ["verdict"]
`;

const AGENT = `
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
const [effects, gate, stepMs] = process.argv.slice(2);
const context = JSON.parse(readFileSync(process.env.TRUSS_CONTEXT, 'utf8'));
const tell = (event) => appendFileSync(process.env.TRUSS_EVENTS, JSON.stringify(event) + '\\n');
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
appendFileSync(effects, 'agent ' + context.run + '\\n');
tell({ type: 'step', name: 'think' });
await pause(Number(stepMs));
while (existsSync(gate)) await pause(50);
tell({ type: 'usage', input_tokens: 100 - 10 * context.lessons.length, output_tokens: 7, cost_usd: 0.000001 });
for (const lesson of context.lessons) tell({ type: 'cited', lesson: lesson.id });
tell({ type: 'step', name: 'write' });
await pause(Number(stepMs));
tell({ type: 'lesson', title: 'Words of seed ' + (context.seed % 97), when: 'A word is asked for.', text: 'The word came after ' + context.lessons.length + ' lessons.' });
writeFileSync('answer.txt', 'word\\n');
appendFileSync(effects, 'over ' + context.run + '\\n');
`;
