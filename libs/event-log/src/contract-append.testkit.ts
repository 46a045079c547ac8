import { describe, expect, test } from 'vitest';
import { all, joinedTypes, type LogUnderTest, withSignature } from './contract.testkit.js';
import { Chain, childOf, drafts, projector, sessionNamed, startedEvaluation, stranger } from './fixtures.testkit.js';

/** Conditional append: what is confirmed and what is lost. */
export function describeAppend(on: () => LogUnderTest): void {
  describe('append', () => {
    test('confirms entries that join, one by one and in batches', async () => {
      const { child, opening, runStarted } = await startedEvaluation();
      expect(await on().log.append(opening)).toBe('confirmed');
      expect(await on().log.append([runStarted])).toBe('confirmed');
      expect(await on().log.append([await child.next(drafts.note('a')), await child.next(drafts.note('b'))])).toBe(
        'confirmed',
      );
      expect(await on().log.append([])).toBe('confirmed');
    });

    test('answers lost for an entry that is not next, and does not put it on the live chain', async () => {
      const { child, opening, runStarted } = await startedEvaluation();
      await on().log.append(opening);
      await on().log.append([runStarted]);
      await child.next(drafts.note('never appended'));
      expect(await on().log.append([await child.next(drafts.note('after a gap'))])).toBe('lost');
      expect(await joinedTypes(on(), child.evaluation)).toEqual(['eval_started', 'child_requested', 'run_started']);
    });

    test('answers lost for a child that nobody requested', async () => {
      const { opening, parent } = await startedEvaluation();
      await on().log.append(opening);
      const requested = await parent.next(drafts.requested(childOf(parent.evaluation, 2)));
      expect(await on().log.append([await Chain.child(requested).next(drafts.runStarted(requested))])).toBe('lost');
    });

    test('answers lost for a role that may not write the entry', async () => {
      const { opening, parent } = await startedEvaluation();
      await on().log.append(opening);
      const byProjector = parent.as(parent.session, projector);
      expect(await on().log.append([await byProjector.next(drafts.closed())])).toBe('lost');
    });

    test('answers lost to a displaced writer, and confirms the one that displaced it', async () => {
      const { child, opening, runStarted } = await startedEvaluation();
      await on().log.append(opening);
      await on().log.append([runStarted]);
      const taker = child.as(sessionNamed('taker'));
      expect(await on().log.append([await taker.next(drafts.takeOver(child))])).toBe('confirmed');
      expect(await on().log.append([await child.next(drafts.note('too late'))])).toBe('lost');
      expect(await on().log.append([await taker.next(drafts.note('goes on'))])).toBe('confirmed');
    });

    test('confirms exactly one of two takers of one head', async () => {
      const { child, opening, runStarted } = await startedEvaluation();
      await on().log.append(opening);
      await on().log.append([runStarted]);
      const takers = [child.as(sessionNamed('first')), child.as(sessionNamed('second'))];
      const signed = await Promise.all(takers.map((taker) => taker.next(drafts.takeOver(child))));
      const answers = await Promise.all(signed.map((draft) => on().log.append([draft])));
      expect(answers.toSorted()).toEqual(['confirmed', 'lost']);
    });

    test('answers lost after a seal', async () => {
      const { child, opening, runStarted } = await startedEvaluation();
      await on().log.append(opening);
      await on().log.append([runStarted, await child.next(drafts.sealed(child))]);
      expect(await on().log.append([await child.next(drafts.note())])).toBe('lost');
      expect(await on().log.append([await child.as(sessionNamed('late')).next(drafts.takeOver(child))])).toBe('lost');
    });

    test('answers lost after a close, on the evaluation and on its children', async () => {
      const { parent, child, opening, runStarted } = await startedEvaluation();
      await on().log.append(opening);
      await on().log.append([runStarted]);
      expect(await on().log.append([await parent.next(drafts.closed())])).toBe('confirmed');
      expect(await on().log.append([await child.next(drafts.note())])).toBe('lost');
      expect(await on().log.append([await parent.next(drafts.requested(childOf(parent.evaluation, 2)))])).toBe('lost');
    });

    test('confirms no entry of a child that is closed in the same turn', async () => {
      const { parent, child, opening, runStarted } = await startedEvaluation();
      await on().log.append(opening);
      await on().log.append([runStarted]);
      const [close, note] = [await parent.next(drafts.closed()), await child.next(drafts.note())];
      expect(await Promise.all([on().log.append([close]), on().log.append([note])])).toEqual(['confirmed', 'lost']);
    });

    test('takes the first report after a close and no other', async () => {
      const { parent, opening } = await startedEvaluation();
      await on().log.append(opening);
      const early = await parent.as(sessionNamed('early'), projector).next(drafts.report());
      expect(await on().log.append([early])).toBe('lost');
      await on().log.append([await parent.next(drafts.closed())]);
      const reports = await Promise.all(
        ['a', 'b'].map((name) => parent.as(sessionNamed(name), projector).next(drafts.report())),
      );
      const answers = await Promise.all(reports.map((report) => on().log.append([report])));
      expect(answers.toSorted()).toEqual(['confirmed', 'lost']);
      const again = await parent.as(sessionNamed('c'), projector).next(drafts.report());
      expect(await on().log.append([again])).toBe('lost');
    });

    test('answers lost for a whole batch when one entry of it is not the next of the one before', async () => {
      const { child, opening, runStarted } = await startedEvaluation();
      await on().log.append(opening);
      await on().log.append([runStarted]);
      const first = await child.next(drafts.note('first'));
      await child.next(drafts.note('left out'));
      expect(await on().log.append([first, await child.next(drafts.note('third'))])).toBe('lost');
    });

    test('refuses what no trusted key signed, and writes nothing of it', async () => {
      const { child, opening, runStarted } = await startedEvaluation();
      await on().log.append(opening);
      const forged = await child.as(sessionNamed('forger'), stranger).next(drafts.note());
      await expect(on().log.append([forged])).rejects.toMatchObject({ code: 'log_corrupt' });
      const damaged = withSignature(runStarted, Uint8Array.from(runStarted.entry.envelope.signature).fill(7, 8, 12));
      await expect(on().log.append([damaged])).rejects.toMatchObject({ code: 'log_corrupt' });
      expect(await all(on().log.records(child.evaluation))).toHaveLength(2);
      expect(await on().log.append([runStarted])).toBe('confirmed');
    });

    test('keeps many ledgers apart that are written at once', async () => {
      const runs = await Promise.all(
        Array.from({ length: 20 }, async () => {
          const { child, opening, runStarted } = await startedEvaluation();
          const answers = [await on().log.append(opening), await on().log.append([runStarted])];
          for (let step = 0; step < 5; step++)
            answers.push(await on().log.append([await child.next(drafts.note(`${step}`))]));
          return { evaluation: child.evaluation, answers };
        }),
      );
      for (const { evaluation, answers } of runs) {
        expect(new Set(answers)).toEqual(new Set(['confirmed']));
        expect(await all(on().log.records(evaluation))).toHaveLength(8);
      }
    });
  });
}
