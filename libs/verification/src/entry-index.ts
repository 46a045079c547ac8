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
  readonly #settled = new Set<LedgerId>();
  #settledEntries = 0;
  #disturbed = false;

  /** The entry as it is kept; `null` where the same bytes are here already. */
  add(entry: OpenedEntry, position: number | string): Stored | null {
    if (this.#byHash.has(entry.hash)) return null;
    const stored: Stored = { ...entry, envelope: NO_ENVELOPE, position };
    if (this.#settled.has(entry.ledger)) this.#disturbed = true;
    this.#byHash.set(entry.hash, stored);
    const ledger = this.#byLedger.get(entry.ledger);
    if (ledger === undefined) this.#byLedger.set(entry.ledger, [stored]);
    else ledger.push(stored);
    return stored;
  }

  /** Forgets the entries of a ledger of which all was checked. */
  settle(id: LedgerId): void {
    const entries = this.#byLedger.get(id);
    if (entries === undefined) return;
    for (const { hash } of entries) this.#byHash.delete(hash);
    this.#byLedger.delete(id);
    this.#settled.add(id);
    this.#settledEntries += entries.length;
  }

  /** Forgets one entry; whoever does must notice if it comes again. */
  forget({ hash, ledger }: Stored): void {
    const entries = this.#byLedger.get(ledger);
    const at = entries?.findIndex((entry) => entry.hash === hash) ?? -1;
    if (entries === undefined || at === -1) return;
    entries.splice(at, 1);
    this.#byHash.delete(hash);
    this.#settledEntries += 1;
  }

  get anySettled(): boolean {
    return this.#settledEntries > 0;
  }

  /** Whether an entry came for a ledger that was settled: a copy or a fault, which cannot be told apart any more. */
  get disturbed(): boolean {
    return this.#disturbed;
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

  /** Of all entries, settled ones too. */
  get size(): number {
    return this.#byHash.size + this.#settledEntries;
  }
}
