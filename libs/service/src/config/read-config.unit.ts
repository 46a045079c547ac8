import { join } from 'node:path';
import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { ConfigError } from './errors.js';
import { type Part, readConfig } from './read-config.js';

const CLUSTER = {
  TRUSS_BROKERS: 'a:9092, b:9093,[::1]:9094',
  TRUSS_REGISTRY: 'https://registry:8081/',
  TRUSS_REDIS: 'rediss://truss@cache:6380/2',
  TRUSS_TRUST_FILE: 'trust.json',
};
const ALL: readonly Part[] = ['kafka', 'registry', 'redis', 'trust'];

function problemsOf(work: () => unknown): Record<string, string> {
  try {
    work();
  } catch (error) {
    if (error instanceof ConfigError)
      return Object.fromEntries(error.problems.map(({ variable, message }) => [variable, message]));
    throw error;
  }
  return {};
}

describe('the configuration', () => {
  test('of a cluster is read from the environment, and a user in a URL becomes the user', () => {
    const config = readConfig(CLUSTER, {}, { parts: ALL, clientId: 'truss-executor' });
    expect(config.kafka).toEqual({ brokers: ['a:9092', 'b:9093', '[::1]:9094'], clientId: 'truss-executor' });
    expect(config.registry).toEqual({ url: 'https://registry:8081' });
    expect(config.redis).toEqual({ url: 'rediss://cache:6380/2', username: 'truss', name: 'truss-executor' });
    expect(config).toMatchObject({
      trust: 'trust.json',
      prefix: '',
      concurrency: 4,
      leaseMs: 10_000,
      http: { host: '127.0.0.1', port: 9464 },
      logLevel: 'info',
      otlp: null,
      keyFiles: { coordinator: null, executor: null, projector: null },
    });
  });

  test('by flags wins over the environment, and what is empty is not set', () => {
    const config = readConfig(
      { ...CLUSTER, TRUSS_PREFIX: 'cell-1.', TRUSS_CONCURRENCY: ' ' },
      { brokers: 'c:1', prefix: 'cell-2.' },
      { parts: ALL },
    );
    expect(config.kafka.brokers).toEqual(['c:1']);
    expect(config.prefix).toBe('cell-2.');
    expect(config.concurrency).toBe(4);
  });

  test('that lacks everything is told of everything at once, with what was expected and what to do', () => {
    const problems = problemsOf(() =>
      readConfig(
        {
          TRUSS_KAFKA_SASL_MECHANISM: 'scram-sha-512',
          TRUSS_CONCURRENCY: '0',
          TRUSS_LEASE_TIME: '1h',
          TRUSS_SESSION_TIMEOUT: '100ms',
          TRUSS_HTTP_PORT: '70000',
          TRUSS_LOG_LEVEL: 'loud',
          TRUSS_PREFIX: 'a/b',
          TRUSS_OTLP_ENDPOINT: 'collector:4318',
          TRUSS_TLS_CERT_FILE: '/nowhere/cert.pem',
          TRUSS_ARCHIVE_URLS: 'https://files/contracts',
          TRUSS_QUOTA_USD_PER_DAY: 'much',
          TRUSS_MAX_DEADLINE: '1y',
          TRUSS_SIGNED_ONLY: 'yes',
        },
        {},
        { parts: ALL, roles: ['coordinator', 'projector'] },
      ),
    );
    expect(Object.keys(problems).toSorted()).toEqual([
      'TRUSS_ARCHIVE_URLS',
      'TRUSS_BROKERS',
      'TRUSS_CONCURRENCY',
      'TRUSS_COORDINATOR_KEY_FILE',
      'TRUSS_HTTP_PORT',
      'TRUSS_KAFKA_SASL_PASSWORD',
      'TRUSS_KAFKA_SASL_USERNAME',
      'TRUSS_LEASE_TIME',
      'TRUSS_LOG_LEVEL',
      'TRUSS_MAX_DEADLINE',
      'TRUSS_OTLP_ENDPOINT',
      'TRUSS_PREFIX',
      'TRUSS_PROJECTOR_KEY_FILE',
      'TRUSS_QUOTA_USD_PER_DAY',
      'TRUSS_REDIS',
      'TRUSS_REGISTRY',
      'TRUSS_SESSION_TIMEOUT',
      'TRUSS_SIGNED_ONLY',
      'TRUSS_TLS_CERT_FILE',
      'TRUSS_TLS_KEY_FILE',
      'TRUSS_TRUST_FILE',
    ]);
    for (const message of Object.values(problems)) expect(message).toMatch(/set|give|correct it|take|check/);
    expect(problems['TRUSS_BROKERS']).toBe(
      'is not set; expected host:port, or several with commas between them: set it, or give --brokers',
    );
  });

  test('of a process that needs little asks for little', () => {
    expect(readConfig({ TRUSS_BROKERS: 'a:1' }, {}, { parts: ['kafka'] }).kafka.brokers).toEqual(['a:1']);
    expect(() => readConfig({}, {}, { parts: [] })).not.toThrow();
  });

  test.each(['a', 'a:0', 'a:99999', 'kafka://a:1', 'a:1,', 'a b:1'])('refuses the brokers %j', (brokers) => {
    expect(problemsOf(() => readConfig({ TRUSS_BROKERS: brokers }, {}, { parts: [] }))).toHaveProperty('TRUSS_BROKERS');
  });

  test.each([
    ['PLAIN', 'plain'],
    ['SCRAM-SHA-256', 'scram-sha-256'],
    ['scram-sha-512', 'scram-sha-512'],
  ])('SASL by %s means TLS, unless that is refused in so many words', (mechanism, sasl) => {
    const env = {
      ...CLUSTER,
      TRUSS_KAFKA_SASL_MECHANISM: mechanism,
      TRUSS_KAFKA_SASL_USERNAME: 'truss-executor',
      TRUSS_KAFKA_SASL_PASSWORD: 'geheim',
    };
    const { kafka } = readConfig(env, {}, { parts: ALL });
    expect(kafka).toMatchObject({
      ssl: true,
      sasl: { mechanism: sasl, username: 'truss-executor', password: 'geheim' },
    });
    const clear = readConfig({ ...env, TRUSS_KAFKA_TLS: 'false' }, {}, { parts: ALL });
    expect(clear.kafka.ssl).toBeUndefined();
    expect(clear.warnings).toHaveLength(sasl === 'plain' ? 1 : 0);
  });

  test('OAUTHBEARER takes client credentials or a file, and not both', () => {
    const oauth = { ...CLUSTER, TRUSS_KAFKA_SASL_MECHANISM: 'OAUTHBEARER' };
    expect(problemsOf(() => readConfig(oauth, {}, { parts: ALL }))).toHaveProperty('TRUSS_KAFKA_OAUTH_TOKEN_URL');
    const both = { TRUSS_KAFKA_OAUTH_TOKEN_URL: 'https://a/t', TRUSS_KAFKA_OAUTH_TOKEN_FILE: import.meta.filename };
    expect(problemsOf(() => readConfig({ ...oauth, ...both }, {}, { parts: ALL }))).toEqual({
      TRUSS_KAFKA_OAUTH_TOKEN_URL: expect.stringContaining('keep one of them'),
    });
    const credentials = {
      TRUSS_KAFKA_OAUTH_TOKEN_URL: 'https://a/t',
      TRUSS_KAFKA_OAUTH_CLIENT_ID: 'me',
      TRUSS_KAFKA_OAUTH_CLIENT_SECRET: 'geheim',
    };
    const { kafka } = readConfig({ ...oauth, ...credentials }, {}, { parts: ALL });
    expect(kafka.sasl).toMatchObject({ mechanism: 'oauthbearer' });
  });

  test('one user in two places is refused, and so is a password on the command line', () => {
    const two = { ...CLUSTER, TRUSS_REDIS_USERNAME: 'other' };
    expect(problemsOf(() => readConfig(two, {}, { parts: ALL }))).toHaveProperty('TRUSS_REDIS_USERNAME');
    const flag = () => readConfig(CLUSTER, { redis: 'redis://u:geheim@h:1' }, { parts: ALL });
    expect(problemsOf(flag)).toEqual({ TRUSS_REDIS: expect.stringContaining('TRUSS_REDIS_PASSWORD_FILE') });
  });

  test('a password that would travel readable is warned of, but not on this machine', () => {
    const remote = readConfig({ ...CLUSTER, TRUSS_REDIS: 'redis://:pw@cache:1' }, {}, { parts: ALL });
    const here = readConfig({ ...CLUSTER, TRUSS_REDIS: 'redis://:pw@127.0.0.1:1' }, {}, { parts: ALL });
    expect(remote.warnings).toHaveLength(1);
    expect(here.warnings).toHaveLength(0);
  });

  test('of requests has quotas and places of archives, as they are set or as they are said to be', () => {
    const standard = readConfig({}, {}, { parts: [] });
    expect(standard.requests).toEqual({
      audience: 'truss',
      signedOnly: false,
      quotas: { open: 100, spendNanoUsdPerDay: 100e9 },
      maxDeadlineMs: 72 * 3_600_000,
    });
    const env = {
      TRUSS_ARCHIVE_URLS: 'https://files/a/, file:///srv/contracts/',
      TRUSS_QUOTA_USD_PER_DAY: '2.50',
      TRUSS_MAX_DEADLINE: '24h',
      TRUSS_SIGNED_ONLY: 'true',
    };
    const own = readConfig(env, {}, { parts: [] });
    expect(own.files.archiveUrls).toEqual(['https://files/a/', 'file:///srv/contracts/']);
    expect(own.requests).toMatchObject({
      signedOnly: true,
      maxDeadlineMs: 86_400_000,
      quotas: { spendNanoUsdPerDay: 2.5e9 },
    });
    expect(
      readConfig({ TRUSS_QUOTA_USD_PER_DAY: 'none' }, {}, { parts: [] }).requests.quotas.spendNanoUsdPerDay,
    ).toBeNull();
  });

  test('headers for the collector are read one by one', () => {
    const env = { TRUSS_OTLP_ENDPOINT: 'http://c:4318/', TRUSS_OTLP_HEADERS: 'authorization=Basic a=b, x-tenant=t' };
    expect(readConfig(env, {}, { parts: [] }).otlp).toEqual({
      url: 'http://c:4318/v1/traces',
      headers: { authorization: 'Basic a=b', 'x-tenant': 't' },
    });
  });

  test('shows no secret in any error, whatever else is wrong', () => {
    const canary = 'CANARY-7f3a';
    const secret = {
      TRUSS_BROKERS: `user:${canary}@host`,
      TRUSS_REGISTRY: `ftp://user:${canary}@host`,
      TRUSS_REDIS: `redis://user:${canary}@:x`,
      TRUSS_OTLP_ENDPOINT: `ftp://user:${canary}@host`,
      TRUSS_OTLP_HEADERS: canary,
      TRUSS_KAFKA_SASL_MECHANISM: 'PLAIN',
      TRUSS_KAFKA_SASL_PASSWORD: canary,
      TRUSS_KAFKA_SASL_PASSWORD_FILE: import.meta.filename,
      TRUSS_REGISTRY_PASSWORD: canary,
      TRUSS_REDIS_PASSWORD: canary,
    };
    let shown = '';
    try {
      readConfig(secret, {}, { parts: ALL });
    } catch (error) {
      shown = `${inspect(error, { depth: 9 })} ${JSON.stringify(error)} ${String(error)}`;
    }
    expect(shown).toContain('TRUSS_OTLP_HEADERS');
    expect(shown).not.toContain(canary);
  });
});

test('a folder of keys stands for the files that are not named one by one', () => {
  const env = { ...CLUSTER, TRUSS_TRUST_FILE: '', TRUSS_KEYS: 'demo.keys', TRUSS_EXECUTOR_KEY_FILE: 'other.key' };
  const config = readConfig(env, {}, { parts: ['trust'], roles: ['coordinator', 'executor'] });
  expect(config.trust).toBe(join('demo.keys', 'trust.json'));
  expect(config.keyFiles).toEqual({
    coordinator: join('demo.keys', 'coordinator.key'),
    executor: 'other.key',
    projector: join('demo.keys', 'projector.key'),
  });
});
