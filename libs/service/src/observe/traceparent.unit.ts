import { expect, test } from 'vitest';
import { parseTraceparent, traceparentOf } from './traceparent.js';

const trace = '0af7651916cd43dd8448eb211c80319c';
const span = 'b7ad6b7169203331';

test('a traceparent is read and written as it came', () => {
  const text = `00-${trace}-${span}-01`;
  const context = parseTraceparent(text);
  expect(context).toMatchObject({ traceId: trace, spanId: span, traceFlags: 1 });
  expect(context && traceparentOf(context)).toBe(text);
});

test.each([
  undefined,
  '',
  'nonsense',
  `ff-${trace}-${span}-01`,
  `00-${'0'.repeat(32)}-${span}-01`,
  `00-${trace}-${'0'.repeat(16)}-01`,
  `00-${trace.toUpperCase()}-${span}-01`,
  `00-${trace}-${span}-01-more`,
])('%j is none', (text) => {
  expect(parseTraceparent(text)).toBeUndefined();
});

test('a later version may have more at its end', () => {
  expect(parseTraceparent(`01-${trace}-${span}-01-more`)?.traceId).toBe(trace);
});
