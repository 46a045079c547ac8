import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  AclOperationTypes,
  AclPermissionTypes,
  AclResourceTypes,
  Kafka,
  logLevel,
  ResourcePatternTypes,
  type Admin,
} from 'kafkajs';
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest';
import { SERVICE_ROLES, type ServiceRole } from '#lib/key-store';
import { type SecureCluster, startSecureCluster } from '../stack/secure-kafka.testkit.js';
import { Deployment } from './deployment.testkit.js';
import { type Outcome, undisturbed } from './outcome.testkit.js';
import { Work } from './work.testkit.js';

/** One topic or group of a principal, with what it may do there. */
interface Right {
  readonly topic?: string;
  readonly group?: string;
  readonly operations: readonly (keyof typeof AclOperationTypes)[];
}

const PLAN = { repeats: 1, replicates: 1, seed: 23 };
const RUNS = 2;
const SOON = { timeout: 90_000, interval: 100 };
const LISTED: Readonly<Record<ServiceRole, readonly Right[]>> = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../deploy/acls.json'), 'utf8'),
);
const REFUSED = /refuse this principal.*AUTHORIZATION_FAILED.*give it the rights that docs\/operations\.md lists/;

const work = new Work();
let kafka: SecureCluster;
let admin: Admin;
let at: Deployment;
let contract: string;
let calm: Outcome;

beforeAll(async () => {
  contract = work.programContract(10);
  calm = await undisturbed(contract, PLAN);
  kafka = await startSecureCluster(SERVICE_ROLES);
  admin = new Kafka({ brokers: kafka.inner, logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  // Whoever asks and reads is the test, on the listener of the brokers themselves.
  const stack = { ...inject('stack'), brokers: kafka.inner };
  at = await Deployment.deploy({ stack, coordinators: 0, executors: 0, projectors: 0 });
  writeFileSync(join(at.folder, 'ca.pem'), kafka.ca);
  for (const role of SERVICE_ROLES) for (const right of LISTED[role]) await grant(role, right);
});
afterAll(async () => {
  await admin?.disconnect();
  await at?.close();
  await kafka?.close();
  work.close();
});
afterEach(async () => {
  work.open();
  await Promise.all(at.services.map((service) => service.close()));
});

function acl(role: ServiceRole, { topic, group }: Right) {
  return {
    resourceType: topic === undefined ? AclResourceTypes.GROUP : AclResourceTypes.TOPIC,
    resourceName: at.prefix + (topic ?? group),
    resourcePatternType: ResourcePatternTypes.LITERAL,
    principal: `User:${role}`,
    host: '*',
    permissionType: AclPermissionTypes.ALLOW,
  };
}

async function grant(role: ServiceRole, right: Right): Promise<void> {
  const operations = right.operations.map((name) => ({ ...acl(role, right), operation: AclOperationTypes[name] }));
  await admin.createAcls({ acl: operations });
}

async function take(role: ServiceRole, right: Right): Promise<void> {
  for (const name of right.operations) {
    const { resourcePatternType, ...filter } = acl(role, right);
    const operation = AclOperationTypes[name];
    const { filterResponses } = await admin.deleteAcls({
      filters: [{ ...filter, resourcePatternType, operation }],
    });
    expect(filterResponses.flatMap(({ matchingAcls }) => matchingAcls)).toHaveLength(1);
  }
}

/** A service as its principal, by SCRAM over TLS. */
function start(role: ServiceRole) {
  return at.start(role, {
    TRUSS_BROKERS: kafka.brokers.join(','),
    TRUSS_KAFKA_SASL_MECHANISM: 'SCRAM-SHA-512',
    TRUSS_KAFKA_SASL_USERNAME: role,
    TRUSS_KAFKA_SASL_PASSWORD: kafka.passwords.get(role) ?? '',
    TRUSS_KAFKA_TLS_CA_FILE: join(at.folder, 'ca.pem'),
    TRUSS_LOG_LEVEL: 'trace',
  });
}

function expectNoSecrets(): void {
  for (const secret of kafka.passwords.values()) {
    for (const service of at.services) expect(service.output.includes(secret), service.name).toBe(false);
  }
}

describe('a service that lacks a right', () => {
  test.each<[ServiceRole, Right]>([
    ['coordinator', { group: 'truss-intake', operations: ['READ'] }],
    ['executor', { topic: 'eval.child-run.commands', operations: ['READ'] }],
    ['projector', { topic: 'eval.ledger', operations: ['READ'] }],
    ['coordinator', { topic: 'eval.ledger', operations: ['DESCRIBE_CONFIGS'] }],
  ])('does not start, and says so: %s, %j', async (role, right) => {
    await take(role, right);
    try {
      await expect(start(role)).rejects.toThrow(/AUTHORIZATION_FAILED|docs\/operations\.md/);
      expectNoSecrets();
    } finally {
      await grant(role, right);
    }
  });

  test.each<[ServiceRole, Right]>([
    ['executor', { topic: 'eval.ledger', operations: ['WRITE'] }],
    ['projector', { topic: 'eval.report', operations: ['WRITE'] }],
    ['coordinator', { topic: 'eval.ledger', operations: ['WRITE'] }],
  ])('ends when it needs it, saying why, and another goes on from there: %s, %j', async (role, right) => {
    work.clear();
    work.shut();
    const services = new Map(await Promise.all(SERVICE_ROLES.map(async (one) => [one, await start(one)] as const)));
    const evaluation = await at.request(contract, PLAN);
    await expect.poll(() => work.done('agent').length, SOON).toBe(RUNS);
    await take(role, right);
    try {
      work.open();
      const victim = services.get(role);
      await expect.poll(() => victim?.alive, SOON).toBe(false);
      expect(victim?.lines('cannot go on').map((line) => JSON.stringify(line))).toEqual([
        expect.stringMatching(REFUSED),
      ]);
    } finally {
      await grant(role, right);
    }
    await start(role);
    const { measured } = await at.outcomeOf(evaluation);
    expect(measured).toEqual(calm.measured);
    await at.verify(evaluation);
    expectNoSecrets();
  });
});

test('a service with another password is refused, and its log has neither', async () => {
  const wrong = 'not-the-password-of-anybody';
  const started = at.start('executor', {
    TRUSS_BROKERS: kafka.brokers.join(','),
    TRUSS_KAFKA_SASL_MECHANISM: 'SCRAM-SHA-512',
    TRUSS_KAFKA_SASL_USERNAME: 'executor',
    TRUSS_KAFKA_SASL_PASSWORD: wrong,
    TRUSS_KAFKA_TLS_CA_FILE: join(at.folder, 'ca.pem'),
    TRUSS_LOG_LEVEL: 'trace',
  });
  await expect(started).rejects.toThrow(/refuse the credentials|[Aa]uthentication/);
  expect(at.services.some(({ output }) => output.includes(wrong))).toBe(false);
  expectNoSecrets();
});
