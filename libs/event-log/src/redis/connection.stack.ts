import { generate } from 'selfsigned';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openRedis, redisReady } from './connection.js';
import { createRedisLeases } from './leases.js';
import { type RedisServer, redisServer } from './server.testkit.js';

describe('a Redis with TLS and users of its own', () => {
  const PREFIX = 'cell.';
  let server: RedisServer;
  let ca = '';
  beforeAll(async () => {
    const extensions = [{ name: 'subjectAltName' as const, altNames: [{ type: 7 as const, ip: '127.0.0.1' }] }];
    const pems = await generate([{ name: 'commonName', value: '127.0.0.1' }], { keyType: 'ec', extensions });
    ca = pems.cert;
    // What docs/operations.md gives an executor: its leases, and the commands by which they are held.
    const executor = [
      'on >secret',
      `~${PREFIX}lease:*`,
      `~${PREFIX}leases`,
      '-@all +hello +client|setname +info +ping +eval +time +get +set +del',
    ];
    server = await redisServer({
      tls: { key: pems.private, cert: pems.cert },
      args: ['--user', 'default', 'off', '--user', 'executor', ...executor.join(' ').split(' ')],
    });
  });
  afterAll(() => server.remove());

  test('is reached by a user who may hold leases and nothing else', async () => {
    const redis = openRedis({ url: server.url, username: 'executor', password: 'secret', tls: { ca }, name: 'x1' });
    await expect.poll(() => redis.status).toBe('ready');
    const faults: unknown[] = [];
    const leases = createRedisLeases(redis, { prefix: PREFIX, fault: (error) => faults.push(error) });
    expect(await leases.hold('child', 'a', 1_000, false)).toBe(true);
    expect(await leases.hold('child', 'b', 1_000, false)).toBe(false);
    await leases.release('child', 'a');
    expect(await leases.hold('child', 'b', 1_000, false)).toBe(true);
    expect(faults).toEqual([]);
    await expect(redis.get('other.lease:child')).rejects.toThrow('NOPERM');
    await expect(redis.flushall()).rejects.toThrow('NOPERM');
    redis.disconnect();
  });

  test.for([
    ['a wrong password', { username: 'executor', password: 'guess', tls: true }, 'WRONGPASS'],
    ['a certificate that nobody vouches for', { username: 'executor', password: 'secret', tls: false }, 'self-signed'],
  ] as const)('refuses %s, says so, and goes on trying', async ([, { username, password, tls }, message]) => {
    const faults: string[] = [];
    const redis = openRedis(
      { url: server.url, username, password, ...(tls ? { tls: { ca } } : {}) },
      { fault: (error) => faults.push(error.message) },
    );
    await expect.poll(() => faults.filter((fault) => fault.includes(message)).length).toBeGreaterThan(1);
    expect(redis.status).not.toBe('ready');
    redis.disconnect();
  });
});

describe('waiting for a connection', () => {
  test('ends when it is ready, and is over at once when it is ready already', async () => {
    const server = await redisServer();
    const redis = openRedis({ url: server.url });
    await redisReady(redis, 5_000);
    expect(redis.status).toBe('ready');
    await redisReady(redis, 0);
    redis.disconnect();
    await server.remove();
  });

  test('says why there is none, or that nobody answered in time', async () => {
    const refused = openRedis({ url: 'redis://127.0.0.1:1' });
    await expect(redisReady(refused, 5_000)).rejects.toThrow('ECONNREFUSED');
    refused.disconnect();
    const server = await redisServer();
    server.halt();
    const silent = openRedis({ url: server.url });
    await expect(redisReady(silent, 200)).rejects.toMatchObject({ code: 'deadline' });
    silent.disconnect();
    server.resume();
    await server.remove();
  });
});
