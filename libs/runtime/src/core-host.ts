import type { CoreEffect, CoreEnv, CoreEvent } from '#lib/protocol';
import type { LedgerId } from '#lib/ledger';
import type { LedgerWriter } from './writer.js';
import type { OpenView } from './views.js';

interface Core<Event, Effect> {
  begin(): Effect[];
  step(event: Event, view: OpenView['view'], env: CoreEnv): Effect[];
}

export interface HostDeps {
  readonly open: OpenView;
  readonly writer: LedgerWriter;
  readonly env: () => CoreEnv;
  /** After so long without an event the process may have been stopped, and another may have its work: the log is read first. In ms. */
  readonly stallMs: number;
  /** An error from which this process cannot go on, such as a full disk: nothing more is written, nothing is lost. */
  readonly fatal: (error: unknown) => void;
}

type Common = CoreEffect;
type CommonKind = 'read_to_end' | 'write' | 'wake';

/** Runs one core over the real log and the real clock: turns its effects into calls and their answers into its events. */
export class CoreHost<Event extends { readonly kind: string }, Effect extends { readonly kind: string }> {
  private timer: NodeJS.Timeout | null = null;
  private wakeAt = Number.POSITIVE_INFINITY;
  private stopped = false;
  /** When it last was told something. */
  private heardAt: number;
  /** What it was told while it reads to the end of the log; `null` while it does not. */
  private unheard: (Event | CoreEvent)[] | null = null;

  constructor(
    private readonly core: Core<Event | CoreEvent, Effect | Common>,
    private readonly deps: HostDeps,
    /** Does the effects that are not the host's own. */
    private readonly effect: (effect: Exclude<Effect | Common, { readonly kind: CommonKind }>) => void,
  ) {
    this.heardAt = deps.env().now;
  }

  begin(): void {
    this.perform(this.core.begin());
    this.post({ kind: 'changed' });
  }

  post(event: Event | CoreEvent): void {
    if (this.stopped) return;
    const { now } = this.deps.env();
    const stalled = now - this.heardAt > this.deps.stallMs;
    this.heardAt = now;
    if (stalled && this.unheard === null) {
      this.unheard = [];
      this.deps.open.caughtUp().then(() => this.hearAll(), this.fail);
    }
    if (this.unheard === null) this.step(event);
    else this.unheard.push(event);
  }

  private hearAll(): void {
    const events = this.unheard ?? [];
    this.unheard = null;
    for (const event of events) this.step(event);
  }

  private step(event: Event | CoreEvent): void {
    if (this.stopped) return;
    try {
      this.perform(this.core.step(event, this.deps.open.view, this.deps.env()));
    } catch (error) {
      this.fail(error);
    }
  }

  stop(): void {
    this.stopped = true;
    if (this.timer !== null) clearTimeout(this.timer);
  }

  private perform(effects: readonly (Effect | Common)[]): void {
    for (const effect of effects) {
      if (this.stopped) return;
      if (effect.kind === 'read_to_end') {
        this.deps.open.caughtUp().then(() => this.post({ kind: 'caught_up' }), this.fail);
      } else if (effect.kind === 'write') {
        const { ledger, session, drafts } = effect as Extract<Common, { kind: 'write' }>;
        this.write(ledger, session, drafts);
      } else if (effect.kind === 'wake') {
        this.wake((effect as Extract<Common, { kind: 'wake' }>).at);
      } else {
        this.effect(effect as Exclude<Effect | Common, { readonly kind: CommonKind }>);
      }
    }
  }

  private write(ledger: LedgerId, session: string, drafts: Extract<Common, { kind: 'write' }>['drafts']): void {
    this.deps.writer
      .write(this.deps.open.view, ledger, session, drafts)
      .then((answer) => this.post({ kind: 'answered', answer }), this.fail);
  }

  // The longest delay that a timer can hold; an earlier wake is only a needless look.
  private static readonly LONGEST = 2 ** 31 - 1;

  private wake(at: number): void {
    const { now } = this.deps.env();
    if (at >= this.wakeAt || this.stopped) return;
    if (this.timer !== null) clearTimeout(this.timer);
    this.wakeAt = at;
    this.timer = setTimeout(
      () => {
        this.timer = null;
        this.wakeAt = Number.POSITIVE_INFINITY;
        this.post({ kind: 'changed' });
      },
      Math.min(Math.max(at - now, 0), CoreHost.LONGEST),
    );
  }

  private readonly fail = (error: unknown): void => {
    if (this.stopped) return;
    this.stop();
    this.deps.fatal(error);
  };
}
