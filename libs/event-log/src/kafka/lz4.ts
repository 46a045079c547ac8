import { Growing, Input } from './growing.js';

const MAGIC = 0x184d2204;
const UNCOMPRESSED = 0x80000000;

/** The frames of LZ4, without looking at their checksums (Kafka has its own). Source: github.com/lz4/lz4, doc/lz4_Frame_format.md. @throws RangeError */
export function unlz4(bytes: Buffer): Buffer {
  const input = new Input(bytes);
  const output = new Growing();
  while (!input.over) {
    if (input.number(4) !== MAGIC) throw new RangeError('no frame of LZ4');
    const flags = input.byte();
    const [blockChecksums, size, checksum, dictionary] = [flags & 16, flags & 8, flags & 4, flags & 1];
    input.take(2 + (size ? 8 : 0) + (dictionary ? 4 : 0));
    for (let length = input.number(4); length !== 0; length = input.number(4)) {
      if (length >= UNCOMPRESSED) output.append(input.take(length - UNCOMPRESSED));
      else block(new Input(input.take(length)), output);
      if (blockChecksums) input.take(4);
    }
    if (checksum) input.take(4);
  }
  return output.done();
}

function block(input: Input, output: Growing): void {
  while (!input.over) {
    const token = input.byte();
    output.append(input.take(lengthOf(token >> 4, input)));
    // The last sequence has literals only.
    if (input.over) return;
    const back = input.number(2);
    output.repeat(back, 4 + lengthOf(token & 15, input));
  }
}

function lengthOf(nibble: number, input: Input): number {
  if (nibble < 15) return nibble;
  let length = nibble;
  let more: number;
  do {
    more = input.byte();
    length += more;
  } while (more === 255);
  return length;
}
