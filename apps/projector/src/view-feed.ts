import type { EventLog, Following } from '#lib/event-log';
import type { EvalRunId } from '#lib/ledger';
import { EvaluationFold, type ViewWriter, ViewsError } from '#lib/views';

interface FeedPorts {
  readonly log: EventLog;
  readonly views: ViewWriter;
  /** A whole number in [0, bound). */
  readonly below: (bound: number) => number;
  readonly fatal: (error: unknown) => void;
}

/** Entries come in bursts: so many milliseconds of them are one write. */
const PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;

/** Follows one evaluation and keeps its views up to date. While they cannot be reached it goes on trying: nothing else waits for them. */
export class ViewFeed {
  private readonly fold: EvaluationFold;
  private following: Following | null = null;
  private timer: NodeJS.Timeout | null = null;
  private writing = false;
  private stopped = false;
  private failures = 0;
  private readonly waiting: ((written: boolean) => void)[] = [];

  private constructor(
    evaluation: EvalRunId,
    private readonly ports: FeedPorts,
  ) {
    this.fold = new EvaluationFold(evaluation);
  }

  /** Resolves when it has read all that stands in the log. */
  static async open(evaluation: EvalRunId, ports: FeedPorts): Promise<ViewFeed> {
    const feed = new ViewFeed(evaluation, ports);
    feed.following = await ports.log.follow(evaluation, {
      entry: (entry, joining, live, position) => {
        feed.fold.entry(entry, joining, live, position);
        feed.wake(PAUSE_MS);
      },
      foreign: (position) => {
        feed.fold.foreign(position);
        feed.wake(PAUSE_MS);
      },
    });
    feed.wake(0);
    return feed;
  }

  /** True when all that stands in the log is in the views; false when the feed was stopped before. */
  async finish(): Promise<boolean> {
    await this.following?.caughtUp();
    if (this.stopped) return false;
    if (!this.fold.dirty) return true;
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
    this.following?.stop();
    if (this.timer !== null) clearTimeout(this.timer);
    this.tell(false);
  }

  // Nothing is written while the beginning is read: the first write has it all.
  private wake(delayMs: number): void {
    if (this.stopped || this.writing || this.timer !== null || this.following === null || !this.fold.dirty) return;
    this.timer = setTimeout(() => {
      this.timer = null;
      void this.write();
    }, delayMs);
  }

  private async write(): Promise<void> {
    this.writing = true;
    try {
      const change = this.fold.change();
      if ((await this.ports.views.write(change)) === 'gap') {
        const whole = this.fold.whole();
        await this.ports.views.write(whole);
        this.fold.written(whole);
      } else this.fold.written(change);
      this.failures = 0;
    } catch (error) {
      if (!(error instanceof ViewsError && error.retryable)) return this.ports.fatal(error);
      this.failures += 1;
    } finally {
      this.writing = false;
    }
    if (!this.fold.dirty) this.tell(true);
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
