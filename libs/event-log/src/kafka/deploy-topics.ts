import kafkajs, { type Admin, type ITopicMetadata } from 'kafkajs';
import { WIRE_TOPICS, type WireTopic } from '#lib/schemas';
import { createClient, type KafkaConnection } from './client.js';
import { readDeploymentMark, writeDeploymentMark } from './deployment-mark.js';
import { asLogError, isPassing } from './errors.js';
import type { DeploymentMark } from './mark.js';
import { topicName } from './names.js';
import { waitAgain } from './retry.js';

export interface DeployTopicsOptions {
  readonly connection: KafkaConnection;
  readonly prefix: string;
  /** Of every topic, 1 and up. */
  readonly partitions: number;
  /** Replicas of each partition; `null`: three, or as many as there are brokers. */
  readonly replication: number | null;
  /** Replicas that must have a record before it counts as written. */
  readonly minInsyncReplicas: number;
}

export interface DeployedTopics {
  readonly created: readonly string[];
  /** They were there already. */
  readonly kept: readonly string[];
  /** Where a topic that was there already differs from what it should be: a sentence each. Nothing of it was changed. */
  readonly differences: readonly string[];
}

/** About fifteen seconds. */
const ATTEMPTS = 20;

type Settings = Readonly<Record<string, string>>;

/** Longer than the longest deadline of an evaluation. */
const KEPT_MS = 90 * 24 * 3_600_000;
const RECORD_BYTES = 2 * 1024 * 1024;
/** A plan or a report stands in one record whole: its body in the ledger is an attachment of at most 32 MiB, and its Avro form is smaller. */
const WHOLE_BYTES = 40 * 1024 * 1024;
const WHOLE: ReadonlySet<WireTopic> = new Set(['eval.accepted', 'eval.report', 'eval.dead-letter']);

/** Those whose records are looked for in the partition that their key names. */
const KEYED = ['eval.ledger', 'eval.attachment', 'eval.accepted', 'eval.index'] as const;
const DURABLE: ReadonlySet<WireTopic> = new Set([...KEYED, 'eval.contract']);
/** Without a record of these an evaluation that is open never comes to its end. */
const KEPT: ReadonlySet<WireTopic> = new Set(['eval.requested', 'eval.accepted', 'eval.child-run.commands']);
const LOSS: Readonly<Partial<Record<WireTopic, string>>> = {
  'eval.ledger': 'history',
  'eval.attachment': 'history',
  'eval.index': 'where evaluations begin',
  'eval.contract': 'registrations',
  'eval.requested': 'requests',
  'eval.accepted': 'acceptances of open evaluations',
  'eval.child-run.commands': 'commands of open evaluations',
};
/** The longest that may be configured. */
const LONGEST_DEADLINE_MS = 720 * 3_600_000;

/** What the topics must be for history and promises to be kept. */
export function settingsOf(topic: WireTopic, minInsyncReplicas: number): Settings {
  const common = {
    'min.insync.replicas': String(minInsyncReplicas),
    'unclean.leader.election.enable': 'false',
    'max.message.bytes': String(WHOLE.has(topic) ? WHOLE_BYTES : RECORD_BYTES),
  };
  const forever = { ...common, 'cleanup.policy': 'delete', 'retention.ms': '-1', 'retention.bytes': '-1' };
  switch (topic) {
    case 'eval.ledger':
    case 'eval.attachment':
      return { ...forever, 'message.timestamp.type': 'LogAppendTime' };
    case 'eval.index':
    case 'eval.contract':
      return { ...common, 'cleanup.policy': 'compact' };
    default:
      return { ...common, 'cleanup.policy': 'delete', 'retention.ms': String(KEPT_MS), 'retention.bytes': '-1' };
  }
}

/**
 * Creates the topics that are missing, marks the index of a ledger that is still empty as complete, and says where the others differ. Changes and
 * deletes nothing. @throws LogError
 */
