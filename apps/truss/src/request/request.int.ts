import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, test } from 'vitest';
import { CoordinatorModule } from '#app/coordinator';
import { ExecutorModule } from '#app/executor';
import { ProjectorModule } from '#app/projector';
import type { EvalRunId } from '#lib/ledger';
import { verifyEvaluation } from '#lib/verification';
import { listContracts, packTo } from '../contracts/run.js';
import { withDatabase } from '../database.js';
import { listLetters, retryLetter, showLetter } from '../dead-letter/run.js';
import { asking, register, said, unsigned } from './asking.testkit.js';
import { all, AUDIENCE, CONSTANT, MemoryCluster, PROGRAM } from './cluster.testkit.js';
import { cancelOnCluster } from './cancel.js';
import { type RequestFlags, runRequest } from './run.js';

async function accepted({ place }: MemoryCluster): Promise<void> {
  const records = () => withDatabase(place, ({ topics }) => all(topics.list('eval.accepted')));
  await expect.poll(records).not.toEqual([]);
}

describe('a request with its contract', () => {
  test('is run from the archive that came with it, to a report that verifies', async () => {
    const cluster = new MemoryCluster();
    await cluster.serve();
    const { code, stdout, said: shown } = await asking(cluster, cluster.write(PROGRAM), { repeats: 2 });
    expect([code, shown]).toEqual([0, expect.stringContaining('--brokers test:9092 --verify')]);
    const report = JSON.parse(stdout);
    expect(report).toMatchObject({
      contract_id: 'travels',
      repeats: 2,
      arms: [{ counts: { pass: 2 } }, { counts: { pass: 2 } }],
    });
    const verified = await withDatabase(cluster.place, (database) =>
      verifyEvaluation({
        evaluation: report.eval_run_id as EvalRunId,
        records: database.log.records(report.eval_run_id as EvalRunId),
        keys: database.trust,
        attachment: (sha256) => database.log.attachment(sha256),
      }),
    );
    expect(verified.result).toBe('valid');
    expect(cluster.failures).toEqual([]);
  });

  test('made again is the same evaluation, and with other content is refused, whoever is asked', async () => {
    const cluster = new MemoryCluster();
    await cluster.serve();
    const contract = cluster.write(CONSTANT);
    const [one, two] = [
      await asking(cluster, contract, { requestId: 'r' }),
      await asking(cluster, contract, { requestId: 'r' }),
    ];
    expect(two.stdout).toBe(one.stdout);
    const other = await asking(cluster, contract, { requestId: 'r', repeats: 2 });
    expect(other).toMatchObject({
      code: 2,
      stdout: '',
      said: expect.stringContaining('made before with another content'),
    });
    const letters = async () =>
      (await said((terminal) => listLetters({ json: true, last: 10 }, { place: cluster.place, terminal }))).stdout;
    await expect.poll(letters).toContain('"code":"request_conflict"');
  });

  test('without --wait prints the id, and the services do the rest', async () => {
    const cluster = new MemoryCluster();
    const { code, stdout } = await asking(cluster, cluster.write(CONSTANT), { requestId: 'later', wait: false });
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^ev_[0-9a-f]{32}\n$/)]);
    await cluster.serve();
    await accepted(cluster);
    // The seed was drawn: the services know it.
    const waited = await asking(cluster, cluster.write(CONSTANT), { requestId: 'later' });
    expect([waited.code, `${JSON.parse(waited.stdout).eval_run_id}\n`]).toEqual([0, stdout]);
  });

  test('whose files cannot be had ends each run as unverifiable, with the reason in its ledger', async () => {
    const cluster = new MemoryCluster();
    await cluster.serve(undefined, { files: { attachment: async () => null } });
    const { code, stdout } = await asking(cluster, cluster.write(PROGRAM));
    expect(code).toBe(0);
    const { eval_run_id: id, arms } = JSON.parse(stdout);
    expect(arms).toMatchObject([{ counts: { pass: 0, unverifiable: 1 } }, { counts: { unverifiable: 1 } }]);
    const records = await withDatabase(cluster.place, async ({ log }) => {
      const found: string[] = [];
      for await (const { record } of log.records(id)) found.push(new TextDecoder().decode(record.payload));
      return found.filter((payload) => payload.includes('infrastructure_failed'));
    });
    expect(records[0]).toContain('"code":"contract_not_here"');
    expect(records[0]).toContain('not in the log (any more)');
    expect(cluster.failures).toEqual([]);
  });

  test.each<[string, Partial<RequestFlags>, RegExp]>([
    ['for another deployment', { audience: 'another' }, /signature is for the deployment another, and this is tests/],
    ['of more runs than a report holds', { repeats: 1_000_000 }, /one evaluation of this contract can record/],
    ['in another name', { requester: 'ben' }, /signed with a key of ana and says that ben asks/],
    ['of a contract that nobody registered', { registered: true }, /no contract constant with the digest/],
    ['with an archive in no place', { contract: 'none.toml' }, /cannot read none.toml/],
  ])('%s is refused with the reason', async (_what, part, reason) => {
    const cluster = new MemoryCluster();
    await cluster.serve();
    const answer = await asking(cluster, part.contract ?? cluster.write(CONSTANT), part);
    expect(answer.said).toMatch(reason);
    expect([answer.code, answer.stdout]).not.toContain(0);
    expect(cluster.failures).toEqual([]);
  });

  test('without a key names who asks, and must be registered', async () => {
    const cluster = new MemoryCluster();
    const nobody = await said((terminal) =>
      runRequest(
        { contract: cluster.write(CONSTANT), audience: AUDIENCE, repeats: 1 },
        { place: cluster.place, terminal },
      ),
    );
    expect(nobody).toMatchObject({ code: 2, said: expect.stringContaining('nothing says who asks') });
  });
});

