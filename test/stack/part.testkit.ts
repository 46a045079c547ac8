import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

export interface PartOptions {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** A file that standard output and standard error are added to. */
  readonly log: string;
  /** Whether it serves now; anything it throws means no. */
  readonly answers: () => Promise<boolean>;
  /** Milliseconds within which it must answer after a start. */
  readonly within?: number;
}

/** One server process of a test: started, ended, killed, paused, and started again with the same data and ports. */
export class Part {
  #child: ChildProcess | undefined;
  #ended: Promise<void> = Promise.resolve();

  constructor(private readonly options: PartOptions) {}

  /** The process id, while it runs. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** All that it has printed, over all starts. */
  log(): string {
    return readFileSync(this.options.log, 'utf8');
  }

  /** Resolves once it answers. */
  async start(): Promise<void> {
    const { name, command, args, env, log, answers, within = 90_000 } = this.options;
    if (this.#child !== undefined) throw new Error(`${name} runs already`);
    const out = openSync(log, 'a');
    // Whatever ends the test's process, also a kill, ends the server.
    const child = spawn('setpriv', ['--pdeathsig', 'KILL', command, ...args], {
      env: { ...process.env, ...env },
      stdio: ['ignore', out, out],
    });
    closeSync(out);
    this.#child = child;
    this.#ended = new Promise((resolve) => {
      const end = (): void => {
        this.#child = undefined;
        resolve();
      };
      child.once('exit', end);
      child.once('error', end);
    });
    const deadline = Date.now() + within;
    while (!(await answers().catch(() => false))) {
      const why = this.#child === undefined ? 'ended at its start' : `does not answer after ${within} ms`;
      if (this.#child === undefined || Date.now() > deadline) {
        throw new Error(`${name} ${why}:\n${this.log().slice(-2000)}`);
      }
      await sleep(100);
    }
  }

  /** SIGTERM, also to a paused process, and SIGKILL if it still runs after 20 s. */
  async stop(): Promise<void> {
    const child = this.#child;
    child?.kill('SIGTERM');
    child?.kill('SIGCONT');
    const timer = setTimeout(() => child?.kill('SIGKILL'), 20_000);
    await this.#ended;
    clearTimeout(timer);
  }

  /** kill -9. */
  async kill(): Promise<void> {
    this.#child?.kill('SIGKILL');
    await this.#ended;
  }

  /** SIGSTOP: connections stay open and nothing answers. */
  pause(): void {
    this.#child?.kill('SIGSTOP');
  }

  /** SIGCONT. */
  resume(): void {
    this.#child?.kill('SIGCONT');
  }
}
