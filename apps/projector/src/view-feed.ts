import type { OpenView } from '#lib/runtime';
import { type EvaluationFold, type ViewWriter, ViewsError } from '#lib/views';

interface FeedPorts {
  readonly views: ViewWriter;
  /** A whole number in [0, bound). */
  readonly below: (bound: number) => number;
  readonly fatal: (error: unknown) => void;
}

/** Entries come in bursts: so many milliseconds of them are one write. */
const PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;

/** Keeps the views of one evaluation up to date. While they cannot be reached it goes on trying: nothing else waits for them. */
export class ViewFeed {
  private readonly unsubscribe: readonly (() => void)[];
  private timer: NodeJS.Timeout | null = null;
  private writing = false;
  private stopped = false;
  private failures = 0;
  private readonly waiting: ((written: boolean) => void)[] = [];

  constructor(
    private readonly open: OpenView,
    private readonly rows: EvaluationFold,
    private readonly ports: FeedPorts,
  ) {
    const wake = () => this.wake(PAUSE_MS);
    this.unsubscribe = [open.subscribe(wake), open.subscribeForeign(wake)];
    this.wake(0);
  }

  /** True when all that stands in the log is in the views; false when the feed was stopped before. */
  async finish(): Promise<boolean> {
    await this.open.caughtUp();
    if (this.stopped) return false;
    if (!this.rows.dirty) return true;
    const written = new Promise<boolean>((resolve) => this.waiting.push(resolve));
    if (this.failures === 0) {
      if (this.timer !== null) clearTimeout(this.timer);
      this.timer = null;
      this.wake(0);
    }
    return written;
  }

  stop(): void {
    this.stopped = true;
    for (const unsubscribe of this.unsubscribe) unsubscribe();
    if (this.timer !== null) clearTimeout(this.timer);
    this.tell(false);
  }

  private wake(delayMs: number): void {
    if (this.stopped || this.writing || this.timer !== null || !this.rows.dirty) return;
    this.timer = setTimeout(() => {
      this.timer = null;
      void this.write();
    }, delayMs);
  }

  private async write(): Promise<void> {
    this.writing = true;
    try {
      const change = this.rows.change();
      if ((await this.ports.views.write(change)) === 'gap') {
        const whole = this.rows.whole();
        await this.ports.views.write(whole);
        this.rows.written(whole);
      } else this.rows.written(change);
      this.failures = 0;
    } catch (error) {
      if (!(error instanceof ViewsError && error.retryable)) return this.ports.fatal(error);
      this.failures += 1;
    } finally {
      this.writing = false;
    }
    if (!this.rows.dirty) this.tell(true);
    else if (this.failures > 0) this.wake(this.patience());
    else this.wake(this.waiting.length > 0 ? 0 : PAUSE_MS);
  }

  private patience(): number {
    const longest = Math.min(PAUSE_MS * 2 ** Math.min(this.failures, 10), LONGEST_PAUSE_MS);
    return longest / 2 + this.ports.below(Math.ceil(longest / 2));
  }

  private tell(written: boolean): void {
    for (const resolve of this.waiting.splice(0)) resolve(written);
  }
}
