import { type AttachmentRef, type KeyRing, parseCanonicalJson, trustStoreSchema } from '#lib/ledger';

const NONE: KeyRing = { get: () => undefined };

/**
 * The keys by which an evaluation is folded: those of the trust store that its `eval_started` pins which this process has too, so that every reader folds
 * alike. Where the pinned store cannot be had there are none: nothing more joins, and the evaluation is left alone.
 */
export class PinnedKeys {
  readonly #known = new Map<string, Promise<KeyRing>>();

  constructor(
    private readonly options: {
      readonly keys: KeyRing;
      /** SHA-256 of this process's trust store; absent: whatever is pinned is taken for it. */
      readonly own: string | undefined;
      readonly attachment: (sha256: string) => Promise<Uint8Array | null>;
      /** Told in a sentence why evaluations are left alone. */
      readonly missing: (reason: string) => void;
    },
  ) {}

  /** `null`: all keys of this process. */
  of({ sha256 }: AttachmentRef): Promise<KeyRing> | null {
    const { own } = this.options;
    if (own === undefined || sha256 === own) return null;
    const known = this.#known.get(sha256);
    if (known !== undefined) return known;
    const reading = this.#read(sha256);
    this.#known.set(sha256, reading);
    reading.then(
      (keys) => keys === NONE && this.#known.delete(sha256),
      () => this.#known.delete(sha256),
    );
    return reading;
  }

  async #read(sha256: string): Promise<KeyRing> {
    const { keys, attachment, missing } = this.options;
    const bytes = await attachment(sha256);
    const ids = bytes === null ? null : idsOf(bytes);
    if (ids === null) {
      const why = bytes === null ? 'is not among the attachments' : 'is none';
      missing(`the trust store ${sha256} ${why}: evaluations that pin it are left alone`);
      return NONE;
    }
    return { get: (id) => (ids.has(id) ? keys.get(id) : undefined) };
  }
}

function idsOf(bytes: Uint8Array): ReadonlySet<string> | null {
  try {
    return new Set(trustStoreSchema.parse(parseCanonicalJson(bytes)).keys.map(({ id }) => id));
  } catch {
    return null;
  }
}
