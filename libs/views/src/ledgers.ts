import {
  type Chain,
  chainOf,
  type Entry,
  fromHex,
  headOf,
  type Joining,
  type LedgerId,
  type LiveChains,
  merkleRoot,
  refOf,
  toHex,
} from '#lib/ledger';
import type { LedgerRow } from './rows.js';

/** The verification status of every ledger of one evaluation, as its records come by. */
export class LedgerRows {
  readonly #rows = new Map<LedgerId, LedgerRow>();

  get(ledger: LedgerId): LedgerRow | undefined {
    return this.#rows.get(ledger);
  }

  keys(): Iterable<LedgerId> {
    return this.#rows.keys();
  }

  /** The ledgers whose rows changed. */
  observe(entry: Entry, joining: Joining, live: LiveChains): LedgerId[] {
    const row = this.#row(entry.ledger);
    if (joining === 'duplicate') row.duplicates += 1;
    else if (joining === 'superseded') row.superseded += 1;
    else return [entry.ledger, ...this.#joined(row, entry, live)];
    return [entry.ledger];
  }

  foreign(evaluation: LedgerId): void {
    this.#row(evaluation).foreign += 1;
  }

  #row(ledger: LedgerId): LedgerRow {
    let row = this.#rows.get(ledger);
    if (row === undefined) {
      row = {
        ledger,
        state: 'open',
        entries: 0,
        head_hash: null,
        root_hash: null,
        anchor: null,
        verdict: null,
        verdict_ref: null,
        writers_changed: 0,
        duplicates: 0,
        superseded: 0,
        foreign: 0,
        last_at: null,
      };
      this.#rows.set(ledger, row);
    }
    return row;
  }

  #joined(row: LedgerRow, entry: Entry, live: LiveChains): LedgerId[] {
    const chain = chainOf(live, entry.ledger);
    if (chain !== null)
      Object.assign(row, { entries: chain.hashes.length, head_hash: headOf(chain), last_at: entry.at });
    switch (entry.type) {
      case 'run_started':
        row.state = 'open';
        return [];
      case 'writer_changed':
        row.writers_changed += 1;
        return [];
      case 'child_requested':
        this.#row(entry.body.child_run_id).state = 'requested';
        return [entry.body.child_run_id];
      case 'run_sealed': {
        const { verdict, verdict_ref } = entry.body;
        Object.assign(row, { state: 'sealed', root_hash: rootOf(chain), verdict, verdict_ref });
        return [];
      }
      case 'child_anchor': {
        const { child_run_id, entries, head_hash, root_hash, verdict, verdict_ref } = entry.body;
        const child = this.#row(child_run_id);
        const anchored = chainOf(live, child_run_id);
        const root = rootOf(anchored);
        const agrees = anchored?.hashes.length === entries && headOf(anchored) === head_hash && root === root_hash;
        const anchor = { ref: refOf(entry), agrees };
        Object.assign(child, { state: 'anchored', root_hash: root, anchor, verdict, verdict_ref });
        return [child_run_id];
      }
      case 'eval_closed':
        Object.assign(row, { state: 'closed', root_hash: rootOf(chain) });
        return [];
      case 'eval_report':
        Object.assign(row, { state: 'reported', root_hash: rootOf(chain) });
        return [];
      default:
        return [];
    }
  }
}

function rootOf(chain: Chain | null): string | null {
  return chain === null ? null : toHex(merkleRoot(chain.hashes.map((hash) => fromHex(hash))));
}
