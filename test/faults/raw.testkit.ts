import { zstdCompressSync } from 'node:zlib';
import {
  CompressionCodecs,
  CompressionTypes,
  type ICustomPartitioner,
  type IHeaders,
  Kafka,
  logLevel,
  Partitioners,
  type Producer,
} from 'kafkajs';
import type { WireTopic } from '#lib/schemas';

export interface Foreign {
  readonly key: string | null;
  readonly value: Buffer | null;
  readonly headers?: IHeaders;
  readonly zstd?: boolean;
}
export interface Written extends Foreign {
  readonly topic: WireTopic;
  readonly partition: number;
  readonly position: number;
}

/** Writes any bytes, as whoever reaches the cluster could, with another client's ways. */
export class RawProducer {
  private constructor(
    private readonly producer: Producer,
    private readonly prefix: string,
  ) {}

  /** @param partitioner where records go that are put on no partition; absent: as Java's client has it (murmur2 of the key) */
  static async connect(
    brokers: readonly string[],
    prefix: string,
    partitioner: ICustomPartitioner = Partitioners.DefaultPartitioner,
  ): Promise<RawProducer> {
    const kafka = new Kafka({ brokers: [...brokers], clientId: 'foreign', logLevel: logLevel.NOTHING });
    const producer = kafka.producer({ allowAutoTopicCreation: false, createPartitioner: partitioner });
    await producer.connect();
    return new RawProducer(producer, prefix);
  }

  /** Says where the record stands. */
  async put(topic: WireTopic, record: Foreign, partition?: number): Promise<Written> {
    const { key, value, headers = {}, zstd = false } = record;
    const restore = zstd ? compressingZstd() : () => {};
    try {
      const [answer] = await this.producer.send({
        topic: this.prefix + topic,
        compression: zstd ? CompressionTypes.ZSTD : CompressionTypes.None,
        messages: [{ key, value, headers, ...(partition === undefined ? {} : { partition }) }],
      });
      if (answer?.baseOffset === undefined) throw new Error(`no answer for a record on ${topic}`);
      return { ...record, topic, partition: answer.partition, position: Number(answer.baseOffset) };
    } finally {
      restore();
    }
  }

  close(): Promise<void> {
    return this.producer.disconnect();
  }
}

/** The product only reads zstd. */
function compressingZstd(): () => void {
  const codecs: Record<number, () => unknown> = CompressionCodecs;
  const ours = codecs[CompressionTypes.ZSTD] as () => object;
  codecs[CompressionTypes.ZSTD] = () => ({
    ...ours(),
    compress: async ({ buffer }: { readonly buffer: Buffer }) => zstdCompressSync(buffer),
  });
  return () => {
    codecs[CompressionTypes.ZSTD] = ours;
  };
}
