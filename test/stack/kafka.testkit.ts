import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Kafka, logLevel } from 'kafkajs';
import { kafkaJava } from './installed.testkit.js';
import { Part } from './part.testkit.js';
import { freePorts } from './ports.testkit.js';
import { type Proxy, startProxy } from './proxy.testkit.js';
import { scratchFolder } from './scratch.testkit.js';

/** One broker (and controller) of a private cluster. */
export interface Broker {
  readonly id: number;
  /** The process: `kill`, `pause`, `resume`, `stop`, and `start` with the same data. */
  readonly part: Part;
  /** What its clients go through; the other brokers do not. */
  readonly proxy: Proxy;
}

export interface Cluster {
  /** `host:port` of each broker for clients, through its proxy. */
  readonly brokers: string[];
  /** `host:port` of each broker past the proxies; without authentication, and with all rights, also on a cluster that has ACLs. */
  readonly inner: string[];
  readonly members: readonly Broker[];
  /** The broker that leads a partition now. */
  leaderOf(topic: string, partition: number): Promise<Broker>;
  /** Ends everything and deletes the data. */
  close(): Promise<void>;
}

export interface ClusterOptions {
  /** Default 1. */
  readonly members?: number;
  /** Settings of each broker over ours, as in server.properties. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Further arguments of the storage tool's `format`. */
  readonly format?: readonly string[];
}

const CLIENTS = 'CLIENTS';
const MAX_ATTEMPTS = 3;

/** A cluster with ports and data of its own, ready when this resolves; about 6 s for one broker, 15 s for three. */
export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await tryStart(options);
    } catch (error) {
      // Another process took one of the ports between our look and the broker's start.
      if (attempt === MAX_ATTEMPTS || !String(error).includes('Address already in use')) throw error;
    }
  }
}

async function tryStart({ members: count = 1, settings = {}, format = [] }: ClusterOptions): Promise<Cluster> {
  const folder = scratchFolder('kafka');
  const ports = await freePorts(3 * count);
  const nodes = await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const [client = 0, inner = 0, controller = 0] = ports.slice(3 * index);
      return { id: index + 1, client, inner, controller, proxy: await startProxy(client) };
    }),
  );
  const cluster = randomBytes(16).toString('base64url');
  const copies = Math.min(3, count);
  const members = await Promise.all(
    nodes.map(async ({ id, client, inner, controller, proxy }): Promise<Broker> => {
      const home = join(folder, String(id));
      mkdirSync(home);
      const file = join(home, 'server.properties');
      const properties = {
        'process.roles': 'broker,controller',
        'node.id': id,
        'controller.quorum.voters': nodes.map((node) => `${node.id}@127.0.0.1:${node.controller}`).join(','),
        listeners: `${CLIENTS}://127.0.0.1:${client},INNER://127.0.0.1:${inner},CONTROLLER://127.0.0.1:${controller}`,
        'advertised.listeners': `${CLIENTS}://127.0.0.1:${proxy.port},INNER://127.0.0.1:${inner}`,
        'listener.security.protocol.map': `${CLIENTS}:PLAINTEXT,INNER:PLAINTEXT,CONTROLLER:PLAINTEXT`,
        'inter.broker.listener.name': 'INNER',
        'controller.listener.names': 'CONTROLLER',
        'log.dirs': join(home, 'data'),
        'auto.create.topics.enable': false,
        'default.replication.factor': copies,
        'min.insync.replicas': Math.min(2, count),
        'offsets.topic.replication.factor': copies,
        'offsets.topic.num.partitions': 8,
        'transaction.state.log.replication.factor': copies,
        'transaction.state.log.min.isr': Math.min(2, count),
        'share.coordinator.state.topic.replication.factor': copies,
        'share.coordinator.state.topic.min.isr': Math.min(2, count),
        'group.initial.rebalance.delay.ms': 0,
        'group.min.session.timeout.ms': 500,
        'broker.session.timeout.ms': 4000,
        'broker.heartbeat.interval.ms': 500,
        ...settings,
      };
      writeFileSync(
        file,
        Object.entries(properties)
          .map(([name, value]) => `${name}=${value}\n`)
          .join(''),
      );
      const storage = ['format', '-t', cluster, '-c', file, ...format];
      await promisify(execFile)('java', await kafkaJava('kafka.tools.StorageTool', ...storage));
      const part = new Part({
        name: `Kafka broker ${id}`,
        command: 'java',
        args: await kafkaJava('kafka.Kafka', file),
        log: join(home, 'log'),
        answers: () => speaksKafka(inner),
      });
      return { id, part, proxy };
    }),
  );
  const inner = nodes.map((node) => `127.0.0.1:${node.inner}`);
  const close = async (): Promise<void> => {
    await Promise.all(members.map(({ part }) => part.kill()));
    await Promise.all(members.map(({ proxy }) => proxy.close()));
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await Promise.all(members.map(({ part }) => part.start()));
  } catch (error) {
    await close();
    throw error;
  }
  return {
    brokers: nodes.map(({ proxy }) => `127.0.0.1:${proxy.port}`),
    inner,
    members,
    close,
    async leaderOf(topic, partition) {
      const admin = new Kafka({ brokers: inner, logLevel: logLevel.NOTHING }).admin();
      await admin.connect();
      const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
      await admin.disconnect();
      const id = topics[0]?.partitions.find(({ partitionId }) => partitionId === partition)?.leader;
      const leader = members.find((member) => member.id === id);
      if (leader === undefined) throw new Error(`Partition ${partition} of ${topic} has no leader now`);
      return leader;
    },
  };
}

/** ApiVersions version 0, correlation id 1, no client id: the first request of every client. A broker opens its ports when it is up. */
function speaksKafka(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(Buffer.from('0000000a0012000000000001ffff', 'hex')));
    const say = (answer: boolean) => (): void => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(2000, say(false));
    socket.once('data', say(true));
    socket.once('error', say(false));
    socket.once('close', say(false));
  });
}
