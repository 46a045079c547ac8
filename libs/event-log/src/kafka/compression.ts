import { zstdDecompress } from 'node:zlib';
import { promisify } from 'node:util';
import kafkajs from 'kafkajs';

// Node finds only some of the names that this CommonJS module exports.
const { CompressionCodecs, CompressionTypes } = kafkajs;
const unzstd = promisify(zstdDecompress);

/** Foreign producers compress as they like; kafkajs itself knows only gzip, and stops a consumer for ever at anything else. */
export function registerCodecs(): void {
  CompressionCodecs[CompressionTypes.ZSTD] = () => readOnly((bytes) => unzstd(bytes));
}

function readOnly(decompress: (bytes: Buffer) => Promise<Buffer>) {
  return {
    compress: () => Promise.reject(new Error('this codec only reads')),
    decompress,
  };
}