export async function deployTopics(options: DeployTopicsOptions): Promise<DeployedTopics> {
  const { prefix, partitions, minInsyncReplicas } = options;
  return withAdmin(options.connection, async (admin) => {
    const replication = options.replication ?? Math.min(3, (await admin.describeCluster()).brokers.length);
    const there = new Set(await admin.listTopics());
    const missing = WIRE_TOPICS.filter((topic) => !there.has(topicName(prefix, topic)));
    if (missing.length > 0) {
      await admin.createTopics({
        waitForLeaders: false,
        topics: missing.map((topic) => ({
          topic: topicName(prefix, topic),
          numPartitions: partitions,
          replicationFactor: replication,
          configEntries: Object.entries(settingsOf(topic, minInsyncReplicas)).map(([name, value]) => ({ name, value })),
        })),
      });
      const names = missing.map((topic) => topicName(prefix, topic));
      await passing(async () => assertLed(await admin.fetchTopicMetadata({ topics: names })));
    }
    const found = WIRE_TOPICS.filter((topic) => !missing.includes(topic));
    const states = await describe(admin, prefix, found);
    const differences = states.flatMap(({ topic, name, settings, partitions: has, replicas }) => [
      ...(has === partitions ? [] : [`${name} has ${has} partitions, not ${partitions}`]),
      ...(replicas === replication ? [] : [`${name} has ${replicas} replicas, not ${replication}`]),
      ...Object.entries(settingsOf(topic, minInsyncReplicas))
        .filter(([setting, value]) => settings.get(setting) !== value)
        .map(([setting, value]) => `${name} has ${setting}=${settings.get(setting) ?? 'nothing'}, not ${value}`),
    ]);
    const unmarked = await markWhereEmpty(admin, options);
    if (unmarked !== null) differences.push(unmarked);
    const named = (topics: readonly WireTopic[]): string[] => topics.map((topic) => topicName(prefix, topic));
    return { created: named(missing), kept: named(found), differences };
  });
}

/** An index that was lost must not be taken for that of a new deployment: only beside an empty ledger an empty one is complete. */
async function markWhereEmpty(admin: Admin, { connection, prefix }: DeployTopicsOptions): Promise<string | null> {
  const [ledger, index] = [topicName(prefix, 'eval.ledger'), topicName(prefix, 'eval.index')];
  const mark = await readDeploymentMark(connection, prefix);
  const partitions = await passing(() => admin.fetchTopicOffsets(ledger));
  if (partitions.every(({ high }) => high === '0')) {
    if (mark?.partitions === partitions.length) return null;
    await passing(() => writeDeploymentMark(createClient(connection, {}), prefix, { partitions: partitions.length }));
    return null;
  }
  if (mark !== null) return null;
  return `${index} does not say that it has every evaluation of ${ledger}: stop the services and run truss deploy index`;
}

export interface CheckTopicsOptions {
  readonly connection: KafkaConnection;
  readonly prefix: string;
  readonly minInsyncReplicas: number;
}

/** Reasons for which a service must not start, a sentence each: topics that are missing, or would lose history. @throws LogError */
export async function checkTopics(options: CheckTopicsOptions): Promise<readonly string[]> {
  const { prefix, minInsyncReplicas } = options;
  return withAdmin(options.connection, async (admin) => {
    const there = new Set(await admin.listTopics());
    const missing = WIRE_TOPICS.filter((topic) => !there.has(topicName(prefix, topic)));
    const found = WIRE_TOPICS.filter((topic) => !missing.includes(topic));
    const states = new Map((await describe(admin, prefix, found)).map((state) => [state.topic, state]));
    const reasons = missing.map(
      (topic) =>
        `${topicName(prefix, topic)} is missing: run truss deploy topics. Where it is there, give this principal the rights on it that docs/operations.md lists`,
    );
    for (const state of states.values()) reasons.push(...unfit(state, minInsyncReplicas));
    if (states.has('eval.index'))
      reasons.push(...mismarked(states, await readDeploymentMark(options.connection, prefix)));
    return reasons;
  });
}

