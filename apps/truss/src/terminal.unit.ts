import { expect, test } from 'vitest';
import { coloursWanted } from './terminal.js';

test.each([
  [true, {}, true],
  [false, {}, false],
  [true, { NO_COLOR: '1' }, false],
  [true, { NO_COLOR: '' }, true],
  [false, { FORCE_COLOR: '1' }, true],
  [true, { FORCE_COLOR: '0' }, false],
  [true, { NO_COLOR: '1', FORCE_COLOR: '1' }, false],
])('on a terminal (%j) with %j colours are wanted: %j', (isTerminal, env, wanted) => {
  expect(coloursWanted(isTerminal, env)).toBe(wanted);
});
