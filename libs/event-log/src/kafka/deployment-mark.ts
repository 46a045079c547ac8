import kafkajs, { type Kafka } from 'kafkajs';
import { createClient, type KafkaConnection } from './client.js';
import { DirectReader } from './direct.js';
import { type DeploymentMark, MARK_KEY, MARK_PARTITION, markBytes, markOf } from './mark.js';
import { topicName } from './names.js';
import { Life } from './retry.js';
import { pages } from './scans.js';

/** The mark of a deployment whose `eval.index` is there; `null` where it has none. @throws LogError */
export async function readDeploymentMark(connection: KafkaConnection, prefix: string): Promise<DeploymentMark | null> {
  const topic = topicName(prefix, 'eval.index');
  const life = new Life();
  const reader = new DirectReader(createClient(connection, {}), life, {});
  try {
    await reader.open([topic]);
    const end = (await reader.ends(topic))[MARK_PARTITION] ?? 0;
    let mark: DeploymentMark | null = null;
    for await (const page of pages(reader, topic, MARK_PARTITION, 0, end)) {
      for (const { value } of page) mark = markOf(value) ?? mark;
    }
    return mark;
  } finally {
    life.end();
    await reader.close().catch(() => {});
  }
}

/** Resolves when all in-sync replicas have it. @throws what kafkajs throws */
export async function writeDeploymentMark(kafka: Kafka, prefix: string, mark: DeploymentMark): Promise<void> {
  const producer = kafka.producer({
    allowAutoTopicCreation: false,
    createPartitioner: kafkajs.Partitioners.DefaultPartitioner,
  });
  await producer.connect();
  try {
    await producer.send({
      topic: topicName(prefix, 'eval.index'),
      acks: -1,
      messages: [{ key: MARK_KEY, value: markBytes(mark), partition: MARK_PARTITION }],
    });
  } finally {
    await producer.disconnect();
  }
}
