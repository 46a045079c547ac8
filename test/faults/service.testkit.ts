import { type ChildProcess, spawn } from 'node:child_process';
import type { ServiceRole } from '#lib/key-store';
import { BIN } from '../../apps/truss/src/cli.testkit.js';

type Env = Readonly<Record<string, string | undefined>>;
export type Line = Readonly<Record<string, unknown>>;
export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

const READY_MS = 60_000;
const LOOK_MS = 100;

/**
 * With this in its environment a process is killed the moment that it was told that an entry of the type is written: before it does anything more.
 * It says so first, in a line at level `debug`.
 */
export function dyingAfter(type: string): Readonly<Record<string, string>> {
  return signalledAfter(type, 'SIGKILL');
}
/** As `dyingAfter`, for a process that is frozen once at that moment, until it is thawed. */
export function freezingAfter(type: string): Readonly<Record<string, string>> {
  return signalledAfter(type, 'SIGSTOP');
}
function signalledAfter(type: string, signal: NodeJS.Signals): Readonly<Record<string, string>> {
  const code = `import fs from 'node:fs';
    const write = fs.writeSync;
    fs.writeSync = (...all) => {
      const done = write(...all);
      if (/"types":\\[[^\\]]*"${type}"/.test(String(all[1]))) {
        fs.writeSync = write;
        process.kill(process.pid, '${signal}');
      }
      return done;
    };`;
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}` };
}

/** One `truss serve` in a process of its own. All lines since its first start are kept. */
export class Service {
  #child: ChildProcess;
  #ended: Promise<Ended>;
  #url: Promise<string>;
  #stopped = false;
  #out = '';
  #err = '';
  /** Where in the output the process that runs now began. */
  #from = 0;

  constructor(
    readonly roles: readonly ServiceRole[],
    private readonly env: Env,
  ) {
    [this.#child, this.#ended, this.#url] = this.#start();
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }
  /** Whether the process is there, stopped or not. */
  get alive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** What it logged, as JSON; `message` picks. */
  lines(message?: string): readonly Line[] {
    const lines = this.#out.split('\n').flatMap((line): Line[] => (isWhole(line) ? [JSON.parse(line) as Line] : []));
    return message === undefined ? lines : lines.filter(({ msg }) => msg === message);
  }

  /** Resolves with where its health and metrics are. */
  url(): Promise<string> {
    return this.#url;
  }

  /** Resolves when `/health/ready` says so. */
  async ready(): Promise<this> {
    const until = Date.now() + READY_MS;
    for (;;) {
      const answer = await fetch(`${await this.#url}/health/ready`).catch(() => null);
      if (answer?.status === 200) return this;
      if (!this.alive || Date.now() > until)
        throw new Error(`${this.name} is not ready: ${(await answer?.text()) ?? 'no answer'}\n${this.output}`);
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
  }

  /** The sum of a metric over its labels; 0 where it has no line. */
  async metric(name: string, labels = ''): Promise<number> {
    const text = await (await fetch(`${await this.#url}/metrics`)).text();
    const lines = text.split('\n').filter((line) => new RegExp(`^${name}[{ ]`).test(line) && line.includes(labels));
    return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
  }

  /** SIGKILL and SIGTERM resolve when the process is gone, with how it ended; SIGSTOP and SIGCONT at once. */
  async kill(signal: 'SIGKILL' | 'SIGTERM'): Promise<Ended & { readonly ms: number }> {
    const began = performance.now();
    this.#child.kill(signal);
    return { ...(await this.#ended), ms: performance.now() - began };
  }

  /** Holds the process as it is, as a long pause of its machine would. */
  freeze(): void {
    this.#stopped = true;
    this.#child.kill('SIGSTOP');
  }
  thaw(): void {
    this.#stopped = false;
    this.#child.kill('SIGCONT');
  }

  /** Ends the process if it runs, and starts another with the same configuration. Resolves when it is ready. */
  async restart(): Promise<this> {
    if (this.alive) await this.kill('SIGKILL');
    [this.#child, this.#ended, this.#url] = this.#start();
    return this.ready();
  }

  /** Resolves when it is gone, whoever ended it. */
  ended(): Promise<Ended> {
    return this.#ended;
  }

  async close(): Promise<void> {
    if (this.#stopped) this.thaw();
    if (this.alive) await this.kill('SIGKILL');
  }

  get name(): string {
    return `${this.roles.join('+')} ${this.pid}`;
  }
  get output(): string {
    return this.#out + this.#err;
  }

  #start(): [ChildProcess, Promise<Ended>, Promise<string>] {
    this.#from = this.#out.length;
    const child = spawn(process.execPath, [BIN, 'serve', ...this.roles], {
      env: { ...process.env, ...this.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const ended = new Promise<Ended>((resolve) => {
      // Not `close`: programs of a killed executor hold its outputs open.
      child.once('exit', (code, signal) => resolve({ code, signal }));
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => (this.#err += text));
    const url = new Promise<string>((resolve, reject) => {
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        this.#out += text;
        const said = /"url":"([^"]+)".*"msg":"serving"/.exec(this.#out.slice(this.#from));
        if (said?.[1] !== undefined) resolve(said[1]);
      });
      void ended.then(({ code, signal }) =>
        reject(new Error(`truss serve ${this.roles.join(' ')} ended with ${code ?? signal}: ${this.output}`)),
      );
    });
    url.catch(() => {});
    return [child, ended, url];
  }
}

function isWhole(line: string): boolean {
  return line.startsWith('{') && line.endsWith('}');
}