/** What of a topic would lose what services rely on. */
function unfit({ topic, name, settings }: TopicState, minInsyncReplicas: number): string[] {
  const lost = LOSS[topic];
  if (lost === undefined) return [];
  const reasons: string[] = [];
  const setting = (of: string): string => settings.get(of) ?? '';
  const ledger = topic === 'eval.ledger' || topic === 'eval.attachment';
  const loses = `${name} would lose ${lost}`;
  const { 'cleanup.policy': policy = '' } = settingsOf(topic, minInsyncReplicas);
  if (setting('cleanup.policy') !== policy) {
    reasons.push(`${loses}: cleanup.policy is ${setting('cleanup.policy')}; set it to ${policy}`);
  }
  if (ledger || KEPT.has(topic)) {
    const least = ledger ? Number.POSITIVE_INFINITY : LONGEST_DEADLINE_MS;
    for (const of of ['retention.ms', 'retention.bytes']) {
      const kept = Number(setting(of));
      if (kept === -1 || (of === 'retention.ms' && kept >= least)) continue;
      const limit = ledger || of === 'retention.bytes' ? '-1 (no limit)' : `${KEPT_MS}`;
      reasons.push(`${loses}: ${of} is ${setting(of)}; set it to ${limit}`);
    }
  }
  if (DURABLE.has(topic)) {
    const replicas = Number(setting('min.insync.replicas'));
    if (!(replicas >= minInsyncReplicas)) {
      reasons.push(
        `${name} may lose what it acknowledged: min.insync.replicas is ${replicas}, and the configuration asks for ${minInsyncReplicas}`,
      );
    }
    if (setting('unclean.leader.election.enable') === 'true') {
      reasons.push(`${name} may lose what it acknowledged: set unclean.leader.election.enable to false`);
    }
  }
  return reasons;
}

/** Why the keys of this deployment may not be where they are looked for. */
function mismarked(states: ReadonlyMap<WireTopic, TopicState>, mark: DeploymentMark | null): string[] {
  const index = states.get('eval.index')?.name ?? 'eval.index';
  if (mark === null) {
    return [
      `${index} does not say that it has every evaluation, and closed ones could be run again: stop the services and run truss deploy index`,
    ];
  }
  return KEYED.flatMap((topic) => {
    const state = states.get(topic);
    if (state === undefined || state.partitions === mark.partitions) return [];
    return [
      `${state.name} has ${state.partitions} partitions and the deployment was made with ${mark.partitions}, so evaluations would not be found: the number cannot be changed; move to a deployment of its own`,
    ];
  });
}

interface TopicState {
  readonly topic: WireTopic;
  readonly name: string;
  readonly partitions: number;
  readonly replicas: number;
  readonly settings: ReadonlyMap<string, string>;
}

async function describe(admin: Admin, prefix: string, topics: readonly WireTopic[]): Promise<TopicState[]> {
  if (topics.length === 0) return [];
  const names = topics.map((topic) => topicName(prefix, topic));
  const [metadata, { resources }] = [
    await admin.fetchTopicMetadata({ topics: names }),
    await admin.describeConfigs({
      includeSynonyms: false,
      resources: names.map((name) => ({ type: kafkajs.ConfigResourceTypes.TOPIC, name })),
    }),
  ];
  return topics.map((topic) => {
    const name = topicName(prefix, topic);
    const partitions = metadata.topics.find((one) => one.name === name)?.partitions ?? [];
    const entries = resources.find(({ resourceName }) => resourceName === name)?.configEntries ?? [];
    return {
      topic,
      name,
      partitions: partitions.length,
      replicas: Math.min(...partitions.map(({ replicas }) => replicas.length)),
      settings: new Map(entries.map(({ configName, configValue }) => [configName, configValue])),
    };
  });
}

/** A topic that was just made is not known to every broker at once. */
async function passing<T>(call: () => Promise<T>): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await call();
    } catch (error) {
      if (attempt === ATTEMPTS || !isPassing(error)) throw error;
      await waitAgain(attempt);
    }
  }
}

function assertLed({ topics }: { readonly topics: readonly ITopicMetadata[] }): void {
  if (topics.some(({ partitions }) => partitions.length === 0 || partitions.some(({ leader }) => leader < 0))) {
    throw new kafkajs.KafkaJSError('a new topic has no leader yet');
  }
}

async function withAdmin<T>(connection: KafkaConnection, work: (admin: Admin) => Promise<T>): Promise<T> {
  const admin = createClient(connection, {}).admin();
  try {
    await admin.connect();
    return await work(admin);
  } catch (error) {
    throw asLogError(error, 'manage its topics');
  } finally {
    await admin.disconnect().catch(() => {});
  }
}
