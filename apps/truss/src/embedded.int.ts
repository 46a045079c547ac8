import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { loadContract } from '#lib/contract';
import type { EvalRequested } from '#lib/evaluation';
import {
  childRunId,
  type Entry,
  type EvalRunId,
  type Joining,
  type JsonValue,
  trustStoreSchema,
  utf8,
} from '#lib/ledger';
import { formatBundle, ProofKeeper } from '#lib/lessons';
import type { OpenView } from '#lib/runtime';
import { verifyEvaluation } from '#lib/verification';
import { keysFolder } from './database.js';
import { type Embedded, openEmbedded } from './embedded.js';

const CRASH = join(import.meta.dirname, '..', '..', '..', 'test', 'crash', 'contract');
const cleanUp: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const step of cleanUp.splice(0).reverse()) await step();
});

/** A contract of one constant answer; `agent` replaces it by a program. */
function constantContract(agent?: string): string {
  const kind =
    agent === undefined ? 'kind = "fixed"\nanswer_text = "yes"' : 'kind = "command"\ncommand = ["node", "agent.mjs"]';
  return `id = "constant"\ninstructions = "Answer."\n[agent]\n${kind}\n[[criteria]]\nid = "yes"\nkind = "match"\nfile = "answer.txt"\nequals = "yes"\n[budget]\nmax_steps = 100\ntimeout = "60s"\n`;
}

/** One process with its own database. */
class World {
  readonly folder = mkdtempSync(join(tmpdir(), 'truss-embedded-'));
  readonly db = join(this.folder, 'truss.db');
  readonly failures: unknown[] = [];

  constructor() {
    cleanUp.push(() => rmSync(this.folder, { recursive: true, force: true }));
  }

  async open(): Promise<Embedded> {
    const embedded = await openEmbedded({ db: this.db, fatal: (error) => this.failures.push(error) });
    cleanUp.push(() => embedded.stop());
    return embedded;
  }

  async request(contract: string, part: Partial<EvalRequested> = {}): Promise<EvalRequested> {
    const loaded = await loadContract(contract);
    const { primary, alpha, margin, min_units } = loaded.contract.evaluation;
    return {
      kind: 'eval',
      requester: 'tester',
      request_id: 'one',
      contracts: [{ digest: loaded.digest as never, contract: loaded.contract }],
      repeats: 2,
      replicates: 1,
      seed: 3,
      concurrency: 2,
      starting_lessons: [],
      max_cost_nano_usd: null,
      deadline_ms: 3_600_000,
      statistics: { method_version: 1, primary, alpha, margin, min_units },
      files: [{ directory: loaded.directory, workspace: loaded.workspaceDir }],
      ...part,
    };
  }

  constant(agent?: string, part: Partial<EvalRequested> = {}): Promise<EvalRequested> {
    writeFileSync(join(this.folder, 'contract.toml'), constantContract(agent));
    if (agent !== undefined) writeFileSync(join(this.folder, 'agent.mjs'), agent);
    return this.request(join(this.folder, 'contract.toml'), part);
  }

  crash(part: Partial<EvalRequested> = {}, change = (contract: string) => contract): Promise<EvalRequested> {
    const folder = mkdtempSync(join(this.folder, 'crash-'));
    cpSync(CRASH, folder, { recursive: true });
    const file = join(folder, 'contract.toml');
    writeFileSync(file, change(readFileSync(file, 'utf8')));
    return this.request(file, part);
  }

  async verify(embedded: Embedded, evaluation: EvalRunId) {
    return verifyEvaluation({
      evaluation,
      records: embedded.open.log.records(evaluation),
      keys: trustStoreSchema.parse(JSON.parse(readFileSync(join(keysFolder(this.db), 'trust.json'), 'utf8'))),
      attachment: (sha256) => embedded.open.log.attachment(sha256),
    });
  }
}

async function submit(
  embedded: Embedded,
  request: EvalRequested,
): Promise<{ id: EvalRunId; open: OpenView; entries: Entry[] }> {
  for (const [no, { digest }] of request.contracts.entries()) {
    const files = request.files[no];
    if (files !== undefined && 'directory' in files) embedded.locate(digest, files);
  }
  const id = await embedded.submit(request);
  const entries: Entry[] = [];
  const open = await embedded.follow(id);
  open.subscribe((entry: Entry, joining: Joining) => {
    if (joining === 'joined') entries.push(entry);
  });
  return { id, open, entries };
}

