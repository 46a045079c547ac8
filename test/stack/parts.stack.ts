import { Redis } from 'ioredis';
import {
  AclOperationTypes,
  AclPermissionTypes,
  AclResourceTypes,
  Kafka,
  logLevel,
  ResourcePatternTypes,
} from 'kafkajs';
import { request } from 'node:https';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { startRedis, startSecureRedis } from './redis.testkit.js';
import { openDoorway, startRegistry } from './registry.testkit.js';
import { type SecureCluster, type SecureConnection, startSecureCluster } from './secure-kafka.testkit.js';

describe('a broker with SASL over TLS and ACLs', () => {
  let cluster: SecureCluster;
  const client = (connection: Partial<SecureConnection> & { brokers: string[] }): Kafka => {
    const { ssl, ...rest } = connection;
    return new Kafka({
      ...rest,
      ...(ssl && { ssl }),
      logLevel: logLevel.NOTHING,
      connectionTimeout: 3000,
      retry: { retries: 0 },
    });
  };
  const topicsOf = async (kafka: Kafka): Promise<string[]> => {
    const admin = kafka.admin();
    await admin.connect();
    try {
      return await admin.listTopics();
    } finally {
      await admin.disconnect();
    }
  };

  beforeAll(async () => {
    cluster = await startSecureCluster(['alice']);
    const admin = client(cluster.as('admin')).admin();
    await admin.connect();
    await admin.createTopics({ waitForLeaders: false, topics: [{ topic: 'open' }, { topic: 'closed' }] });
    await admin.createAcls({
      acl: [
        {
          resourceType: AclResourceTypes.TOPIC,
          resourceName: 'open',
          resourcePatternType: ResourcePatternTypes.LITERAL,
          principal: 'User:alice',
          host: '*',
          operation: AclOperationTypes.WRITE,
          permissionType: AclPermissionTypes.ALLOW,
        },
      ],
    });
    await admin.disconnect();
  });
  afterAll(() => cluster.close());

  test('gives a principal what its ACLs say, and no more', async () => {
    const producer = client(cluster.as('alice')).producer();
    await producer.connect();
    await producer.send({ topic: 'open', messages: [{ value: 'x' }] });
    await expect(producer.send({ topic: 'closed', messages: [{ value: 'x' }] })).rejects.toThrow(/[Nn]ot authorized/);
    await producer.disconnect();
  });

  test('takes SCRAM-SHA-256, PLAIN and OAUTHBEARER too', async () => {
    const password = cluster.passwords.get('alice') ?? '';
    const base64 = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    const now = Math.floor(Date.now() / 1000);
    const token = `${base64({ alg: 'none' })}.${base64({ sub: 'alice', iat: now, exp: now + 600 })}.`;
    const alice = cluster.as('alice');
    for (const sasl of [
      { mechanism: 'scram-sha-256', username: 'alice', password },
      { mechanism: 'plain', username: 'alice', password },
      { mechanism: 'oauthbearer', oauthBearerProvider: () => Promise.resolve({ value: token }) },
    ] as const) {
      expect(await topicsOf(client({ ...alice, sasl })), sasl.mechanism).toEqual(['open']);
    }
  });

  test('refuses a wrong password, no TLS, and a client that does not trust its authority', async () => {
    const alice = cluster.as('alice');
    const { sasl, ssl, ...plain } = alice;
    await expect(
      topicsOf(client({ ...plain, ssl, sasl: { mechanism: 'plain', username: 'alice', password: 'x' } })),
    ).rejects.toThrow(/[Aa]uthentication/);
    await expect(topicsOf(client({ ...plain, sasl }))).rejects.toThrow();
    await expect(
      topicsOf(new Kafka({ ...plain, sasl, ssl: true, logLevel: logLevel.NOTHING, retry: { retries: 0 } })),
    ).rejects.toThrow(/certificate/);
  });
});

test('a Redis that speaks only TLS and knows one user refuses the rest', async () => {
  const redis = await startSecureRedis({ truss: '~* &* +@all' });
  try {
    const { url, ca, passwords } = redis;
    const user = { username: 'truss', password: passwords.get('truss') };
    const options = { lazyConnect: true, retryStrategy: () => null, maxRetriesPerRequest: 0 };
    const ask = async (more: object): Promise<string> => {
      const client = new Redis(url, { ...options, ...more });
      client.on('error', () => undefined);
      try {
        await client.connect();
        return await client.ping();
      } finally {
        client.disconnect();
      }
    };
    expect(await ask({ ...user, tls: { ca } })).toBe('PONG');
    await expect(ask({ tls: { ca } })).rejects.toThrow();
    await expect(ask(user)).rejects.toThrow();
  } finally {
    await redis.close();
  }
});

test('a Redis that was killed is empty after its start', async () => {
  const { url, part, close } = await startRedis();
  const client = new Redis(url);
  client.on('error', () => undefined);
  try {
    await client.set('key', 'value');
    await part.kill();
    await part.start();
    expect(await client.get('key')).toBe(null);
  } finally {
    client.disconnect();
    await close();
  }
});

test('a registry that was killed has its schemas again after its start', async () => {
  const registry = await startRegistry();
  try {
    const registered = await fetch(`${registry.url}/subjects/s-value/versions`, {
      method: 'POST',
      headers: { 'content-type': 'application/vnd.schemaregistry.v1+json' },
      body: JSON.stringify({ schema: '"string"' }),
    });
    const { id } = (await registered.json()) as { id: number };
    await registry.part.kill();
    await expect(fetch(`${registry.url}/subjects`)).rejects.toThrow();
    await registry.part.start();
    expect(await (await fetch(`${registry.url}/schemas/ids/${id}`)).json()).toMatchObject({ schema: '"string"' });
  } finally {
    await registry.close();
  }
});

test('a registry behind TLS with basic authentication answers who knows the password', async () => {
  const door = await openDoorway(inject('stack').registry);
  try {
    const ask = (auth?: string): Promise<number | undefined> =>
      new Promise((resolve, reject) => {
        const asking = request(
          `${door.url}/subjects`,
          { ca: door.ca, ...(auth !== undefined && { auth }) },
          (reply) => {
            reply.resume();
            resolve(reply.statusCode);
          },
        );
        asking.once('error', reject).end();
      });
    expect(await ask(`${door.username}:${door.password}`)).toBe(200);
    expect(await ask()).toBe(401);
    await expect(fetch(`${door.url}/subjects`)).rejects.toThrow();
  } finally {
    await door.close();
  }
});
