import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generate } from 'selfsigned';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ConfigError } from './errors.js';
import { readConfig } from './read-config.js';

function folder(): (name: string, text: string) => string {
  const path = mkdtempSync(join(tmpdir(), 'truss-config-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return (name, text) => {
    writeFileSync(join(path, name), text);
    return join(path, name);
  };
}

const SCRAM = {
  TRUSS_BROKERS: 'a:1',
  TRUSS_KAFKA_SASL_MECHANISM: 'SCRAM-SHA-512',
  TRUSS_KAFKA_SASL_USERNAME: 'truss',
};
const kafkaOf = (env: Record<string, string>) => readConfig({ ...SCRAM, ...env }, {}, { parts: ['kafka'] });

describe('a secret in a file', () => {
  test('is read without the end of its line, and nothing else is taken away', () => {
    const file = folder()('password', ' geheim \n');
    const config = kafkaOf({ TRUSS_KAFKA_SASL_PASSWORD_FILE: file });
    expect(config.kafka.sasl).toMatchObject({ password: ' geheim ' });
    expect(config.secrets).toContain(' geheim ');
  });

  test.each([
    ['that is missing', () => '/nowhere/password', /cannot be read \(ENOENT\)/],
    ['that is empty', () => folder()('password', '\n'), /is empty/],
  ])('%s is refused once, by the name of its variable', (_what, file, message) => {
    const refused = () => kafkaOf({ TRUSS_KAFKA_SASL_PASSWORD_FILE: file() });
    expect(refused).toThrow(message);
    expect(refused).toThrow(
      expect.objectContaining({ problems: [expect.objectContaining({ variable: 'TRUSS_KAFKA_SASL_PASSWORD_FILE' })] }),
    );
  });

  test('beside the secret itself is refused: nobody could tell which counts', () => {
    const file = folder()('password', 'one');
    const both = { TRUSS_KAFKA_SASL_PASSWORD: 'another', TRUSS_KAFKA_SASL_PASSWORD_FILE: file };
    expect(() => kafkaOf(both)).toThrow(/TRUSS_KAFKA_SASL_PASSWORD: is set, and so is TRUSS_KAFKA_SASL_PASSWORD_FILE/);
  });
});

describe('certificates', () => {
  const pem = () => generate([{ name: 'commonName', value: 'truss' }], { keySize: 2048 });

  test('for all connections serve those that have none of their own, and only where TLS is spoken', async () => {
    const put = folder();
    const [all, redis] = [await pem(), await pem()];
    const env = {
      TRUSS_KAFKA_TLS: 'true',
      TRUSS_BROKERS: 'a:1',
      TRUSS_REGISTRY: 'http://registry',
      TRUSS_REDIS: 'rediss://cache',
      TRUSS_TLS_CA_FILE: put('ca.pem', all.cert),
      TRUSS_REDIS_TLS_CA_FILE: put('redis.pem', redis.cert),
    };
    const config = readConfig(env, {}, { parts: ['kafka', 'registry', 'redis'] });
    expect(config.kafka.ssl).toEqual({ ca: all.cert });
    expect(config.registry.tls).toBeUndefined();
    expect(config.redis.tls).toEqual({ ca: redis.cert });
  });

  test('go with their key: another key, a missing one and what is none are refused', async () => {
    const put = folder();
    const [mine, other] = [await pem(), await pem()];
    const cert = put('cert.pem', mine.cert);
    const key = put('key.pem', mine.private);
    const tls = (env: Record<string, string>) => () =>
      readConfig({ TRUSS_BROKERS: 'a:1', TRUSS_KAFKA_TLS_CERT_FILE: cert, ...env }, {}, { parts: ['kafka'] });
    expect(tls({ TRUSS_KAFKA_TLS_KEY_FILE: key })().kafka.ssl).toEqual({ cert: mine.cert, key: mine.private });
    expect(tls({ TRUSS_KAFKA_TLS_KEY_FILE: put('other.pem', other.private) })).toThrow(/is not the key of/);
    expect(tls({})).toThrow(/TRUSS_KAFKA_TLS_KEY_FILE: is not set/);
    expect(tls({ TRUSS_KAFKA_TLS_KEY_FILE: put('none.pem', 'x') })).toThrow(ConfigError);
  });
});
