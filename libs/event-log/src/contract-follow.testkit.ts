import type { EvalRunId, SignedDraft } from '#lib/ledger';
import { describe, expect, test } from 'vitest';
import { follow, Heard, type LogUnderTest, RUBBISH } from './contract.testkit.js';
import { drafts, sessionNamed, startedEvaluation, stranger } from './fixtures.testkit.js';
import type { LogListener } from './port.js';

/** Following from the first record on, over whatever the log holds. */
export function describeFollow(on: () => LogUnderTest): void {
  describe('follow', () => {
    test('delivers from the first record on, and then what is appended, before the append resolves', async () => {
      const { child, opening, runStarted } = await startedEvaluation();
      await on().log.append(opening);
      const heard = new Heard();
      const following = await follow(on().log, child.evaluation, heard);
      expect(heard.types).toEqual(['eval_started', 'child_requested']);
      await on().log.append([runStarted]);
      expect(heard.types).toEqual(['eval_started', 'child_requested', 'run_started']);
      expect(heard.entries[2]).toEqual(runStarted.entry);
      following.stop();
      await on().log.append([await child.next(drafts.note())]);
      expect(heard.types).toHaveLength(3);
    });

    test('starts before the evaluation does', async () => {
      const { opening } = await startedEvaluation();
      const heard = new Heard();
      await follow(on().log, opening[0]?.entry.eval as EvalRunId, heard);
      await on().log.append(opening);
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
      await on().log.follow(parent.evaluation, listener(heads[0] as string[]));
      await on().log.append(opening);
      await on().log.append([runStarted]);
      await on().log.follow(parent.evaluation, listener(heads[1] as string[]));
      await on().log.append([await child.next(drafts.note())]);
      const expected = [...opening.map(({ entry }) => entry.hash), runStarted.entry.hash, child.head];
      expect(heads).toEqual([expected, expected]);
    });

    test('gives each entry the position at which it stands in the records, to early and to late followers', async () => {
      const { parent, opening, runStarted } = await startedEvaluation();
      const positions: number[][] = [[], []];
      const listener = (heard: number[]): LogListener => ({
        entry: (_entry, _joining, _live, position) => heard.push(position),
        foreign: (position) => heard.push(position),
      });
      await on().log.follow(parent.evaluation, listener(positions[0] as number[]));
      await on().log.append(opening);
      await on().putRaw(parent.evaluation, RUBBISH);
      await on().log.append([runStarted]);
      await on().log.follow(parent.evaluation, listener(positions[1] as number[]));
      const stored: number[] = [];
      for await (const { position } of on().log.records(parent.evaluation)) stored.push(position);
      expect(stored).toHaveLength(4);
      expect(positions).toEqual([stored, stored]);
    });

    test('shares one fold among the followers of a process', async () => {
      const { child, opening, runStarted } = await startedEvaluation();
      await on().log.append(opening);
      const first = await follow(on().log, child.evaluation, new Heard());
      const second = await follow(on().log, child.evaluation, new Heard());
      await on().log.append([runStarted]);
      expect(first.live).toBe(second.live);
      expect(first.live.children.get(child.ledger as never)?.chain?.hashes).toEqual([runStarted.entry.hash]);
    });

    test('catches up in another process with what stood in the log at the call', async () => {
      const { child, opening, runStarted } = await startedEvaluation();
      const heard = new Heard();
      const following = await follow(on().elsewhere.log, child.evaluation, heard);
      await on().log.append(opening);
      await on().log.append([runStarted]);
      await following.caughtUp();
      expect(heard.types).toEqual(['eval_started', 'child_requested', 'run_started']);
      following.stop();
    });

    test('hears in another process of growth without asking', async () => {
      const { child, opening } = await startedEvaluation();
      const heard = new Heard();
      const following = await follow(on().elsewhere.log, child.evaluation, heard);
      await on().log.append(opening);
      await expect.poll(() => heard.types, { timeout: 5_000 }).toEqual(['eval_started', 'child_requested']);
      following.stop();
    });

    test('says what is superseded and what is a duplicate, and goes on', async () => {
      const { child, opening, runStarted } = await startedEvaluation();
      await on().log.append(opening);
      await on().log.append([runStarted]);
      const rival = await child.as(sessionNamed('rival')).next(drafts.note('not the writer'));
      const heard = new Heard();
      const following = await follow(on().log, child.evaluation, heard);
      await on().putRaw(child.evaluation, rival.entry.envelope);
      await on().putRaw(child.evaluation, runStarted.entry.envelope);
      expect(await on().log.append([await child.next(drafts.note('the writer'))])).toBe('confirmed');
      await following.caughtUp();
      expect(heard.joinings).toEqual(['joined', 'joined', 'joined', 'superseded', 'duplicate', 'joined']);
      const late = new Heard();
      await follow(on().log, child.evaluation, late);
      expect(late.joinings).toEqual(heard.joinings);
      expect(late.entries).toEqual(heard.entries);
    });

    test('takes the entry that came first when the log holds two for one place', async () => {
      const { child, opening, runStarted } = await startedEvaluation();
      await on().log.append(opening);
      await on().log.append([runStarted]);
      const [first, second] = [child.as(sessionNamed('first')), child.as(sessionNamed('second'))];
      await on().putRaw(child.evaluation, (await first.next(drafts.takeOver(child))).entry.envelope);
      expect(await on().log.append([await second.next(drafts.takeOver(child))])).toBe('lost');
      expect(await on().log.append([await first.next(drafts.note())])).toBe('confirmed');
    });

    test('counts rubbish, strangers and strays as foreign and folds none of it', async () => {
      const { child, opening, runStarted } = await startedEvaluation();
      const stray = (await startedEvaluation()).opening[0] as SignedDraft;
      const byStranger = await child.as(sessionNamed('stranger'), stranger).next(drafts.note());
      await on().log.append(opening);
      const heard = new Heard();
      const following = await follow(on().log, child.evaluation, heard);
      const raw = [
        RUBBISH,
        { ...RUBBISH, payload: new Uint8Array(), signature: new Uint8Array() },
        byStranger.entry.envelope,
        { ...runStarted.entry.envelope, payload: Uint8Array.from(runStarted.entry.envelope.payload).fill(32, 9, 10) },
        { ...runStarted.entry.envelope, payloadType: 'text/plain' },
        stray.entry.envelope,
      ];
      for (const record of raw) await on().putRaw(child.evaluation, record);
      await following.caughtUp();
      expect(heard.foreignReasons).toHaveLength(raw.length);
      expect(heard.types).toHaveLength(2);
      expect(await on().log.append([runStarted])).toBe('confirmed');
    });
  });
}
