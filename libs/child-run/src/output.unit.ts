import { expect, test } from 'vitest';
import { Capture } from './output.js';

const fill = (chunks: readonly number[]): { capture: Capture; whole: string } => {
  const capture = new Capture();
  let whole = '';
  for (const [at, size] of chunks.entries()) {
    const text = String.fromCharCode(97 + (at % 26)).repeat(size);
    whole += text;
    capture.add(Buffer.from(text));
  }
  return { capture, whole };
};

test.each([[[]], [[5]], [[32768]], [[32768, 32768]], [[65536]], [[1, 40000, 3, 20000]]])(
  'output up to 64 KiB is kept whole, however it was cut into chunks: %j',
  (chunks) => {
    const { capture, whole } = fill(chunks);
    expect(capture.text() === whole).toBe(true);
  },
);

test.each([[[65537]], [[32768, 1, 32768]], [Array.from({ length: 300 }, () => 4096)], [[100000, 100000]]])(
  'of longer output the first and the last 32 KiB are kept, and the rest is counted: %#',
  (chunks) => {
    const { capture, whole } = fill(chunks);
    const left = whole.length - 65536;
    expect(capture.text() === `${whole.slice(0, 32768)}\n[${left} bytes left out]\n${whole.slice(-32768)}`).toBe(true);
  },
);
