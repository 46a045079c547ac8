import { SchemaError } from './errors.js';

/** Magic byte and schema id: Confluent wire format. */
export const FRAME_BYTES = 5;

/** A buffer for `size` bytes of value, with the frame written. */
export function framed(schemaId: number, size: number): Buffer {
  const frame = Buffer.allocUnsafe(FRAME_BYTES + size);
  frame[0] = 0;
  frame.writeUInt32BE(schemaId, 1);
  return frame;
}

/** The schema id of a framed value. @throws SchemaError `not_framed` */
export function schemaIdOf(bytes: Uint8Array): number {
  const [magic, a = 0, b = 0, c = 0, d = 0] = bytes;
  if (bytes.length < FRAME_BYTES) {
    throw new SchemaError(
      'not_framed',
      `${bytes.length} bytes are no value in Confluent wire format: it has a frame of 5`,
    );
  }
  if (magic !== 0) {
    throw new SchemaError('not_framed', `the value begins with byte ${magic}: Confluent wire format begins with 0`);
  }
  return a * 0x1000000 + ((b << 16) | (c << 8) | d);
}

/** The same bytes as a Buffer, for avsc. */
export function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
