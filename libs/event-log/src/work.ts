import type { SignedDraft } from '#lib/ledger';
import type { AppendAnswer, Topic } from './port.js';
import type { Writes } from './store.js';
import type { Tail } from './tail.js';

interface Settled<T> {
  readonly resolve: (value: T) => void;
  readonly reject: (error: unknown) => void;
}

export interface AppendWork extends Settled<AppendAnswer> {
  readonly kind: 'append';
  readonly tail: Tail;
  /** Entries of one ledger, their signatures checked. */
  readonly drafts: readonly SignedDraft[];
}
interface AttachmentWork extends Settled<undefined> {
  readonly kind: 'attachment';
  readonly sha256: string;
  readonly bytes: Uint8Array;
}
interface PublishWork extends Settled<number> {
  readonly kind: 'publish';
  readonly topic: Topic;
  readonly key: string;
  readonly json: string;
}
export interface CommitWork extends Settled<undefined> {
  readonly kind: 'commit';
  readonly topic: Topic;
  readonly group: string;
  readonly position: number;
}
export type Work = AppendWork | AttachmentWork | PublishWork | CommitWork;

/** What one transaction wrote of one piece of work: positions of its entries, its record, or nothing. */
export type Written =
  | { readonly work: AppendWork; readonly positions: readonly number[] }
  | { readonly work: PublishWork; readonly position: number }
  | { readonly work: AttachmentWork | CommitWork };

/** Puts one piece of work into the transaction. */
export function write(tx: Writes, work: Work): Written {
  switch (work.kind) {
    case 'append': {
      const positions = work.drafts.map(({ entry, attachment }, index) => {
        if (attachment !== null) tx.attachment(attachment.ref.sha256, attachment.bytes);
        return tx.entry(entry.eval, entry.envelope, index === 0 && work.tail.live.parent === null);
      });
      return { work, positions };
    }
    case 'publish':
      return { work, position: tx.publish(work.topic, work.key, work.json) };
    case 'attachment':
      tx.attachment(work.sha256, work.bytes);
      return { work };
    case 'commit':
      tx.commit(work.topic, work.group, work.position);
      return { work };
  }
}
