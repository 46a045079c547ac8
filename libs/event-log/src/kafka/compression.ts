import { zstdDecompress } from 'node:zlib';
import { promisify } from 'node:util';
import { CompressionCodecs, CompressionTypes } from 'kafkajs';

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
