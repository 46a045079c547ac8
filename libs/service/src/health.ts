/** Resolves with `null` when all is well, else with the reason why not. */
export type Check = () => Promise<string | null> | string | null;

export interface HealthAnswer {
  readonly ok: boolean;
  /** By the name of the check that says no. */
  readonly reasons: Readonly<Record<string, string>>;
}

const DEADLINE_MS = 2_000;

/** What a process says of itself. Live until something is fatal; ready while every check is well and it is not stopping. */
export class Health {
  private fault: string | null = null;
  private phase: 'starting' | 'serving' | 'stopping' = 'starting';

  constructor(private readonly checks: Readonly<Record<string, Check>>) {}

  serving(): void {
    if (this.phase === 'starting') this.phase = 'serving';
  }

  stopping(): void {
    this.phase = 'stopping';
  }

  failed(reason: string): void {
    this.fault ??= reason;
  }

  live(): HealthAnswer {
    return this.fault === null ? { ok: true, reasons: {} } : { ok: false, reasons: { process: this.fault } };
  }

  async ready(): Promise<HealthAnswer> {
    const { ok, reasons } = this.live();
    if (!ok) return { ok, reasons };
    if (this.phase !== 'serving') return { ok: false, reasons: { process: `is ${this.phase}` } };
    const asked = Object.entries(this.checks).map(async ([name, check]) => [name, await answerOf(check)] as const);
    const wrong = (await Promise.all(asked)).flatMap(([name, reason]) => (reason === null ? [] : [[name, reason]]));
    return { ok: wrong.length === 0, reasons: Object.fromEntries(wrong) as Record<string, string> };
  }
}

async function answerOf(check: Check): Promise<string | null> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve(`did not answer within ${DEADLINE_MS / 1000} s`), DEADLINE_MS);
  });
  try {
    return await Promise.race([Promise.resolve().then(check), late]);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    clearTimeout(timer);
  }
}
