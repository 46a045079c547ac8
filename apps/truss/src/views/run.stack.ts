import { expect, inject, test } from 'vitest';
import { truss, withEnv } from '../in-process.testkit.js';

const CLUSTER = {
  TRUSS_BROKERS: undefined,
  TRUSS_REGISTRY: undefined,
  TRUSS_REDIS: undefined,
  TRUSS_PREFIX: undefined,
};

test('truss views status needs a Redis and nothing else', async () => {
  withEnv(CLUSTER);
  const said = await truss('views', 'status', '--redis', inject('stack').redis, '--prefix', 't-views-status.');
  expect(said).toEqual({ code: 0, stdout: '0 evaluations in version 0 of format 1\n', stderr: '' });
});

test('truss views status says that Redis cannot be reached, and why', async () => {
  withEnv(CLUSTER);
  const { code, stderr } = await truss('views', 'status', '--redis', 'redis://127.0.0.1:1');
  expect(code).toBe(2);
  expect(stderr).toContain('Redis cannot be reached (connect ECONNREFUSED 127.0.0.1:1): check --redis');
});

test.for(['status', 'rebuild'])('truss views %s says that a database has no views', async (command) => {
  withEnv(CLUSTER);
  const { code, stderr } = await truss('views', command, '--db', 'truss.db');
  expect(code).toBe(2);
  expect(stderr).toContain('name the cluster by --brokers, --registry and --redis');
});

test('truss views rebuild says all that it needs at once', async () => {
  withEnv(CLUSTER);
  const { code, stderr } = await truss('views', 'rebuild', '--redis', inject('stack').redis);
  expect(code).toBe(2);
  for (const missing of ['TRUSS_BROKERS', 'TRUSS_REGISTRY', 'TRUSS_TRUST_FILE']) expect(stderr).toContain(missing);
});
