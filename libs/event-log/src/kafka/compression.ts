import { promisify } from 'node:util';
import { gunzip, gzip, zstdDecompress } from 'node:zlib';
import kafkajs from 'kafkajs';
import { MOST_BYTES } from './growing.js';
import { unlz4 } from './lz4.js';
import { unsnappy } from './snappy.js';

// Plain node sees no export of that name: kafkajs is CommonJS.
const { CompressionCodecs, CompressionTypes } = kafkajs;

/** Records that stand in for those of a batch that cannot be unpacked; no batch has more. */
const STAND_INS = 100_000;

type Decompress = (bytes: Buffer) => Promise<Buffer> | Buffer;
type Compress = (encoder: { readonly buffer: Buffer }) => Promise<Buffer>;

/**
 * Foreign producers compress as they like. kafkajs itself knows only gzip, without a limit, and stops a consumer for ever at anything else: with these it
 * reads all that Kafka has, and a batch that cannot be unpacked is one of records with no value.
 */
export function registerCodecs(): void {
  const limit = { maxOutputLength: MOST_BYTES };
  const codec =
    (decompress: Decompress, compress: Compress = readOnly) =>
    () => ({
      compress,
      decompress: async (bytes: Buffer): Promise<Buffer> => {
        try {
          return await decompress(bytes);
        } catch {
          return standIns();
        }
      },
    });
  CompressionCodecs[CompressionTypes.GZIP] = codec(
    (bytes) => promisify(gunzip)(bytes, limit),
    ({ buffer }) => promisify(gzip)(buffer),
  );
  CompressionCodecs[CompressionTypes.ZSTD] = codec((bytes) => promisify(zstdDecompress)(bytes, limit));
  CompressionCodecs[CompressionTypes.Snappy] = codec(unsnappy);
  CompressionCodecs[CompressionTypes.LZ4] = codec(unlz4);
}

const readOnly: Compress = () => Promise.reject(new Error('this codec only reads'));

let made: Buffer | null = null;

/** Records as in a batch (Kafka protocol guide, "Record"): offsets that count up, no key, no value, no headers. */
function standIns(): Buffer {
  if (made !== null) return made;
  const bytes: number[] = [];
  for (let offset = 0; offset < STAND_INS; offset++) {
    const body = [0, 0, ...varint(offset), 1, 1, 0];
    bytes.push(...varint(body.length), ...body);
  }
  made = Buffer.from(bytes);
  return made;
}

/** Zigzag, for numbers from 0 on. */
function varint(value: number): number[] {
  const bytes: number[] = [];
  let left = value * 2;
  for (; left > 127; left >>>= 7) bytes.push((left & 127) | 128);
  bytes.push(left);
  return bytes;
}