test('whatever stands before it on the topic, a good request is run', async () => {
  const cluster = new MemoryCluster();
  await cluster.serve();
  const junk = [
    null,
    7,
    'x',
    [],
    {},
    { kind: 'eval' },
    { kind: 'cancel' },
    { kind: 'eval', contract: { kind: 'inline' } },
  ];
  await withDatabase(cluster.place, async ({ topics }) => {
    for (let no = 0; no < 50; no++)
      await topics.publish('eval.requested', `junk ${no}`, junk[no % junk.length] ?? null);
  });
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, no) => asking(cluster, cluster.write({ ...PROGRAM, 'work/no.txt': String(no) }))),
  );
  expect(answers.map(({ code }) => code)).toEqual(answers.map(() => 0));
  const letters = await withDatabase(cluster.place, ({ topics }) => all(topics.list('eval.dead-letter')));
  expect(letters).toHaveLength(50);
  expect(cluster.failures).toEqual([]);
});

describe('a registered contract', () => {
  test('is shown, and is run for whoever asks by id and digest', async () => {
    const cluster = new MemoryCluster();
    await cluster.serve();
    const file = cluster.write(PROGRAM);
    const before = await unsigned(cluster, file);
    expect(before).toMatchObject({ code: 2, said: expect.stringContaining('truss contracts register') });
    expect((await register(cluster, file)).code).toBe(0);
    const shown = await said((terminal) => listContracts({ audience: AUDIENCE }, { place: cluster.place, terminal }));
    expect(shown.stdout).toMatch(/travels +[0-9a-f]{64} +ana +\d+ bytes/);
    const { code, stdout } = await unsigned(cluster, file);
    expect([code, JSON.parse(stdout).arms[0].counts.pass]).toEqual([0, 1]);
  });

  test('too large to be sent stands where its URL says, and only where the deployment reads', async () => {
    const cluster = new MemoryCluster();
    const allowed = [`${pathToFileURL(cluster.folder).href}/`];
    await cluster.serve([CoordinatorModule, ExecutorModule, ProjectorModule], {
      sources: { allowed },
      files: { allowed },
    });
    // Nothing that gzip makes small.
    const noise = Array.from({ length: 12_000 }, () => crypto.randomUUID() + crypto.randomUUID()).join('\n');
    const file = cluster.write({ ...PROGRAM, 'work/large.txt': noise });
    const large = await asking(cluster, file);
    expect(large).toMatchObject({
      code: 2,
      said: expect.stringMatching(/an archive of [\d,]+ bytes, and 262,144 can be sent: add --archive/),
    });
    const archive = pathToFileURL(join(cluster.folder, 'large.tar.gz')).href;
    const sent = await asking(cluster, file, { archive });
    expect([sent.code, JSON.parse(sent.stdout).arms[0].counts.pass]).toEqual([0, 1]);
    const packed = await said((terminal) => packTo(file, join(cluster.folder, 'again.tar.gz'), { terminal }));
    expect(packed.code).toBe(0);
    expect(readFileSync(join(cluster.folder, 'again.tar.gz'))).toEqual(
      readFileSync(join(cluster.folder, 'large.tar.gz')),
    );
    expect((await register(cluster, file, { archive: 'https://elsewhere.test/a.tar.gz' })).code).toBe(0);
    expect((await unsigned(cluster, file)).said).toMatch(/nowhere where this deployment reads archives/);
  });
});

