import { MAX_INLINE_BODY, sha256Hex, utf8 } from '#lib/ledger';
import { describe, expect, test } from 'vitest';
import { all, follow, Heard, type LogUnderTest, plain, plainBytes, RUBBISH } from './contract.testkit.js';
import { drafts, freshEvaluation, startedEvaluation } from './fixtures.testkit.js';

/** Records, attachments and the list of evaluations. */
export function describeRecords(on: () => LogUnderTest): void {
  describe('records', () => {
    test('come in log order with growing positions and the bytes that were signed', async () => {
      const { opening, runStarted } = await startedEvaluation();
      await on().log.append(opening);
      await on().log.append([runStarted]);
      const records = await all(on().log.records(runStarted.entry.eval));
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
      await on().putRaw(evaluation, rubbish);
      expect((await all(on().log.records(evaluation))).map(({ record }) => plain(record))).toEqual([plain(rubbish)]);
    });

    test('are more than one page long', async () => {
      const { child, opening, runStarted } = await startedEvaluation();
      await on().log.append(opening);
      const notes = [runStarted];
      for (let step = 0; step < 300; step++) notes.push(await child.next(drafts.note(`${step}`)));
      expect(await on().log.append(notes)).toBe('confirmed');
      expect(await all(on().log.records(child.evaluation))).toHaveLength(303);
      const heard = new Heard();
      await follow(on().elsewhere.log, child.evaluation, heard);
      expect(heard.entries).toHaveLength(303);
    });

    test('of an evaluation that nobody wrote are none', async () => {
      expect(await all(on().log.records(freshEvaluation()))).toEqual([]);
    });
  });

  describe('attachments', () => {
    test('come back by their hash, and an unknown hash is null', async () => {
      const bytes = utf8(`attachment ${crypto.randomUUID()}`);
      const ref = await on().log.putAttachment(bytes);
      expect(ref).toEqual({ sha256: sha256Hex(bytes), size: bytes.length });
      expect(await on().log.putAttachment(bytes)).toEqual(ref);
      expect(plainBytes(await on().log.attachment(ref.sha256))).toEqual(plainBytes(bytes));
      expect(plainBytes(await on().elsewhere.log.attachment(ref.sha256))).toEqual(plainBytes(bytes));
      expect(await on().log.attachment(sha256Hex(utf8('nobody stored this')))).toBeNull();
    });

    test('hold the body of a large entry, which arrives with it', async () => {
      const { child, opening, runStarted } = await startedEvaluation();
      await on().log.append(opening);
      await on().log.append([runStarted]);
      const large = await child.next(drafts.note('x'.repeat(MAX_INLINE_BODY + 1)));
      expect(large.attachment).not.toBeNull();
      const stored: (Uint8Array | null)[] = [];
      const asked: Promise<void>[] = [];
      const heard = new Heard();
      const following = await on().elsewhere.log.follow(child.evaluation, {
        entry: (entry, joining) => {
          heard.entry(entry, joining);
          if (entry.hash !== large.entry.hash) return;
          const sha256 = large.attachment?.ref.sha256 ?? '';
          asked.push(
            on()
              .elsewhere.log.attachment(sha256)
              .then((bytes) => void stored.push(bytes)),
          );
        },
      });
      expect(await on().log.append([large])).toBe('confirmed');
      await following.caughtUp();
      await Promise.all(asked);
      expect(heard.entries.at(-1)?.body).toEqual(large.entry.body);
      expect(stored.map((bytes) => bytes?.length)).toEqual([large.attachment?.ref.size]);
      following.stop();
    });

    test('that are missing leave the chain whole: the entry links, and its follower hears why it has no body', async () => {
      const { child, opening, runStarted } = await startedEvaluation();
      await on().log.append(opening);
      await on().log.append([runStarted]);
      const large = await child.next(drafts.note(`${crypto.randomUUID()}${'x'.repeat(MAX_INLINE_BODY)}`));
      await on().putRaw(child.evaluation, large.entry.envelope);
      const heard = new Heard();
      await follow(on().log, child.evaluation, heard);
      expect(heard.foreignReasons).toEqual([expect.stringContaining(large.attachment?.ref.sha256 ?? 'none')]);
      expect(await on().log.append([await child.next(drafts.note('after it'))])).toBe('confirmed');
    });
  });

  test('evaluations come oldest first, each once', async () => {
    const [a, b] = [await startedEvaluation(), await startedEvaluation()];
    await on().log.append(b.opening);
    await on().log.append(a.opening);
    await on().log.append([b.runStarted]);
    const ids = await all(on().log.evaluations());
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.slice(-2)).toEqual([b.parent.evaluation, a.parent.evaluation]);
  });
}
