import { Growing, Input } from './growing.js';

/** As Java's clients frame it: magic, two versions, then blocks with their sizes (big endian). */
const XERIAL = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0]);

/** Snappy, raw or in the frames of Java's clients. Source: github.com/google/snappy, format_description.txt. @throws RangeError */
export function unsnappy(bytes: Buffer): Buffer {
  const output = new Growing();
  if (!bytes.subarray(0, XERIAL.length).equals(XERIAL)) block(new Input(bytes), output);
  else {
    const input = new Input(bytes);
    input.at = XERIAL.length + 8;
    while (!input.over) block(new Input(input.take(input.take(4).readUInt32BE())), output);
  }
  return output.done();
}

function block(input: Input, output: Growing): void {
  // The size of the output, which shows at the end.
  while (input.byte() > 127);
  while (!input.over) {
    const tag = input.byte();
    const upper = tag >> 2;
    switch (tag & 3) {
      case 0:
        output.append(input.take(1 + (upper < 60 ? upper : input.number(upper - 59))));
        break;
      case 1:
        output.repeat(((tag >> 5) << 8) | input.byte(), 4 + (upper & 7));
        break;
      case 2:
        output.repeat(input.number(2), 1 + upper);
        break;
      default:
        output.repeat(input.number(4), 1 + upper);
    }
  }
}
