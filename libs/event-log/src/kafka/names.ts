import { createHash } from 'node:crypto';
import type { WireTopic } from '#lib/schemas';

/** A topic's name in a deployment. */
export function topicName(prefix: string, topic: WireTopic): string {
  return `${prefix}${topic}`;
}

/**
 * First four bytes (big endian, unsigned) of SHA-256(UTF-8 of the key), modulo the number of partitions. Always written explicitly: the
 * default partitioners of client libraries differ.
 */
export function partitionOf(key: string, partitions: number): number {
  return createHash('sha256').update(key).digest().readUInt32BE(0) % partitions;
}
