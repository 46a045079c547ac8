import {
  type DefectCode,
  type EntryHash,
  type KeyId,
  type LedgerId,
  type OpenedEntry,
  type SignedEntry,
} from '#lib/ledger';

/** A verified entry and where its record stood. Its payload bytes are gone: what they say is in the other fields. */
export interface Stored extends OpenedEntry {
  readonly position: number | string;
}

/** What a trusted key signed that is no entry of this format. */
export interface Defect {
  readonly code: DefectCode;
  readonly reason: string;
  readonly key: KeyId;
  readonly hash: EntryHash;
  readonly position: number | string;
  /** What it says of its place, as far as that can be read. */
  readonly claim: Claim;
}

export interface Claim {
  readonly ledger: LedgerId | null;
  readonly seq: number | null;
}

const NO_ENVELOPE: SignedEntry = {
  payloadType: '',
  payload: new Uint8Array(0),
  keyid: '' as KeyId,
  signature: new Uint8Array(0),
};

/** The verified entries of one evaluation by hash and by ledger, each once, whatever the order they came in. */
export class EntryIndex {
  readonly #byHash = new Map<EntryHash, Stored>();
  readonly #byLedger = new Map<LedgerId, Stored[]>();
  readonly #defects = new Map<EntryHash, Defect>();

  /** False where the same bytes are here already. */
  add(entry: OpenedEntry, position: number | string): boolean {
    if (this.#byHash.has(entry.hash)) return false;
    const stored: Stored = { ...entry, envelope: NO_ENVELOPE, position };
    this.#byHash.set(entry.hash, stored);
    const ledger = this.#byLedger.get(entry.ledger);
    if (ledger === undefined) this.#byLedger.set(entry.ledger, [stored]);
    else ledger.push(stored);
    return true;
  }

  addDefect(defect: Defect): void {
    this.#defects.set(defect.hash, defect);
  }

  get(hash: EntryHash): Stored | undefined {
    return this.#byHash.get(hash);
  }

  defect(hash: EntryHash): Defect | undefined {
    return this.#defects.get(hash);
  }

  get defects(): Iterable<Defect> {
    return this.#defects.values();
  }

  ledger(id: LedgerId): readonly Stored[] {
    return this.#byLedger.get(id) ?? [];
  }

  get ledgers(): Iterable<LedgerId> {
    return this.#byLedger.keys();
  }

  get size(): number {
    return this.#byHash.size;
  }
}
