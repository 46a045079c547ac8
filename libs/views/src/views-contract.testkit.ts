import { beforeEach, describe, expect, test } from 'vitest';
import type { EvalRunId } from '#lib/ledger';
import { change, evaluationNamed, ledgerRow, reportRow } from './fixtures.testkit.js';
import type { NextViews, ViewDifference, Views } from './port.js';

const [one, two, three] = ['one', 'two', 'three'].map(evaluationNamed) as [EvalRunId, EvalRunId, EvalRunId];

async function differencesOf(next: NextViews): Promise<ViewDifference[]> {
  const found: ViewDifference[] = [];
  for await (const difference of next.differences()) found.push(difference);
  return found;
}

/** What every adapter of the views must do. `make` gives empty ones. */
export function describeViews(name: string, make: () => Promise<Views>): void {
  describe(`views: ${name}`, () => {
    let views: Views;
    beforeEach(async () => {
      views = await make();
    });
    const summary = async () => (await views.evaluation(one))?.summary;
    const entries = async () => (await views.ledgers(one)).map((row) => row.entries);

    test('know nothing of what was not written', async () => {
      expect(await views.list()).toEqual([]);
      expect(await views.evaluation(one)).toBeNull();
      expect(await views.report(one)).toBeNull();
      expect(await views.ledgers(one)).toEqual([]);
      expect(await views.lessons(one)).toEqual([]);
      expect(await views.status()).toMatchObject({ evaluations: 0, building: null });
    });

    test('show a change whole, with its report and the ledgers of its runs after its own', async () => {
      const rows = [ledgerRow(`${one}.0.on.1.1`, 7), ledgerRow(one, 3), reportRow({ verdict: 'pass', '{}': [1, 'ü'] })];
      expect(await views.write(change(one, { base: null, position: 5, summary: 'first', rows }))).toBe('written');
      expect(await summary()).toBe('first');
      expect(await views.report(one)).toEqual({ verdict: 'pass', '{}': [1, 'ü'] });
      expect((await views.ledgers(one)).map(({ ledger }) => ledger)).toEqual([one, `${one}.0.on.1.1`]);
      expect(await views.status()).toMatchObject({ evaluations: 1 });
    });

    test('are changed by nothing that they hold already, in whatever order it comes', async () => {
      await views.write(change(one, { base: null, position: 5, summary: 'five', rows: [ledgerRow(one, 5)] }));
      await views.write(change(one, { base: 5, position: 9, summary: 'nine', rows: [ledgerRow(one, 9)] }));
      const older = [
        change(one, { base: 5, position: 9, summary: 'again', rows: [ledgerRow(one, 1)] }),
        change(one, { base: 5, position: 7, summary: 'older', rows: [ledgerRow(one, 1)] }),
        change(one, { base: null, position: 8, summary: 'older whole', rows: [ledgerRow(one, 1)] }),
      ];
      for (const late of older) expect(await views.write(late)).toBe('stale');
      expect(await summary()).toBe('nine');
      expect(await entries()).toEqual([9]);
    });

    test('take a change that begins where they are or before, and ask for all rows where something is missing', async () => {
      expect(await views.write(change(one, { base: 5, position: 9 }))).toBe('gap');
      expect(await views.list()).toEqual([]);
      await views.write(change(one, { base: null, position: 5 }));
      expect(await views.write(change(one, { base: 7, position: 9, summary: 'nine' }))).toBe('gap');
      expect(await summary()).toBe('');
      expect(await views.write(change(one, { base: 3, position: 9, summary: 'nine' }))).toBe('written');
      expect(await views.write(change(one, { base: null, position: 12, summary: 'twelve' }))).toBe('written');
      expect(await summary()).toBe('twelve');
    });

    test('hold positions up to 2^53 exactly', async () => {
      await views.write(change(one, { base: null, position: 2 ** 53 - 2 }));
      expect(await views.write(change(one, { base: 2 ** 53 - 2, position: 2 ** 53 - 1 }))).toBe('written');
      expect(await views.write(change(one, { base: null, position: 2 ** 53 - 1 }))).toBe('stale');
    });

    test('list evaluations by their start, the last first, page by page, and keep the place of one that changes', async () => {
      await views.write(change(two, { base: null, position: 2, started: 20 }));
      await views.write(change(one, { base: null, position: 1, started: 10 }));
      await views.write(change(three, { base: null, position: 3, started: 30 }));
      await views.write(change(one, { base: 1, position: 4, started: 10, summary: 'changed' }));
      const first = await views.list({ limit: 2 });
      expect(first.map((row) => row.eval_run_id)).toEqual([three, two]);
      const rest = await views.list({ limit: 2, after: two });
      expect(rest.map((row) => [row.eval_run_id, row.summary])).toEqual([[one, 'changed']]);
      expect(await views.list({ after: one })).toEqual([]);
      expect(await views.list({ after: evaluationNamed('nobody') })).toEqual([]);
    });

    describe('while the next version is built', () => {
      test('readers see the old one, all of it, and then the new one, all of it', async () => {
        await views.write(change(one, { base: null, position: 5, summary: 'old', rows: [ledgerRow(one, 5)] }));
        await views.write(change(two, { base: null, position: 6, started: 1 }));
        const before = await views.status();
        const next = await views.next();
        expect(await views.status()).toEqual({ ...before, building: next.version });
        await next.write(change(one, { base: null, position: 5, summary: 'new' }));
        expect(await summary()).toBe('old');
        expect(await views.list()).toHaveLength(2);
        await next.show();
        expect(await summary()).toBe('new');
        expect(await views.list()).toHaveLength(1);
        expect(await views.ledgers(one)).toEqual([]);
        expect(await views.evaluation(two)).toBeNull();
        expect(await views.status()).toMatchObject({ version: next.version, evaluations: 1, building: null });
      });

      test('what is written meanwhile goes to both, and the builder does not undo it', async () => {
        await views.write(change(one, { base: null, position: 5 }));
        const next = await views.next();
        // The next version does not have what the change begins with, so all rows are asked for.
        expect(await views.write(change(one, { base: 5, position: 6, summary: 'six' }))).toBe('gap');
        expect(await views.write(change(one, { base: null, position: 6, summary: 'six' }))).toBe('stale');
        expect(await next.write(change(one, { base: null, position: 5, summary: 'builder, late' }))).toBe('stale');
        expect(await views.write(change(one, { base: 6, position: 7, summary: 'seven' }))).toBe('written');
        await next.show();
        expect(await summary()).toBe('seven');
        expect(await views.write(change(one, { base: 7, position: 8, summary: 'eight' }))).toBe('written');
        expect(await summary()).toBe('eight');
      });

      test('it says how the two differ, row by row', async () => {
        const child = `${one}.0.on.1.1`;
        await views.write(
          change(one, { base: null, position: 5, rows: [ledgerRow(one), ledgerRow(child, 4), reportRow({ a: 1 })] }),
        );
        await views.write(change(two, { base: null, position: 6 }));
        const next = await views.next();
        await next.write(change(one, { base: null, position: 5, rows: [ledgerRow(one), ledgerRow(child, 5)] }));
        await next.write(change(three, { base: null, position: 7 }));
        const found = await differencesOf(next);
        expect(new Set(found)).toEqual(
          new Set([
            { kind: 'differs', evaluation: one, view: 'report', key: '' },
            { kind: 'differs', evaluation: one, view: 'ledger', key: child },
            { kind: 'missing', evaluation: three },
            { kind: 'extra', evaluation: two },
          ]),
        );
        expect(found).toHaveLength(4);
      });

      test('equal versions have no difference, and one that has read further is said to be elsewhere', async () => {
        await views.write(change(one, { base: null, position: 5 }));
        await views.write(change(two, { base: null, position: 6, started: 1 }));
        const next = await views.next();
        await next.write(change(one, { base: null, position: 5 }));
        await next.write(change(two, { base: null, position: 8, started: 1 }));
        expect(await differencesOf(next)).toEqual([{ kind: 'position', evaluation: two }]);
      });

      test('one that is discarded leaves everything as it was', async () => {
        await views.write(change(one, { base: null, position: 5, summary: 'old' }));
        const before = await views.status();
        const next = await views.next();
        await next.write(change(one, { base: null, position: 9, summary: 'new' }));
        await next.discard();
        expect(await views.status()).toEqual(before);
        expect(await summary()).toBe('old');
        await expect(next.write(change(one, { base: null, position: 10 }))).rejects.toThrow('another rebuild');
      });

      test('a later builder displaces an earlier one, which neither writes nor shows anything any more', async () => {
        const first = await views.next();
        const second = await views.next();
        await second.write(change(one, { base: null, position: 5, summary: 'second' }));
        await expect(first.write(change(one, { base: null, position: 9 }))).rejects.toMatchObject({
          code: 'rebuild_displaced',
        });
        await expect(first.show()).rejects.toMatchObject({ code: 'rebuild_displaced' });
        await second.show();
        expect(await summary()).toBe('second');
      });
    });
  });
}
