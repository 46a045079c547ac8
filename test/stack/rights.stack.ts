import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import {
  AclOperationTypes,
  AclPermissionTypes,
  AclResourceTypes,
  Kafka,
  logLevel,
  Partitioners,
  ResourcePatternTypes,
} from 'kafkajs';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { addKey, createKeys, SERVICE_ROLES, trustFile } from '#lib/key-store';
import { evalRunId } from '#lib/ledger';
import { type SecureRedis, startSecureRedis } from './redis.testkit.js';
import { type Doorway, openDoorway } from './registry.testkit.js';
import { scratchPrefix } from './scratch.testkit.js';
import { type SecureCluster, startSecureCluster } from './secure-kafka.testkit.js';

type Rights = readonly {
  readonly topic?: string;
  readonly group?: string;
  readonly operations: readonly (keyof typeof AclOperationTypes)[];
}[];

const ROOT = join(import.meta.dirname, '../..');
const BIN = join(ROOT, 'bin/truss.js');
const rights: Readonly<Record<string, Rights>> = JSON.parse(readFileSync(join(ROOT, 'deploy/acls.json'), 'utf8'));
const operations = readFileSync(join(ROOT, 'docs/operations.md'), 'utf8');
const prefix = scratchPrefix();
const folder = mkdtempSync(join(tmpdir(), 'truss-rights-'));
const keys = join(folder, 'keys');
const services = new Map<string, ChildProcess>();
/** All that the services printed. */
let printed = '';
let kafka: SecureCluster;
let redis: SecureRedis;
let registry: Doorway;

beforeAll(async () => {
  const redisRules = rulesOfRedis();
  [kafka, redis, registry] = await Promise.all([
    startSecureCluster([...SERVICE_ROLES, 'person', 'auditor']),
    startSecureRedis({
      coordinator: redisRules.everybody,
      executor: `${redisRules.everybody} ${redisRules.executor}`,
      projector: `${redisRules.everybody} ${redisRules.projector}`,
      person: `${redisRules.everybody} ${redisRules.projector}`,
      auditor: redisRules.everybody,
      admin: redisRules.everybody,
    }),
    openDoorway(inject('stack').registry),
  ]);
  writeFileSync(join(folder, 'ca.pem'), `${kafka.ca}\n${redis.ca}\n${registry.ca}`);
  createKeys(keys, 'test');
  addKey(trustFile(keys), { role: 'requester', operator: 'ana', keyFile: join(folder, 'requester.key') });
  await truss('admin', 'deploy', 'topics');
  await truss('admin', 'deploy', 'schemas');
  for (const role of SERVICE_ROLES) await grant(role, rights[role] ?? []);
  await grant('person', [...(rights['requester'] ?? []), ...(rights['reader'] ?? [])]);
  await grant('auditor', rights['reader'] ?? []);
});

afterAll(async () => {
  for (const child of services.values()) child.kill('SIGKILL');
  await Promise.all([kafka?.close(), redis?.close(), registry?.close()]);
  rmSync(folder, { recursive: true, force: true });
});

test('services with the rights that docs/operations.md lists, and no other, bring a request to a report that verifies', async () => {
  const urls = await Promise.all(SERVICE_ROLES.map(serve));
  for (const url of urls) {
    await expect
      .poll(async () => (await fetch(`${url}/health/ready`)).text(), { timeout: 60_000 })
      .toContain('"ok":true');
  }
  const contract = join(folder, 'contract.toml');
  writeFileSync(
    contract,
    'id = "yes"\ninstructions = "Answer."\n[agent]\nkind = "fixed"\nanswer_text = "yes"\n' +
      '[[criteria]]\nid = "yes"\nkind = "match"\nfile = "answer.txt"\nequals = "yes"\n[budget]\nmax_steps = 10\n',
  );
  const asked = ['--contract', contract, '--repeats', '1', '--replicates', '1', '--key', join(folder, 'requester.key')];
  await truss('person', 'request', ...asked, '--request-id', 'rights', '--wait');
  expect(await truss('person', 'verify', evalRunId('ana', 'rights'))).toContain('valid');
  // Whoever may only read can verify, one evaluation or all.
  expect(await truss('auditor', 'verify', evalRunId('ana', 'rights'))).toContain('valid');
  expect(await truss('auditor', 'replay')).toMatch(/^valid/);

  const ended = [...services.values()].map((child) => new Promise((resolve) => child.once('exit', resolve)));
  for (const child of services.values()) child.kill('SIGTERM');
  expect(await Promise.all(ended)).toEqual([0, 0, 0]);
  expect(denials()).toEqual([]);
  for (const secret of [...kafka.passwords.values(), ...redis.passwords.values(), registry.password]) {
    expect(printed).not.toContain(secret);
  }
});

