import { beforeAll, describe, expect, test } from 'vitest';
import type { ScannedRecord } from '#lib/event-log';
import { emptyChains, type Entry, type EvalRunId, fold, openTrustStore } from '#lib/ledger';
import { EvaluationFold, type ViewChange } from '#lib/views';
import { type Evaluated, evaluate, trust } from '../../../../libs/verification/src/evaluation.testkit.js';
import { MemoryViews } from '../../../../libs/views/src/memory.testkit.js';
import type { Terminal } from '../terminal.js';
import { type RebuildFlags, type RebuildPorts, runRebuild, runStatus } from './rebuild.js';

let evaluated: Evaluated[] = [];
beforeAll(async () => {
  evaluated = await Promise.all([evaluate({ seed: 1 }), evaluate({ seed: 2 }), evaluate({ seed: 3 })]);
});
const idOf = (at: number) => evaluated[at]?.evaluation as EvalRunId;

/** The evaluations' entries dealt out in turn, as runs side by side write them. */
function mixed(logs: readonly (readonly Entry[])[]): ScannedRecord[] {
  const longest = Math.max(...logs.map((log) => log.length));
  const dealt = Array.from({ length: longest }, (_, at) => logs.flatMap((log) => log[at] ?? [])).flat();
  return dealt.map((entry, at) => ({ evaluation: entry.eval, position: at + 1, record: entry.envelope }));
}

async function* scanOf(records: readonly ScannedRecord[], batch = 7): AsyncGenerator<readonly ScannedRecord[]> {
  for (let at = 0; at < records.length; at += batch) yield records.slice(at, at + batch);
}

/** As a projector that follows one evaluation would have written it. */
function followed(records: readonly ScannedRecord[], evaluation: EvalRunId): ViewChange {
  const entries = new Map(evaluated.flatMap((one) => one.entries.map((entry) => [entry.envelope, entry])));
  const views = new EvaluationFold(evaluation);
  const live = emptyChains(evaluation);
  for (const { evaluation: id, position, record } of records) {
    const entry = entries.get(record);
    if (id !== evaluation) continue;
    if (entry === undefined) views.foreign(position);
    else views.entry(entry, fold(live, entry), live, position);
  }
  return views.change();
}

class World {
  readonly views = new MemoryViews();
  said = '';
  told = '';

  async rebuild(records: readonly ScannedRecord[], flags: RebuildFlags = {}): Promise<number> {
    const attachments = new Map(evaluated.flatMap((one) => [...one.attachments]));
    const ports: RebuildPorts = {
      scan: scanOf(records),
      keys: openTrustStore(trust),
      attachment: async (sha256) => attachments.get(sha256) ?? null,
      views: this.views,
    };
    return runRebuild(flags, ports, this.terminal());
  }

  terminal(): Terminal {
    const output = (write: (text: string) => void) => ({
      isTerminal: false,
      columns: () => 80,
      paint: (_: unknown, text: string) => text,
      write: async (text: string) => write(text),
    });
    return {
      out: output((text) => {
        this.said += text;
      }),
      err: output((text) => {
        this.told += text;
      }),
    };
  }
}

