import { randomUUID } from 'node:crypto';
import { expect, inject, onTestFinished, test } from 'vitest';
import type { EvalRunId } from '#lib/ledger';
import { deployTopics, openKafkaLog } from '#lib/event-log/kafka';
import { deploySchemas, openCodec } from '#lib/schemas';
import { verifyEvaluation } from '#lib/verification';
import { listContracts } from '../contracts/run.js';
import { withDatabase } from '../database.js';
import { listLetters, retryLetter, showLetter } from '../dead-letter/run.js';
import { truss, withEnv } from '../in-process.testkit.js';
import { asking, register, said, unsigned } from './asking.testkit.js';
import { cancelOnCluster } from './cancel.js';
import { all, AUDIENCE, CONSTANT, PROGRAM, TestCluster } from './cluster.testkit.js';

/** Topics and schemas of a test's own, with services of this process on them. */
async function cluster(): Promise<TestCluster & { readonly options: readonly string[] }> {
  const { brokers, registry: url } = inject('stack');
  const prefix = `t-${randomUUID().slice(0, 8)}.`;
  const connection = { brokers, clientId: 'tests' };
  const registry = { url };
  await deployTopics({ connection, prefix, partitions: 2, replication: 1, minInsyncReplicas: 1 });
  await deploySchemas({ registry, prefix });
  const codec = await openCodec({ registry, prefix });
  const failed: unknown[] = [];
  const made = new TestCluster(async (keys) => {
    const log = await openKafkaLog({ connection, prefix, codec, keys, fatal: (error) => failed.push(error) });
    return { ...log, decode: async (topic, bytes) => codec.decode(topic, bytes) };
  });
  onTestFinished(() => expect([...failed, ...made.failures]).toEqual([]));
  await made.serve();
  const options = ['--brokers', brokers.join(','), '--registry', url, '--prefix', prefix];
  return Object.assign(made, { options });
}

test('a request travels with its contract through Kafka to a report that verifies, and made again is the same', async () => {
  const at = await cluster();
  const contract = at.write(PROGRAM);
  const { code, stdout } = await asking(at, contract, { requestId: 'one' });
  expect(code).toBe(0);
  const report = JSON.parse(stdout);
  expect(report).toMatchObject({ contract_id: 'travels', arms: [{ counts: { pass: 1 } }, { counts: { pass: 1 } }] });
  const verified = await withDatabase(at.place, ({ log, trust }) =>
    verifyEvaluation({
      evaluation: report.eval_run_id as EvalRunId,
      records: log.records(report.eval_run_id as EvalRunId),
      keys: trust,
      attachment: (sha256) => log.attachment(sha256),
    }),
  );
  expect(verified.result).toBe('valid');
  expect((await asking(at, contract, { requestId: 'one' })).stdout).toBe(stdout);
  expect(await asking(at, contract, { requestId: 'one', repeats: 2 })).toMatchObject({ code: 2 });
});

test('what is refused stands in the dead letters byte for byte, and is run once its contract is registered', async () => {
  const at = await cluster();
  const places = { place: at.place };
  const contract = at.write(PROGRAM);
  const before = await unsigned(at, contract, { requestId: 'again', seed: 1 });
  expect(before).toMatchObject({ code: 2, said: expect.stringContaining('truss contracts register') });
  const list = await said((terminal) => listLetters({ last: 10 }, { ...places, terminal }));
  const [, id = ''] = /^(\d+\/\d+) .*contract_not_registered/m.exec(list.stdout) ?? [];
  const shown = JSON.parse((await said((terminal) => showLetter(id, { ...places, terminal }))).stdout);
  expect(shown).toMatchObject({ topic: 'eval.requested', value: { requester: 'ci', signature: null } });
  expect((await register(at, contract)).code).toBe(0);
  const registered = await said((terminal) => listContracts({ audience: AUDIENCE }, { ...places, terminal }));
  expect(registered.stdout).toMatch(/travels +[0-9a-f]{64} +ana/);
  expect((await said((terminal) => retryLetter(id, { ...places, terminal }))).code).toBe(0);
  const after = await unsigned(at, contract, { requestId: 'again', seed: 1 });
  expect([after.code, JSON.parse(after.stdout).arms[0].counts.pass]).toEqual([0, 1]);
});

test('a cancel ends what the services run', async () => {
  const at = await cluster();
  const contract = at.write({ ...PROGRAM, 'agent.mjs': 'setInterval(() => {}, 1000);\n' });
  const { stdout } = await asking(at, contract, { requestId: 'c', wait: false });
  const accepted = () => withDatabase(at.place, ({ topics }) => all(topics.list('eval.accepted')));
  await expect.poll(accepted, { timeout: 30_000 }).not.toEqual([]);
  const cancelled = await said((terminal) =>
    cancelOnCluster(
      stdout.trim(),
      { reason: 'enough', key: at.keyFile, audience: AUDIENCE },
      { place: at.place, terminal },
    ),
  );
  expect(cancelled).toMatchObject({ code: 0, stdout: expect.stringContaining('is cancelled') });
  expect((await asking(at, at.write(CONSTANT))).code).toBe(0);
});

test('the command line asks, registers, shows and cancels by the options that name a cluster', async () => {
  const at = await cluster();
  withEnv({ TRUSS_TRUST_FILE: at.trustFile, TRUSS_AUDIENCE: AUDIENCE, TRUSS_REDIS: undefined });
  const contract = at.write(CONSTANT);
  const { options } = at;
  const asked = await truss(
    'request',
    '--contract',
    contract,
    '--repeats',
    '1',
    '--key',
    at.keyFile,
    '--wait',
    ...options,
  );
  expect([asked.code, asked.stderr]).toEqual([0, expect.stringContaining('--verify')]);
  expect(JSON.parse(asked.stdout)).toMatchObject({ contract_id: 'constant', verdict: 'pass' });
  expect((await truss('contracts', 'register', contract, '--key', at.keyFile, ...options)).code).toBe(0);
  expect((await truss('contracts', 'list', ...options)).stdout).toMatch(/constant +[0-9a-f]{64} +ana/);
  const bad = await truss(
    'request',
    '--contract',
    contract,
    '--repeats',
    '1',
    '--requester',
    'ci',
    '--key',
    at.keyFile,
    '--wait',
    ...options,
  );
  expect(bad).toMatchObject({ code: 2, stderr: expect.stringContaining('says that ci asks') });
  expect((await truss('dead-letter', 'list', ...options)).stdout).toContain('requester_mismatch');
  const id = JSON.parse(asked.stdout).eval_run_id;
  const late = await truss('cancel', id, ...options);
  expect(late).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('is complete, so there is nothing to cancel'),
  });
  const verified = await truss('verify', id, ...options);
  expect([verified.code, verified.stdout]).toEqual([0, expect.stringContaining('valid')]);
});
