import { gzipSync, zstdCompressSync } from 'node:zlib';
import { CompressionCodecs, CompressionTypes } from 'kafkajs';
import { describe, expect, test } from 'vitest';
import { utf8, utf8Decode } from '#lib/ledger';
import { registerCodecs } from './compression.js';

registerCodecs();
const decompress = async (type: CompressionTypes, bytes: Uint8Array): Promise<Buffer> => {
  const codecs: Record<number, () => { decompress(bytes: Buffer): Promise<Buffer> }> = CompressionCodecs;
  return (await codecs[type]?.().decompress(Buffer.from(bytes))) ?? Buffer.of();
};

const TEXT = 'abcabcabcabcabcabc and abcabc again, and again, and again';

describe('a foreign batch is read', () => {
  test('in gzip and zstd', async () => {
    expect(String(await decompress(CompressionTypes.GZIP, gzipSync(TEXT)))).toBe(TEXT);
    expect(String(await decompress(CompressionTypes.ZSTD, zstdCompressSync(TEXT)))).toBe(TEXT);
  });

  test('in snappy, raw and as Java frames it', async () => {
    // 12 bytes: the literal "abc", then nine bytes from three back.
    const raw = [12, 2 << 2, ...utf8('abc'), ((9 - 4) << 2) | 1, 3];
    expect(utf8Decode(await decompress(CompressionTypes.Snappy, Uint8Array.from(raw)))).toBe('abcabcabcabc');
    const framed = [0x82, ...utf8('SNAPPY'), 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, raw.length, ...raw];
    expect(utf8Decode(await decompress(CompressionTypes.Snappy, Uint8Array.from(framed)))).toBe('abcabcabcabc');
  });

  test('in LZ4 frames, with blocks that are compressed and blocks that are not', async () => {
    // Three literals, then 4 + 5 from three back; then literals only.
    const block = [(3 << 4) | 5, ...utf8('abc'), 3, 0, 1 << 4, ...utf8('!')];
    const plain = [3, 0, 0, 0x80, ...utf8('xyz')];
    const frame = [4, 0x22, 0x4d, 0x18, 0x60, 0x40, 0, block.length, 0, 0, 0, ...block, ...plain, 0, 0, 0, 0];
    expect(utf8Decode(await decompress(CompressionTypes.LZ4, Uint8Array.from(frame)))).toBe('abcabcabcabc!xyz');
  });
});

test('a batch that cannot be unpacked, or would fill the memory, is one of records without values', async () => {
  const rubbish = Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8, 9);
  const bomb = zstdCompressSync(Buffer.alloc(80 * 1024 * 1024));
  const answers = await Promise.all([
    decompress(CompressionTypes.GZIP, rubbish),
    decompress(CompressionTypes.LZ4, rubbish),
    decompress(CompressionTypes.Snappy, Uint8Array.of(200, 200)),
    decompress(CompressionTypes.ZSTD, bomb),
  ]);
  for (const answer of answers) {
    // Length 6 (zigzag 12), no attributes, no time, offset 0, null key, null value, no headers; then offset 1.
    expect([...answer.subarray(0, 14)]).toEqual([12, 0, 0, 0, 1, 1, 0, 12, 0, 0, 2, 1, 1, 0]);
  }
});