describe('truss views rebuild', () => {
  test('builds what projectors that followed each evaluation have written, and says that nothing differs', async () => {
    const records = mixed(evaluated.map((one) => one.entries));
    const world = new World();
    for (const { evaluation } of evaluated) await world.views.write(followed(records, evaluation));
    expect(await world.rebuild(records)).toBe(0);
    expect(world.said).toBe('');
    expect(world.told).toContain('3 evaluations built');
    expect(world.told).toContain('What was shown is what the log says.');
    expect((await world.views.status()).version).toBe('memory-1');
    expect(await world.views.list()).toHaveLength(3);
  });

  test('shows what a lost store lacks, and takes away what the log does not hold', async () => {
    const records = mixed(evaluated.slice(0, 2).map((one) => one.entries));
    const world = new World();
    await world.views.write(followed(records, idOf(0)));
    await world.views.write({ ...followed(records, idOf(0)), evaluation: idOf(2) });
    await world.rebuild(records);
    expect(world.said.split('\n').toSorted()).toEqual(
      ['', `${idOf(1)} is in the log and was not shown`, `${idOf(2)} was shown and is not in the log`].toSorted(),
    );
    expect(world.told).toContain('In what was shown: 1 evaluation missing, 1 evaluation not in the log.');
    expect((await world.views.list()).map((row) => row.eval_run_id).toSorted()).toEqual([idOf(0), idOf(1)].toSorted());
  });

  test('names each row that was shown otherwise, and repairs it', async () => {
    const records = mixed([evaluated[0]?.entries ?? []]);
    const world = new World();
    const honest = followed(records, idOf(0));
    const rows = honest.rows.map((one) =>
      one.view === 'report' ? { ...one, row: { ...one.row, verdict: 'bought' } } : one,
    );
    await world.views.write({ ...honest, rows });
    await world.rebuild(records, { json: true });
    expect(JSON.parse(world.said)).toEqual({ kind: 'differs', evaluation: idOf(0), view: 'report', key: '' });
    expect(await world.views.report(idOf(0))).toEqual(honest.rows.find(({ view }) => view === 'report')?.row);
  });

  test('with --dry-run says the same and changes nothing', async () => {
    const records = mixed([evaluated[0]?.entries ?? []]);
    const world = new World();
    await world.rebuild(records, { dryRun: true });
    expect(world.said).toContain('was not shown');
    expect(world.told).toContain('Nothing was changed.');
    expect(await world.views.list()).toEqual([]);
    expect(await world.views.status()).toMatchObject({ version: '0', building: null });
  });

  test('counts foreign records before the end, and none after it; an open evaluation is built as far as it goes', async () => {
    const [first, second] = evaluated;
    const done = mixed([first?.entries ?? []]);
    const open = mixed([second?.entries.slice(0, 6) ?? []]).map((one) => ({ ...one, position: one.position + 1_000 }));
    const rubbish = (evaluation: string, position: number): ScannedRecord => ({
      evaluation,
      position,
      record: { payloadType: 'x', payload: new Uint8Array(3), keyid: 'k' as never, signature: new Uint8Array(64) },
    });
    const world = new World();
    await world.rebuild([
      ...done.slice(0, 4),
      rubbish(idOf(0), 4.5),
      rubbish('no evaluation', 4.6),
      ...done.slice(4),
      ...open,
      rubbish(idOf(0), 2_000),
      rubbish(idOf(2), 2_001),
      { ...(done[0] as ScannedRecord), position: 2_002 },
    ]);
    expect((await world.views.evaluation(idOf(0)))?.records).toMatchObject({ foreign: 1, duplicates: 0 });
    expect((await world.views.evaluation(idOf(0)))?.status).toBe('complete');
    expect((await world.views.evaluation(idOf(1)))?.status).toBe('open');
    expect(await world.views.evaluation(idOf(2))).toBeNull();
  });

  test('that fails leaves what is shown as it was, and nothing half-built', async () => {
    const world = new World();
    const records = mixed(evaluated.map((one) => one.entries));
    await world.views.write(followed(records, idOf(0)));
    async function* broken(): AsyncGenerator<readonly ScannedRecord[]> {
      yield records.slice(0, 10);
      throw new Error('the log is gone');
    }
    const ports = { scan: broken(), keys: openTrustStore(trust), attachment: async () => null, views: world.views };
    await expect(runRebuild({}, ports, world.terminal())).rejects.toThrow('the log is gone');
    expect(await world.views.status()).toMatchObject({ version: '0', evaluations: 1, building: null });
  });
});

test('truss views status says what readers see, and what is being built', async () => {
  const world = new World();
  await runStatus({}, world.views, world.terminal());
  expect(world.said).toBe('0 evaluations in version 0 of format 1\n');
  await world.views.next();
  world.said = '';
  await runStatus({ json: true }, world.views, world.terminal());
  expect(JSON.parse(world.said)).toEqual({ format: 1, version: '0', evaluations: 0, building: 'memory-1' });
});
