import {
  type Entry,
  type EvalRunId,
  type Joining,
  MAX_INLINE_BODY,
  sha256Hex,
  type SignedDraft,
  type SignedEntry,
  utf8,
} from '#lib/ledger';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  Chain,
  childOf,
  drafts,
  freshEvaluation,
  projector,
  sessionNamed,
  startedEvaluation,
  stranger,
} from './fixtures.testkit.js';
import type { EventLog, Following, LogListener, LogRecord, TopicRecord, Topics } from './port.js';

export interface LogUnderTest {
  readonly log: EventLog;
  readonly topics: Topics;
  /** Another process over the same log: it reads and follows. */
  readonly elsewhere: { readonly log: EventLog; readonly topics: Topics };
  /** Writes a record without asking whether it joins, as whoever reaches the storage could. */
  putRaw(evaluation: EvalRunId, record: SignedEntry): Promise<void>;
  close(): Promise<void>;
}

/** What every adapter must do. */
export function describeEventLog(name: string, make: () => Promise<LogUnderTest>): void {
  describe(`event log: ${name}`, () => {
    let on: LogUnderTest;
    beforeAll(async () => {
      on = await make();
    });
    afterAll(async () => {
      await on.close();
    });

    describe('append', () => {
      test('confirms entries that join, one by one and in batches', async () => {
        const { child, opening, runStarted } = await startedEvaluation();
        expect(await on.log.append(opening)).toBe('confirmed');
        expect(await on.log.append([runStarted])).toBe('confirmed');
        expect(await on.log.append([await child.next(drafts.note('a')), await child.next(drafts.note('b'))])).toBe(
          'confirmed',
        );
        expect(await on.log.append([])).toBe('confirmed');
      });

      test('answers lost for an entry that is not next, and does not put it on the live chain', async () => {
        const { child, opening, runStarted } = await startedEvaluation();
        await on.log.append(opening);
        await on.log.append([runStarted]);
        await child.next(drafts.note('never appended'));
        expect(await on.log.append([await child.next(drafts.note('after a gap'))])).toBe('lost');
        expect(await joinedTypes(on, child.evaluation)).toEqual(['eval_started', 'child_requested', 'run_started']);
      });

      test('answers lost for a child that nobody requested', async () => {
        const { opening, parent } = await startedEvaluation();
        await on.log.append(opening);
        const requested = await parent.next(drafts.requested(childOf(parent.evaluation, 2)));
        expect(await on.log.append([await Chain.child(requested).next(drafts.runStarted(requested))])).toBe('lost');
      });

      test('answers lost for a role that may not write the entry', async () => {
        const { opening, parent } = await startedEvaluation();
        await on.log.append(opening);
        const byProjector = parent.as(parent.session, projector);
        expect(await on.log.append([await byProjector.next(drafts.closed())])).toBe('lost');
      });

      test('answers lost to a displaced writer, and confirms the one that displaced it', async () => {
        const { child, opening, runStarted } = await startedEvaluation();
        await on.log.append(opening);
        await on.log.append([runStarted]);
        const taker = child.as(sessionNamed('taker'));
        expect(await on.log.append([await taker.next(drafts.takeOver(child))])).toBe('confirmed');
        expect(await on.log.append([await child.next(drafts.note('too late'))])).toBe('lost');
        expect(await on.log.append([await taker.next(drafts.note('goes on'))])).toBe('confirmed');
      });

      test('confirms exactly one of two takers of one head', async () => {
        const { child, opening, runStarted } = await startedEvaluation();
        await on.log.append(opening);
        await on.log.append([runStarted]);
        const takers = [child.as(sessionNamed('first')), child.as(sessionNamed('second'))];
        const signed = await Promise.all(takers.map((taker) => taker.next(drafts.takeOver(child))));
        const answers = await Promise.all(signed.map((draft) => on.log.append([draft])));
        expect(answers.toSorted()).toEqual(['confirmed', 'lost']);
      });

      test('answers lost after a seal', async () => {
        const { child, opening, runStarted } = await startedEvaluation();
        await on.log.append(opening);
        await on.log.append([runStarted, await child.next(drafts.sealed(child))]);
        expect(await on.log.append([await child.next(drafts.note())])).toBe('lost');
        expect(await on.log.append([await child.as(sessionNamed('late')).next(drafts.takeOver(child))])).toBe('lost');
      });

      test('answers lost after a close, on the evaluation and on its children', async () => {
        const { parent, child, opening, runStarted } = await startedEvaluation();
        await on.log.append(opening);
        await on.log.append([runStarted]);
        expect(await on.log.append([await parent.next(drafts.closed())])).toBe('confirmed');
        expect(await on.log.append([await child.next(drafts.note())])).toBe('lost');
        expect(await on.log.append([await parent.next(drafts.requested(childOf(parent.evaluation, 2)))])).toBe('lost');
      });

      test('confirms no entry of a child that is closed in the same turn', async () => {
        const { parent, child, opening, runStarted } = await startedEvaluation();
        await on.log.append(opening);
        await on.log.append([runStarted]);
        const [close, note] = [await parent.next(drafts.closed()), await child.next(drafts.note())];
        expect(await Promise.all([on.log.append([close]), on.log.append([note])])).toEqual(['confirmed', 'lost']);
      });

      test('takes the first report after a close and no other', async () => {
        const { parent, opening } = await startedEvaluation();
        await on.log.append(opening);
        const early = await parent.as(sessionNamed('early'), projector).next(drafts.report());
        expect(await on.log.append([early])).toBe('lost');
        await on.log.append([await parent.next(drafts.closed())]);
        const reports = await Promise.all(
          ['a', 'b'].map((name) => parent.as(sessionNamed(name), projector).next(drafts.report())),
        );
        const answers = await Promise.all(reports.map((report) => on.log.append([report])));
        expect(answers.toSorted()).toEqual(['confirmed', 'lost']);
        const again = await parent.as(sessionNamed('c'), projector).next(drafts.report());
        expect(await on.log.append([again])).toBe('lost');
      });

      test('answers lost for a whole batch when one entry of it is not the next of the one before', async () => {
        const { child, opening, runStarted } = await startedEvaluation();
        await on.log.append(opening);
        await on.log.append([runStarted]);
        const first = await child.next(drafts.note('first'));
        await child.next(drafts.note('left out'));
        expect(await on.log.append([first, await child.next(drafts.note('third'))])).toBe('lost');
      });

      test('refuses what no trusted key signed, and writes nothing of it', async () => {
        const { child, opening, runStarted } = await startedEvaluation();
        await on.log.append(opening);
        const forged = await child.as(sessionNamed('forger'), stranger).next(drafts.note());
        await expect(on.log.append([forged])).rejects.toMatchObject({ code: 'log_corrupt' });
        const damaged = withSignature(runStarted, Uint8Array.from(runStarted.entry.envelope.signature).fill(7, 8, 12));
        await expect(on.log.append([damaged])).rejects.toMatchObject({ code: 'log_corrupt' });
        expect(await all(on.log.records(child.evaluation))).toHaveLength(2);
        expect(await on.log.append([runStarted])).toBe('confirmed');
      });

      test('keeps many ledgers apart that are written at once', async () => {
        const runs = await Promise.all(
          Array.from({ length: 20 }, async () => {
            const { child, opening, runStarted } = await startedEvaluation();
            const answers = [await on.log.append(opening), await on.log.append([runStarted])];
            for (let step = 0; step < 5; step++)
              answers.push(await on.log.append([await child.next(drafts.note(`${step}`))]));
            return { evaluation: child.evaluation, answers };
          }),
        );
        for (const { evaluation, answers } of runs) {
          expect(new Set(answers)).toEqual(new Set(['confirmed']));
          expect(await all(on.log.records(evaluation))).toHaveLength(8);
        }
      });
    });

    describe('records', () => {
      test('come in log order with growing positions and the bytes that were signed', async () => {
        const { opening, runStarted } = await startedEvaluation();
        await on.log.append(opening);
        await on.log.append([runStarted]);
        const records = await all(on.log.records(runStarted.entry.eval));
        expect(records.map(({ record }) => plain(record))).toEqual(
          [...opening, runStarted].map(({ entry }) => plain(entry.envelope)),
        );
        const positions = records.map(({ position }) => position);
        expect(positions).toEqual(positions.toSorted((a, b) => a - b));
        expect(new Set(positions).size).toBe(3);
      });

      test('hold foreign records too, just as they were written', async () => {
        const evaluation = freshEvaluation();
        const rubbish = { ...RUBBISH, payload: utf8('rubbish of its own') };
        await on.putRaw(evaluation, rubbish);
        expect((await all(on.log.records(evaluation))).map(({ record }) => plain(record))).toEqual([plain(rubbish)]);
      });

      test('are more than one page long', async () => {
        const { child, opening, runStarted } = await startedEvaluation();
        await on.log.append(opening);
        const notes = [runStarted];
        for (let step = 0; step < 300; step++) notes.push(await child.next(drafts.note(`${step}`)));
        expect(await on.log.append(notes)).toBe('confirmed');
        expect(await all(on.log.records(child.evaluation))).toHaveLength(303);
        const heard = new Heard();
        await follow(on.elsewhere.log, child.evaluation, heard);
        expect(heard.entries).toHaveLength(303);
      });

      test('of an evaluation that nobody wrote are none', async () => {
        expect(await all(on.log.records(freshEvaluation()))).toEqual([]);
      });
    });

    describe('follow', () => {
      test('delivers from the first record on, and then what is appended, before the append resolves', async () => {
        const { child, opening, runStarted } = await startedEvaluation();
        await on.log.append(opening);
        const heard = new Heard();
        const following = await follow(on.log, child.evaluation, heard);
        expect(heard.types).toEqual(['eval_started', 'child_requested']);
        await on.log.append([runStarted]);
        expect(heard.types).toEqual(['eval_started', 'child_requested', 'run_started']);
        expect(heard.entries[2]).toEqual(runStarted.entry);
        following.stop();
        await on.log.append([await child.next(drafts.note())]);
        expect(heard.types).toHaveLength(3);
      });

      test('starts before the evaluation does', async () => {
        const { opening } = await startedEvaluation();
        const heard = new Heard();
        await follow(on.log, opening[0]?.entry.eval as EvalRunId, heard);
        await on.log.append(opening);
        expect(heard.types).toEqual(['eval_started', 'child_requested']);
      });

      test('has folded an entry when it delivers it, for early and for late followers', async () => {
        const { parent, child, opening, runStarted } = await startedEvaluation();
        const heads: string[][] = [[], []];
        const listener = (heard: string[]): LogListener => ({
          entry: (entry, _joining, live) => {
            const chain = entry.ledger === live.eval ? live.parent : live.children.get(child.ledger as never)?.chain;
            heard.push(chain?.hashes.at(-1) ?? 'none');
          },
        });
        await on.log.follow(parent.evaluation, listener(heads[0] as string[]));
        await on.log.append(opening);
        await on.log.append([runStarted]);
        await on.log.follow(parent.evaluation, listener(heads[1] as string[]));
        await on.log.append([await child.next(drafts.note())]);
        const expected = [...opening.map(({ entry }) => entry.hash), runStarted.entry.hash, child.head];
        expect(heads).toEqual([expected, expected]);
      });

      test('shares one fold among the followers of a process', async () => {
        const { child, opening, runStarted } = await startedEvaluation();
        await on.log.append(opening);
        const first = await follow(on.log, child.evaluation, new Heard());
        const second = await follow(on.log, child.evaluation, new Heard());
        await on.log.append([runStarted]);
        expect(first.live).toBe(second.live);
        expect(first.live.children.get(child.ledger as never)?.chain?.hashes).toEqual([runStarted.entry.hash]);
      });

      test('catches up in another process with what stood in the log at the call', async () => {
        const { child, opening, runStarted } = await startedEvaluation();
        const heard = new Heard();
        const following = await follow(on.elsewhere.log, child.evaluation, heard);
        await on.log.append(opening);
        await on.log.append([runStarted]);
        await following.caughtUp();
        expect(heard.types).toEqual(['eval_started', 'child_requested', 'run_started']);
        following.stop();
      });

      test('hears in another process of growth without asking', async () => {
        const { child, opening } = await startedEvaluation();
        const heard = new Heard();
        const following = await follow(on.elsewhere.log, child.evaluation, heard);
        await on.log.append(opening);
        await expect.poll(() => heard.types, { timeout: 5_000 }).toEqual(['eval_started', 'child_requested']);
        following.stop();
      });

      test('says what is superseded and what is a duplicate, and goes on', async () => {
        const { child, opening, runStarted } = await startedEvaluation();
        await on.log.append(opening);
        await on.log.append([runStarted]);
        const rival = await child.as(sessionNamed('rival')).next(drafts.note('not the writer'));
        const heard = new Heard();
        const following = await follow(on.log, child.evaluation, heard);
        await on.putRaw(child.evaluation, rival.entry.envelope);
        await on.putRaw(child.evaluation, runStarted.entry.envelope);
        expect(await on.log.append([await child.next(drafts.note('the writer'))])).toBe('confirmed');
        await following.caughtUp();
        expect(heard.joinings).toEqual(['joined', 'joined', 'joined', 'superseded', 'duplicate', 'joined']);
        const late = new Heard();
        await follow(on.log, child.evaluation, late);
        expect(late.joinings).toEqual(heard.joinings);
        expect(late.entries).toEqual(heard.entries);
      });

      test('takes the entry that came first when the log holds two for one place', async () => {
        const { child, opening, runStarted } = await startedEvaluation();
        await on.log.append(opening);
        await on.log.append([runStarted]);
        const [first, second] = [child.as(sessionNamed('first')), child.as(sessionNamed('second'))];
        await on.putRaw(child.evaluation, (await first.next(drafts.takeOver(child))).entry.envelope);
        expect(await on.log.append([await second.next(drafts.takeOver(child))])).toBe('lost');
        expect(await on.log.append([await first.next(drafts.note())])).toBe('confirmed');
      });

      test('counts rubbish, strangers and strays as foreign and folds none of it', async () => {
        const { child, opening, runStarted } = await startedEvaluation();
        const stray = (await startedEvaluation()).opening[0] as SignedDraft;
        const byStranger = await child.as(sessionNamed('stranger'), stranger).next(drafts.note());
        await on.log.append(opening);
        const heard = new Heard();
        const following = await follow(on.log, child.evaluation, heard);
        const raw = [
          RUBBISH,
          { ...RUBBISH, payload: new Uint8Array(), signature: new Uint8Array() },
          byStranger.entry.envelope,
          { ...runStarted.entry.envelope, payload: Uint8Array.from(runStarted.entry.envelope.payload).fill(32, 9, 10) },
          { ...runStarted.entry.envelope, payloadType: 'text/plain' },
          stray.entry.envelope,
        ];
        for (const record of raw) await on.putRaw(child.evaluation, record);
        await following.caughtUp();
        expect(heard.foreignReasons).toHaveLength(raw.length);
        expect(heard.types).toHaveLength(2);
        expect(await on.log.append([runStarted])).toBe('confirmed');
      });
    });

    describe('attachments', () => {
      test('come back by their hash, and an unknown hash is null', async () => {
        const bytes = utf8(`attachment ${crypto.randomUUID()}`);
        const ref = await on.log.putAttachment(bytes);
        expect(ref).toEqual({ sha256: sha256Hex(bytes), size: bytes.length });
        expect(await on.log.putAttachment(bytes)).toEqual(ref);
        expect(plainBytes(await on.log.attachment(ref.sha256))).toEqual(plainBytes(bytes));
        expect(plainBytes(await on.elsewhere.log.attachment(ref.sha256))).toEqual(plainBytes(bytes));
        expect(await on.log.attachment(sha256Hex(utf8('nobody stored this')))).toBeNull();
      });

      test('hold the body of a large entry, which arrives with it', async () => {
        const { child, opening, runStarted } = await startedEvaluation();
        await on.log.append(opening);
        await on.log.append([runStarted]);
        const large = await child.next(drafts.note('x'.repeat(MAX_INLINE_BODY + 1)));
        expect(large.attachment).not.toBeNull();
        const stored: (Uint8Array | null)[] = [];
        const asked: Promise<void>[] = [];
        const heard = new Heard();
        const following = await on.elsewhere.log.follow(child.evaluation, {
          entry: (entry, joining) => {
            heard.entry(entry, joining);
            if (entry.hash !== large.entry.hash) return;
            const sha256 = large.attachment?.ref.sha256 ?? '';
            asked.push(on.elsewhere.log.attachment(sha256).then((bytes) => void stored.push(bytes)));
          },
        });
        expect(await on.log.append([large])).toBe('confirmed');
        await following.caughtUp();
        await Promise.all(asked);
        expect(heard.entries.at(-1)?.body).toEqual(large.entry.body);
        expect(stored.map((bytes) => bytes?.length)).toEqual([large.attachment?.ref.size]);
        following.stop();
      });

      test('that are missing leave the chain whole: the entry links, and its follower hears why it has no body', async () => {
        const { child, opening, runStarted } = await startedEvaluation();
        await on.log.append(opening);
        await on.log.append([runStarted]);
        const large = await child.next(drafts.note(`${crypto.randomUUID()}${'x'.repeat(MAX_INLINE_BODY)}`));
        await on.putRaw(child.evaluation, large.entry.envelope);
        const heard = new Heard();
        await follow(on.log, child.evaluation, heard);
        expect(heard.foreignReasons).toEqual([expect.stringContaining(large.attachment?.ref.sha256 ?? 'none')]);
        expect(await on.log.append([await child.next(drafts.note('after it'))])).toBe('confirmed');
      });
    });

    test('evaluations come oldest first, each once', async () => {
      const [a, b] = [await startedEvaluation(), await startedEvaluation()];
      await on.log.append(b.opening);
      await on.log.append(a.opening);
      await on.log.append([b.runStarted]);
      const ids = await all(on.log.evaluations());
      expect(new Set(ids).size).toBe(ids.length);
      expect(ids.slice(-2)).toEqual([b.parent.evaluation, a.parent.evaluation]);
    });

    describe('topics', () => {
      test('deliver in order, to every group, what was published before and after', async () => {
        const [before, after] = [crypto.randomUUID(), crypto.randomUUID()];
        await on.topics.publish('eval.report', before, { n: 1, text: 'ä "quoted"' });
        const groups = [collect(), collect()];
        const consumers = await Promise.all(
          groups.map((group, index) => on.topics.consume('eval.report', `order-${index}`, group.handler)),
        );
        await on.topics.publish('eval.report', after, null);
        for (const { records } of groups) {
          await expect.poll(() => records.map(({ key }) => key).slice(-2), { timeout: 5_000 }).toEqual([before, after]);
          expect(records.at(-2)?.value).toEqual({ n: 1, text: 'ä "quoted"' });
          expect(records.at(-1)?.value).toBeNull();
        }
        for (const consumer of consumers) consumer.stop();
      });

      test('keep topics apart, and deliver nothing after a stop', async () => {
        const seen = collect();
        const consumer = await on.topics.consume('eval.dead-letter', 'apart', seen.handler);
        await on.topics.publish('eval.index', 'other topic', {});
        await on.topics.publish('eval.dead-letter', 'this topic', {});
        await expect.poll(() => seen.records.map(({ key }) => key), { timeout: 5_000 }).toEqual(['this topic']);
        consumer.stop();
        await on.topics.publish('eval.dead-letter', 'after the stop', {});
        await new Promise((resolve) => setTimeout(resolve, 50));
        expect(seen.records).toHaveLength(1);
      });

      test('resume from the committed position, which never moves back', async () => {
        const positions: number[] = [];
        for (const key of ['a', 'b', 'c']) positions.push(await on.topics.publish('eval.accepted', key, {}));
        const [, b, c] = positions as [number, number, number];
        const first = await on.topics.consume('eval.accepted', 'resuming', collect().handler);
        await first.commit(c);
        await first.commit(b);
        first.stop();
        const resumed = collect();
        const second = await on.topics.consume('eval.accepted', 'resuming', resumed.handler);
        await expect.poll(() => resumed.records.map(({ key }) => key), { timeout: 5_000 }).toEqual(['c']);
        second.stop();
        const other = collect();
        const third = await on.topics.consume('eval.accepted', 'another group', other.handler);
        await expect.poll(() => other.records.map(({ key }) => key), { timeout: 5_000 }).toEqual(['a', 'b', 'c']);
        third.stop();
      });

      test('list what is kept, to the end as of now', async () => {
        const key = crypto.randomUUID();
        const position = await on.topics.publish('eval.dead-letter', key, { listed: true });
        const kept = await all(on.elsewhere.topics.list('eval.dead-letter'));
        expect(kept.at(-1)).toEqual({ position, key, value: { listed: true } });
      });

      test('take a request from another process', async () => {
        const seen = collect();
        const consumer = await on.topics.consume('eval.requested', 'inbox', seen.handler);
        await on.elsewhere.topics.publish('eval.requested', 'from elsewhere', { hello: 1 });
        await expect.poll(() => seen.records.map(({ key }) => key), { timeout: 5_000 }).toEqual(['from elsewhere']);
        consumer.stop();
      });
    });
  });
}

