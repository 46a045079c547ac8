import { type EvalRunId, type KeyRing, pae, sha256Hex, type SignedDraft } from '#lib/ledger';
import { closed, GroupCommit } from './group-commit.js';
import { type AppendAnswer, type EventLog, LogError, type LogListener, type Topics } from './port.js';
import { PAGE, type Store } from './store.js';
import { Tail } from './tail.js';
import { createTopics, Readers } from './topics.js';

export interface OpenLog {
  readonly log: EventLog;
  readonly topics: Topics;
  /** Writes what is queued, refuses what comes later, and lets go of the store. */
  readonly close: () => Promise<void>;
}

/** The log over a store in this address space: conditional append, followers and topics. */
export function createStoreLog(store: Store, keys: KeyRing): OpenLog {
  const tails = new Map<EvalRunId, Tail>();
  const readers = new Readers(store);
  const commits = new GroupCommit(store, (topics) => readers.deliver(topics));
  let open = true;

  const assertOpen = (): void => {
    if (!open) throw closed();
  };

  function use(evaluation: EvalRunId): Tail {
    let tail = tails.get(evaluation);
    if (tail === undefined) {
      tail = new Tail(evaluation, store, keys);
      tails.set(evaluation, tail);
    }
    tail.users++;
    return tail;
  }

  // A fold is kept while somebody follows or writes: for an open evaluation of a driver that is to its end.
  function release(tail: Tail): void {
    tail.users--;
    dropIfIdle(tail);
  }
  function dropIfIdle(tail: Tail): void {
    const over = store.writes === 'inbox' || tail.live.parent === null || tail.live.closed !== null;
    if (over && tail.users === 0 && !tail.followed) tails.delete(tail.evaluation);
  }

  const unwatch = store.watch(() => {
    for (const tail of tails.values()) {
      // What fails here fails again where somebody waits for it.
      if (tail.followed) tail.advance().catch(() => {});
    }
    readers.deliver();
  });

  async function append(drafts: readonly SignedDraft[]): Promise<AppendAnswer> {
    assertOpen();
    const [first] = drafts;
    if (first === undefined) return 'confirmed';
    if (store.writes === 'inbox') {
      throw new LogError(
        'log_read_only',
        'this process does not drive the database: only the one that does may append',
      );
    }
    const tail = use(first.entry.eval);
    try {
      commits.expecting++;
      try {
        await Promise.all(drafts.map((draft) => assertSigned(draft, keys)));
      } finally {
        commits.expecting--;
      }
      return await new Promise<AppendAnswer>((resolve, reject) => {
        commits.add({ kind: 'append', tail, drafts, resolve, reject });
      });
    } finally {
      release(tail);
    }
  }

  const log: EventLog = {
    append,
    async follow(evaluation, listener) {
      assertOpen();
      const tail = use(evaluation);
      // An object of its own, so that one listener may follow twice.
      const follower: LogListener = {
        entry: (entry, joining, live, position) => listener.entry(entry, joining, live, position),
        foreign: (position, reason) => listener.foreign?.(position, reason),
      };
      try {
        await tail.add(follower);
      } catch (error) {
        tail.remove(follower);
        throw error;
      } finally {
        release(tail);
      }
      return {
        live: tail.live,
        async caughtUp() {
          assertOpen();
          await tail.advance();
        },
        stop() {
          tail.remove(follower);
          dropIfIdle(tail);
        },
      };
    },
    async *records(evaluation) {
      assertOpen();
      const end = store.end(evaluation);
      for (let after = 0; after < end; ) {
        const page = store.page(evaluation, after, PAGE);
        if (page.length === 0) return;
        for (const record of page) {
          if (record.position > end) return;
          after = record.position;
          yield record;
        }
      }
    },
    async *evaluations() {
      assertOpen();
      const end = store.head();
      for (
        let page = store.evaluations(0, PAGE);
        page.length > 0;
        page = store.evaluations(page[page.length - 1]?.position ?? end, PAGE)
      ) {
        for (const { eval: evaluation, position } of page) {
          if (position > end) return;
          yield evaluation;
        }
      }
    },
    async endFor() {
      assertOpen();
      return store.head();
    },
    // A store finds an evaluation's first record by itself.
    async beginningOf(evaluation) {
      assertOpen();
      return store.end(evaluation) === 0 ? null : 0;
    },
    isPlaceOf: () => true,
    async putAttachment(bytes) {
      assertOpen();
      const ref = { sha256: sha256Hex(bytes), size: bytes.length };
      await new Promise<undefined>((resolve, reject) => {
        commits.add({ kind: 'attachment', sha256: ref.sha256, bytes, resolve, reject });
      });
      return ref;
    },
    async attachment(sha256) {
      assertOpen();
      const bytes = store.attachment(sha256);
      if (bytes === undefined) return null;
      if (sha256Hex(bytes) === sha256) return bytes;
      throw new LogError(
        'log_corrupt',
        `attachment ${sha256} is not what its hash names: check the disk and the database`,
      );
    },
  };

  return {
    log,
    topics: createTopics(store, commits, readers),
    async close() {
      if (!open) return;
      open = false;
      unwatch();
      readers.clear();
      try {
        await commits.close();
      } finally {
        store.close();
      }
    },
  };
}

export async function assertSigned({ entry }: SignedDraft, keys: KeyRing): Promise<void> {
  const { payloadType, payload, keyid, signature } = entry.envelope;
  const holds = await keys.get(keyid)?.verifyAsync(pae(payloadType, payload), signature);
  if (holds === true) return;
  const why = holds === undefined ? 'its key is not in the trust store' : 'its signature does not verify';
  throw new LogError('log_corrupt', `entry ${entry.ledger}#${entry.seq} was not written: ${why}`);
}