async function until(what: string, condition: () => boolean): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(`it did not come about: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

async function deadLetters(embedded: Embedded): Promise<JsonValue[]> {
  const letters: JsonValue[] = [];
  for await (const { value } of embedded.open.topics.list('eval.dead-letter')) letters.push(value);
  return letters;
}

const SLOW = `import { appendFileSync } from 'node:fs';
const tell = (event) => appendFileSync(process.env.TRUSS_EVENTS, JSON.stringify(event) + '\\n');
tell({ type: 'usage', input_tokens: 1, output_tokens: 1, cost_usd: 0.01 });
setInterval(() => tell({ type: 'step', name: 'wait' }), 1000);
`;

describe('one evaluation in one process', () => {
  test('runs through every gate to a signed report that verifies, and learning_off learned nothing', async () => {
    const world = new World();
    const embedded = await world.open();
    await embedded.start();
    const { id, open, entries } = await submit(embedded, await world.crash());
    await until('a report', () => open.view.state.report !== null);
    const verified = await world.verify(embedded, id);
    expect(verified).toMatchObject({ result: 'valid', outcome: 'complete' });
    expect(verified.report?.report_ref).toMatch(/^ev_[0-9a-f]{32}#\d+@[0-9a-f]{64}$/);
    const learned = entries.filter(({ type }) => type.startsWith('lesson'));
    expect(new Set(learned.map(({ ledger }) => ledger.split('.')[2]))).toEqual(new Set(['on']));
    expect(learned.filter(({ type }) => type === 'lesson_promoted')).toHaveLength(2);
    expect(
      open.view.state.children.get(childRunId({ eval: id, contract: 0, arm: 'on', replicate: 1, repeat: 2 }))?.rendered
        .lessons,
    ).toBe(1);
    expect(world.failures).toEqual([]);
  });

  test('lessons of one evaluation are where another one starts', async () => {
    const world = new World();
    const embedded = await world.open();
    await embedded.start();
    const { starting, ref } = await oneLesson(world, embedded);
    const second = await submit(
      embedded,
      await world.crash({ request_id: 'two', repeats: 1, starting_lessons: starting }),
    );
    await until('a second report', () => second.open.view.state.report !== null);
    const on = second.open.view.state.children.get(onRun(second.id));
    expect(on?.request.body.lessons).toEqual([ref]);
    expect(on?.rendered.lessons).toBe(1);
    expect((await world.verify(embedded, second.id)).result).toBe('valid');
  });

  test('a run that is taken up after its recall still knows the lessons that it started from', async () => {
    const world = new World();
    const first = await world.open();
    await first.start();
    // A panel labelled it, so what cites it is trusted no higher than a panel.
    const { starting } = await oneLesson(world, first);
    const request = await world.crash({ request_id: 'two', repeats: 1, starting_lessons: starting }, withoutReview);
    const { id, entries } = await submit(first, request);
    await until('a lesson under judgement', () => entries.some(({ type }) => type === 'lesson_extracted'));
    await first.stop();

    const later = await world.open();
    const { open, entries: more } = await submit(later, request);
    await later.start();
    await until('a report', () => open.view.state.report !== null);
    const lessons = [...entries, ...more].flatMap((entry) =>
      entry.type === 'lesson_extracted' ? [entry.body.lesson.trust] : [],
    );
    expect(lessons).toEqual(['panel']);
    expect(await world.verify(later, id)).toMatchObject({
      result: 'valid',
      findings: expect.not.arrayContaining([expect.objectContaining({ severity: 'error' })]),
    });
  });
});

/** Runs an evaluation in which a panel judged, and gives its one lesson as another one starts from it. */
async function oneLesson(world: World, embedded: Embedded) {
  const { open, entries } = await submit(embedded, await world.crash({ repeats: 1 }));
  await until('a report', () => open.view.state.report !== null);
  // As `truss lessons export` does: from all entries of the log.
  const keeper = new ProofKeeper();
  for (const entry of entries) keeper.observe(entry, 'joined');
  const [promoted] = [...open.view.state.children.values()].flatMap((child) => child.promoted);
  const proof = promoted === undefined ? undefined : keeper.proof(promoted.ref);
  if (promoted === undefined || proof === undefined) throw new Error('no lesson was promoted');
  const attachment = await embedded.open.log.putAttachment(utf8(formatBundle([proof])));
  return { ref: promoted.ref, starting: [{ lesson: promoted.ref, proof: attachment }] };
}

const onRun = (evaluation: EvalRunId) =>
  childRunId({ eval: evaluation, contract: 0, arm: 'on', replicate: 1, repeat: 1 });
const withoutReview = (contract: string) => contract.replace(/\[\[criteria\]\]\nid = "taste"\n.*\n.*\n/, '');

describe('an evaluation that ends early', () => {
  test('a cancel takes effect at once: the running agents are stopped and the ledger says so', async () => {
    const world = new World();
    const embedded = await world.open();
    await embedded.start();
    const { id, open, entries } = await submit(embedded, await world.constant(SLOW));
    await until('a running agent', () => entries.some(({ type }) => type === 'agent_reported'));
    await embedded.open.topics.publish('eval.requested', id, { kind: 'cancel', eval_run_id: id, reason: 'enough' });
    await until('the close', () => open.view.state.closed !== null);
    expect(open.view.state.closed?.body).toMatchObject({ outcome: 'cancelled', reason: 'enough' });
    expect((await world.verify(embedded, id)).result).toBe('ended');
  });

  test('past its deadline it has failed', async () => {
    const world = new World();
    const embedded = await world.open();
    await embedded.start();
    const { open } = await submit(embedded, await world.constant(SLOW, { deadline_ms: 1500 }));
    await until('the close', () => open.view.state.closed !== null);
    expect(open.view.state.closed?.body).toMatchObject({
      outcome: 'failed',
      reason: expect.stringContaining('deadline'),
    });
  });

  test('its budget is charged as usage arrives, and spent it has failed', async () => {
    const world = new World();
    const embedded = await world.open();
    await embedded.start();
    const { open } = await submit(embedded, await world.constant(SLOW, { max_cost_nano_usd: 15_000_000 }));
    await until('the close', () => open.view.state.closed !== null);
    expect(open.view.state.closed?.body).toMatchObject({
      outcome: 'failed',
      reason: expect.stringContaining('budget'),
    });
  });
});

describe('what comes on the topics is believed by nobody', () => {
  test('a request that comes twice is one evaluation', async () => {
    const world = new World();
    const embedded = await world.open();
    await embedded.start();
    const request = await world.constant();
    const { id, open, entries } = await submit(embedded, request);
    await embedded.submit(request);
    await until('a report', () => open.view.state.report !== null);
    await embedded.submit(request);
    await embedded.stop();
    // Nothing of it is left to be taken up: a later process reads none of its records again.
    const later = await world.open();
    const unread: unknown[] = [];
    for (const group of ['coordinator', 'projector'])
      await later.open.topics.consume('eval.accepted', group, {
        record: (record) => void unread.push([group, record.position]),
      });
    expect(unread).toEqual([]);
    expect(entries.filter(({ type }) => type === 'eval_started' || type === 'eval_report')).toHaveLength(2);
    expect((await later.open.log.evaluations()[Symbol.asyncIterator]().next()).value).toBe(id);
  });

  test('one request_id with two contents: the first counts, the second is a dead letter', async () => {
    const world = new World();
    const embedded = await world.open();
    await embedded.start();
    const request = await world.constant();
    const { open } = await submit(embedded, request);
    await until('a report', () => open.view.state.report !== null);
    await embedded.submit({ ...request, repeats: 3 });
    let letters: JsonValue[] = [];
    for (let i = 0; i < 500 && letters.length === 0; i++) {
      await new Promise((resolve) => setTimeout(resolve, 10));
      letters = await deadLetters(embedded);
    }
    expect(letters).toEqual([expect.objectContaining({ code: 'request_conflict' })]);
  });

  test('nonsense becomes a dead letter with a code and a sentence, and the services go on', async () => {
    const world = new World();
    const embedded = await world.open();
    await embedded.start();
    for (const nonsense of [null, 7, { kind: 'eval' }, { kind: 'cancel', eval_run_id: 'x', reason: '' }]) {
      await embedded.open.topics.publish('eval.requested', 'x', nonsense);
    }
    const { open } = await submit(embedded, await world.constant());
    await until('a report', () => open.view.state.report !== null);
    const letters = await deadLetters(embedded);
    expect(letters.map((letter) => (letter as { code: string }).code)).toEqual([
      'bad_request',
      'bad_request',
      'bad_request',
      'bad_id',
    ]);
  });

  test('a forged command runs nothing', async () => {
    const world = new World();
    const embedded = await world.open();
    await embedded.start();
    const { id, open, entries } = await submit(embedded, await world.constant());
    for (const child of ['nonsense', childRunId({ eval: id, contract: 0, arm: 'on', replicate: 9, repeat: 9 })]) {
      await embedded.open.topics.publish('eval.child-run.commands', child, { child_run_id: child });
    }
    await until('a report', () => open.view.state.report !== null);
    expect(entries.some(({ ledger }) => ledger.endsWith('.9.9'))).toBe(false);
    expect((await world.verify(embedded, id)).result).toBe('valid');
  });
});

test('a process that stops and another that goes on: one evaluation, nothing run twice', async () => {
  const world = new World();
  const first = await world.open();
  await first.start();
  const request = await world.constant(undefined, { repeats: 30 });
  const { id, entries } = await submit(first, request);
  await until('some runs', () => entries.filter(({ type }) => type === 'child_anchor').length > 6);
  await first.stop();

  const second = await world.open();
  const { open, entries: more } = await submit(second, request);
  await second.start();
  await until('a report', () => open.view.state.report !== null);
  expect(more.some(({ type, ledger }) => type === 'writer_changed' && ledger === id)).toBe(true);
  const verified = await world.verify(second, id);
  expect(verified).toMatchObject({ result: 'valid', met: { superseded: 0 } });
  expect(world.failures).toEqual([]);
});
