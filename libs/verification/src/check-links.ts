import {
  type BodyOf,
  type EntryHash,
  type EntryType,
  type LedgerKind,
  mayWrite,
  sameWriter,
  type Writer,
  writerOf,
} from '#lib/ledger';
import type { Context } from './context.js';
import type { Stored } from './entry-index.js';

/**
 * Step 3, entry by entry along a chain: the role may write the type into this kind of ledger, the writer is the current one or displaces it
 * by name, the first entry is the first and nothing follows the last. Time is a claim, so going back is a warning.
 */
export class LinkCheck {
  #writer: Writer | null = null;
  #previous: Stored | null = null;

  constructor(
    private readonly context: Context,
    private readonly kind: LedgerKind,
    private readonly origin: EntryHash,
  ) {}

  /** False where the entry breaks a rule; a finding says which. */
  next(entry: Stored): boolean {
    const fault = this.#faultOf(entry);
    if (fault !== null) this.context.findings.error(fault.code, entry, fault.message);
    this.#checkTime(entry);
    this.context.checked.links += 1;
    if (this.#writer === null || entry.type === 'writer_changed') this.#writer = writerOf(entry);
    this.#previous = entry;
    return fault === null;
  }

  #faultOf(entry: Stored): Fault | null {
    const first: EntryType = this.kind === 'evaluation' ? 'eval_started' : 'run_started';
    if (!mayWrite(entry.role, this.kind, entry.type)) {
      return {
        code: 'role_not_permitted',
        message: `a key of role ${entry.role} may not write ${entry.type} into this ledger`,
      };
    }
    if (this.#previous === null) {
      if (entry.prev !== this.origin) return this.#wrongOrigin();
      return entry.type === first
        ? null
        : { code: 'role_not_permitted', message: `a ledger begins with ${first}, not with ${entry.type}` };
    }
    const after = faultAfter(this.#previous.type, entry.type);
    if (after !== null) return after;
    if (entry.type === first) return { code: 'role_not_permitted', message: `${first} stands only at the beginning` };
    return entry.type === 'eval_report' ? null : this.#writerFault(entry);
  }

  #wrongOrigin(): Fault {
    return this.kind === 'evaluation'
      ? { code: 'ledger_mismatch', message: 'the first entry does not begin the ledger of this evaluation' }
      : { code: 'parent_contradicted', message: 'the run does not rest on its child_requested in the evaluation' };
  }

  #writerFault(entry: Stored): Fault | null {
    const current = this.#writer as Writer;
    if (entry.type !== 'writer_changed') {
      return sameWriter(current, entry)
        ? null
        : { code: 'role_not_permitted', message: 'it is not by the current writer of the ledger' };
    }
    const { displaced } = entry.body as BodyOf<'writer_changed'>;
    if (!sameWriter(current, displaced))
      return { code: 'role_not_permitted', message: 'it displaces a writer that is not the current one' };
    return sameWriter(displaced, entry) ? { code: 'role_not_permitted', message: 'a writer displaces itself' } : null;
  }

  #checkTime(entry: Stored): void {
    if (this.#previous !== null && entry.at < this.#previous.at) {
      this.context.findings.warning(
        'time_not_monotonic',
        entry,
        `it says ${entry.at}, the entry before it ${this.#previous.at}`,
      );
    }
  }
}

interface Fault {
  readonly code: 'role_not_permitted' | 'entry_after_close' | 'parent_contradicted' | 'ledger_mismatch';
  readonly message: string;
}

/** Whether the type may not come right after the other: nothing follows an end. */
export function faultAfter(previous: EntryType, type: EntryType): Fault | null {
  if (type === 'eval_report' && previous !== 'eval_closed') {
    return { code: 'entry_after_close', message: 'a report stands only right after eval_closed' };
  }
  if (previous === 'eval_closed' && type === 'eval_report') return null;
  if (previous === 'eval_closed' || previous === 'eval_report' || previous === 'run_sealed') {
    return { code: 'entry_after_close', message: `nothing may follow ${previous}, and ${type} does` };
  }
  return null;
}