test('a dead letter is shown, and sent again once what was wrong is right', async () => {
  const cluster = new MemoryCluster();
  await cluster.serve();
  const at = { place: cluster.place };
  const none = await said((terminal) => listLetters({ last: 10 }, { ...at, terminal }));
  expect(none.stdout).toMatch(/No dead letter/);
  const file = cluster.write(CONSTANT);
  await unsigned(cluster, file, { requestId: 'again', seed: 1 });
  const list = await said((terminal) => listLetters({ last: 10 }, { ...at, terminal }));
  const [, id = ''] = /^(\d+\/\d+) .*contract_not_registered/m.exec(list.stdout) ?? [];
  const shown = JSON.parse((await said((terminal) => showLetter(id, { ...at, terminal }))).stdout);
  expect(shown).toMatchObject({ topic: 'eval.requested', code: 'contract_not_registered', value: { requester: 'ci' } });
  await register(cluster, file);
  expect((await said((terminal) => retryLetter(id, { ...at, terminal }))).code).toBe(0);
  const { code, stdout } = await unsigned(cluster, file, { requestId: 'again', seed: 1 });
  expect([code, JSON.parse(stdout).verdict]).toEqual([0, 'pass']);
  expect(await said((terminal) => retryLetter('0/999', { ...at, terminal }))).toMatchObject({ code: 5 });
});

test('a cancel ends what the services drive, and says so', async () => {
  const cluster = new MemoryCluster();
  await cluster.serve([CoordinatorModule, ProjectorModule]);
  const at = { place: cluster.place };
  const { stdout } = await asking(cluster, cluster.write(CONSTANT), { requestId: 'c', wait: false, seed: 1 });
  const id = stdout.trim();
  const waiting = asking(cluster, cluster.write(CONSTANT), { requestId: 'c', seed: 1 });
  await accepted(cluster);
  const flags = { reason: 'enough', audience: AUDIENCE };
  const unsignedCancel = await said((terminal) => cancelOnCluster(id, flags, { ...at, terminal }));
  expect(unsignedCancel).toMatchObject({ code: 2, said: expect.stringContaining('add --key FILE of ana') });
  const byAna = { ...flags, key: cluster.keyFile };
  const cancelled = await said((terminal) => cancelOnCluster(id, byAna, { ...at, terminal }));
  expect(cancelled).toMatchObject({ code: 0, stdout: expect.stringContaining(`${id} is cancelled`) });
  expect(await waiting).toMatchObject({
    code: 6,
    said: expect.stringContaining('was cancelled after 0 of 2 runs: enough'),
  });
  const again = await said((terminal) => cancelOnCluster(id, byAna, { ...at, terminal }));
  expect(again).toMatchObject({ code: 2, said: expect.stringContaining('was cancelled before') });
  const unknown = await said((terminal) => cancelOnCluster(`ev_${'0'.repeat(32)}`, flags, { ...at, terminal }));
  expect(unknown.code).toBe(5);
});
