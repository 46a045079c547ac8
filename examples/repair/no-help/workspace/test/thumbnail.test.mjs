import assert from 'node:assert/strict';
import test from 'node:test';
import { fit, margins } from '../modules/thumbnail.mjs';

const box = { width: 100, height: 50 };

test('a wide picture fills the width', () => {
  assert.deepEqual(fit({ width: 400, height: 100 }, box), { width: 100, height: 25 });
});
test('a high picture fills the height', () => {
  assert.deepEqual(fit({ width: 100, height: 100 }, box), { width: 50, height: 50 });
});
test('a small picture grows', () => {
  assert.deepEqual(fit({ width: 10, height: 5 }, box), { width: 100, height: 50 });
});
test('the picture is in the middle', () => {
  assert.deepEqual(margins({ width: 100, height: 100 }, box), { side: 25, top: 0 });
});
