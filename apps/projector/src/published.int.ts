import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { reportSchema } from '#lib/evaluation';
import { type Entry, fromEnvelope, type JsonObject, signDraft } from '#lib/ledger';
import { createFixedCodec } from '../../../libs/schemas/src/fixed-codec.testkit.js';
import { type Evaluated, evaluate, projector } from '../../../libs/verification/src/evaluation.testkit.js';
import { ProjectorWorld } from './projector.testkit.js';

const SOON = { timeout: 20_000 };

let evaluated: Evaluated;
beforeAll(async () => {
  evaluated = await evaluate();
});
const worlds: ProjectorWorld[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) expect(await world.close()).toEqual([]);
});

async function projected(entries: readonly Entry[]): Promise<ProjectorWorld> {
  const world = new ProjectorWorld(evaluated);
  worlds.push(world);
  await world.append(entries);
  const accepted = await world.accept();
  await world.projector(null);
  await expect.poll(() => world.committed, SOON).toBe(accepted + 1);
  return world;
}

async function valuesOn(world: ProjectorWorld, topic: 'eval.report' | 'eval.dead-letter'): Promise<JsonObject[]> {
  const values: JsonObject[] = [];
  for await (const { value } of world.open.topics.list(topic)) values.push(value as JsonObject);
  return values;
}

describe('what is published on eval.report', () => {
  test('is the whole report with the signed entry, and its schema takes it as it is', async () => {
    const [value = {}] = await valuesOn(await projected(evaluated.entries), 'eval.report');
    const { envelope, ...report } = value;
    const entry = evaluated.entries.at(-1);
    expect(reportSchema.parse(report)).toEqual({ ...entry?.body, report_ref: evaluated.log.view.state.report?.ref });
    expect(fromEnvelope(envelope)).toEqual(entry?.envelope);
    const codec = createFixedCodec();
    expect(codec.decode('eval.report', codec.encode('eval.report', value) as Uint8Array)).toEqual(value);
  });

  test('is nothing where the signed body is no report: that goes to the dead letters, and the projector goes on', async () => {
    const last = evaluated.entries.at(-1) as Entry;
    const { eval: id, ledger, prev, seq, session, at } = last;
    const draft = { type: 'eval_report', body: { verdict: 'perfect' } } as const;
    const { entry } = await signDraft(draft, { eval: id, ledger, prev, seq, session, at }, projector);
    const world = await projected([...evaluated.entries.slice(0, -1), entry]);
    expect(await valuesOn(world, 'eval.report')).toEqual([]);
    expect(await valuesOn(world, 'eval.dead-letter')).toMatchObject([
      { code: 'report_malformed', topic: 'eval.accepted' },
    ]);
  });
});