test('what is not listed is refused: an executor cannot ask, accept or report, and a requester cannot write a ledger', async () => {
  for (const [principal, topics] of Object.entries({
    coordinator: ['eval.requested', 'eval.report', 'eval.contract'],
    executor: [
      'eval.requested',
      'eval.accepted',
      'eval.child-run.commands',
      'eval.index',
      'eval.report',
      'eval.contract',
    ],
    projector: ['eval.requested', 'eval.accepted', 'eval.child-run.commands', 'eval.index', 'eval.contract'],
    person: ['eval.accepted', 'eval.child-run.commands', 'eval.ledger', 'eval.index', 'eval.report', 'eval.contract'],
  })) {
    const client = new Kafka({ ...kafka.as(principal), logLevel: logLevel.NOTHING, retry: { retries: 0 } });
    const producer = client.producer({ createPartitioner: Partitioners.DefaultPartitioner });
    await producer.connect();
    for (const topic of topics) {
      const sent = producer.send({ topic: prefix + topic, messages: [{ value: 'x' }] });
      await expect(sent, `${principal} to ${topic}`).rejects.toThrow(/[Nn]ot authorized/);
    }
    await producer.disconnect();
  }
  expect(denials().length).toBeGreaterThan(0);
});

/** What the broker's authorizer said no to. */
function denials(): string[] {
  return kafka.members.flatMap(({ part }) => part.log().split('\n')).filter((line) => / is Denied /.test(line));
}

/** What a process of one principal knows: its own passwords and, for a service, its own key. */
function environmentOf(principal: string): Record<string, string> {
  const key = SERVICE_ROLES.some((role) => role === principal)
    ? { [`TRUSS_${principal.toUpperCase()}_KEY_FILE`]: join(keys, `${principal}.key`) }
    : {};
  const password = join(folder, `${principal}.password`);
  writeFileSync(password, `${kafka.passwords.get(principal)}\n`, { mode: 0o600 });
  return {
    PATH: process.env['PATH'] ?? '',
    TRUSS_BROKERS: kafka.brokers.join(','),
    TRUSS_KAFKA_SASL_MECHANISM: 'SCRAM-SHA-512',
    TRUSS_KAFKA_SASL_USERNAME: principal,
    TRUSS_KAFKA_SASL_PASSWORD_FILE: password,
    TRUSS_REGISTRY: registry.url,
    TRUSS_REGISTRY_USERNAME: registry.username,
    TRUSS_REGISTRY_PASSWORD: registry.password,
    TRUSS_REDIS: redis.url,
    TRUSS_REDIS_USERNAME: principal,
    TRUSS_REDIS_PASSWORD: redis.passwords.get(principal) ?? '',
    TRUSS_TLS_CA_FILE: join(folder, 'ca.pem'),
    TRUSS_PREFIX: prefix,
    TRUSS_PARTITIONS: '3',
    TRUSS_TRUST_FILE: trustFile(keys),
    TRUSS_CACHE_DIR: join(folder, `cache-${principal}`),
    TRUSS_HTTP_PORT: '0',
    ...key,
  };
}

/** Runs a command to its end as a principal, and returns what it printed. */
async function truss(principal: string, ...args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [BIN, ...args], {
    env: environmentOf(principal),
    cwd: folder,
  });
  return stdout;
}

/** Starts a service as its principal; resolves with the address of its health. */
function serve(role: string): Promise<string> {
  const child = spawn(process.execPath, [BIN, 'serve', role], { env: environmentOf(role), cwd: folder });
  services.set(role, child);
  return new Promise((resolve, reject) => {
    let out = '';
    const read = (text: string): void => {
      out += text;
      printed += text;
      const url = /"url":"(http:[^"]+)".*"msg":"serving"/.exec(out)?.[1];
      if (url !== undefined) resolve(url);
    };
    child.stdout.setEncoding('utf8').on('data', read);
    child.stderr.setEncoding('utf8').on('data', read);
    child.once('exit', (code) => reject(new Error(`truss serve ${role} ended with ${code}: ${out}`)));
  });
}

async function grant(principal: string, list: Rights): Promise<void> {
  const admin = new Kafka({ ...kafka.as('admin'), logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  await admin.createAcls({
    acl: list.flatMap(({ topic, group, operations: all }) =>
      all.map((operation) => ({
        resourceType: topic === undefined ? AclResourceTypes.GROUP : AclResourceTypes.TOPIC,
        resourceName: prefix + (topic ?? group),
        resourcePatternType: ResourcePatternTypes.LITERAL,
        principal: `User:${principal}`,
        host: '*',
        operation: AclOperationTypes[operation],
        permissionType: AclPermissionTypes.ALLOW,
      })),
    ),
  });
  await admin.disconnect();
}

/** The rules in the paragraph on Redis, in its order: of everybody, of executors, of projectors and readers. */
function rulesOfRedis(): Readonly<Record<'everybody' | 'executor' | 'projector', string>> {
  const paragraph = /^Redis: [^]*?\n(?=The registry:)/m.exec(operations)?.[0] ?? '';
  const rules = [...paragraph.matchAll(/`([^`]*\+[^`]*)`/g)].map(([, text = '']) =>
    text.replaceAll('<prefix>', prefix),
  );
  const [everybody = '', executor = '', projector = ''] = rules;
  expect(rules).toHaveLength(3);
  return { everybody, executor, projector };
}