class Heard implements LogListener {
  readonly entries: Entry[] = [];
  readonly joinings: Joining[] = [];
  readonly foreignReasons: string[] = [];

  entry(entry: Entry, joining: Joining): void {
    this.entries.push(entry);
    this.joinings.push(joining);
  }
  foreign(_position: number, reason: string): void {
    this.foreignReasons.push(reason);
  }
  get types(): string[] {
    return this.entries.map(({ type }) => type);
  }
}

function follow(log: EventLog, evaluation: EvalRunId, heard: Heard): Promise<Following> {
  return log.follow(evaluation, {
    entry: (entry, joining) => heard.entry(entry, joining),
    foreign: (position, reason) => heard.foreign(position, reason),
  });
}

async function joinedTypes(on: LogUnderTest, evaluation: EvalRunId): Promise<string[]> {
  const heard = new Heard();
  (await follow(on.elsewhere.log, evaluation, heard)).stop();
  return heard.types.filter((_, index) => heard.joinings[index] === 'joined');
}

function collect(): { readonly records: TopicRecord[]; handler(record: TopicRecord): void } {
  const records: TopicRecord[] = [];
  return { records, handler: (record) => void records.push(record) };
}

async function all<T>(source: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of source) items.push(item);
  return items;
}

function withSignature(draft: SignedDraft, signature: Uint8Array): SignedDraft {
  return { ...draft, entry: { ...draft.entry, envelope: { ...draft.entry.envelope, signature } } };
}

function plain(record: LogRecord['record']): unknown {
  return { ...record, payload: plainBytes(record.payload), signature: plainBytes(record.signature) };
}

function plainBytes(bytes: Uint8Array | null): number[] | null {
  return bytes === null ? null : [...bytes];
}

const RUBBISH: SignedEntry = {
  payloadType: 'rubbish',
  payload: Uint8Array.of(0, 255, 1, 2),
  keyid: 'nobody' as SignedEntry['keyid'],
  signature: Uint8Array.of(1),
};
