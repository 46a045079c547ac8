import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import kafkajs from 'kafkajs';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { deployTopics } from '#lib/event-log/kafka';
import { createKeys, SERVICE_ROLES, type ServiceRole, trustFile } from '#lib/key-store';
import { deploySchemas } from '#lib/schemas';
import { type SecureCluster, startSecureCluster } from '../../../../test/stack/secure-kafka.testkit.js';
import { BIN } from '../cli.testkit.js';

interface Right {
  readonly topic?: string;
  readonly group?: string;
  readonly operations: readonly ('READ' | 'WRITE' | 'DESCRIBE' | 'DESCRIBE_CONFIGS')[];
}

const { registry, redis } = inject('stack');
const { AclOperationTypes, AclPermissionTypes, AclResourceTypes, Kafka, ResourcePatternTypes } = kafkajs;
const prefix = `t-${randomBytes(4).toString('hex')}.`;
const folder = mkdtempSync(join(tmpdir(), 'truss-secure-'));
const rights = JSON.parse(readFileSync(join(import.meta.dirname, '../../../../deploy/acls.json'), 'utf8')) as Readonly<
  Record<ServiceRole, readonly Right[]>
>;
let cluster: SecureCluster;

beforeAll(async () => {
  cluster = await startSecureCluster(SERVICE_ROLES.map((role) => `truss-${role}`));
  await deployTopics({ connection: cluster.as('admin'), prefix, partitions: 2, replication: 1, minInsyncReplicas: 1 });
  await deploySchemas({ registry: { url: registry }, prefix });
  createKeys(join(folder, 'keys'), 'test');
  writeFileSync(join(folder, 'ca.pem'), cluster.ca);
  const admin = new Kafka({ ...cluster.as('admin'), logLevel: kafkajs.logLevel.NOTHING }).admin();
  await admin.connect();
  await admin.createAcls({
    acl: SERVICE_ROLES.flatMap((role) =>
      rights[role].flatMap(({ topic, group, operations }) =>
        operations.map((operation) => ({
          resourceType: topic === undefined ? AclResourceTypes.GROUP : AclResourceTypes.TOPIC,
          resourceName: `${prefix}${topic ?? group}`,
          resourcePatternType: ResourcePatternTypes.LITERAL,
          principal: `User:truss-${role}`,
          host: '*',
          operation: AclOperationTypes[operation],
          permissionType: AclPermissionTypes.ALLOW,
        })),
      ),
    ),
  });
  await admin.disconnect();
});
afterAll(async () => {
  await cluster?.close();
  rmSync(folder, { recursive: true, force: true });
});

test.each(SERVICE_ROLES)(
  'the %s becomes ready by SCRAM over TLS with the rights of deploy/acls.json and no other',
  async (role) => {
    const password = join(folder, `${role}.password`);
    writeFileSync(password, `${cluster.passwords.get(`truss-${role}`)}\n`, { mode: 0o600 });
    const child = spawn(process.execPath, [BIN, 'serve', role], {
      env: {
        ...process.env,
        TRUSS_BROKERS: cluster.brokers.join(','),
        TRUSS_REGISTRY: registry,
        TRUSS_REDIS: redis,
        TRUSS_PREFIX: prefix,
        TRUSS_KAFKA_SASL_MECHANISM: 'SCRAM-SHA-512',
        TRUSS_KAFKA_SASL_USERNAME: `truss-${role}`,
        TRUSS_KAFKA_SASL_PASSWORD_FILE: password,
        TRUSS_KAFKA_TLS_CA_FILE: join(folder, 'ca.pem'),
        TRUSS_TRUST_FILE: trustFile(join(folder, 'keys')),
        [`TRUSS_${role.toUpperCase()}_KEY_FILE`]: join(folder, 'keys', `${role}.key`),
        TRUSS_HTTP_PORT: '0',
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
    child.stdout.setEncoding('utf8').on('data', (text: string) => (said += text));
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
    try {
      const url = () => /"url":"(http[^"]+)"/.exec(said)?.[1];
      const status = async () => {
        if (child.exitCode !== null) throw new Error(said);
        const base = url();
        return base === undefined ? said : await (await fetch(`${base}/health/ready`)).text();
      };
      await expect.poll(status, { timeout: 30_000 }).toBe('{"ok":true,"reasons":{}}');
      expect(said).not.toContain(cluster.passwords.get(`truss-${role}`));
      expect(said).not.toMatch(/AUTHORIZATION_FAILED|not authorized/i);
    } finally {
      child.kill('SIGTERM');
      expect(await ended).toBe(0);
    }
  },
);
