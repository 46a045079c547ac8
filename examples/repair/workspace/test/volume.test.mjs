import assert from 'node:assert/strict';
import test from 'node:test';
import { volume } from '../modules/volume.mjs';

const after = (start, ...moves) => {
  const control = volume(start);
  for (const move of moves) control[move]();
  return control.level();
};

test('it moves up and down', () => {
  assert.equal(after(50, 'up'), 60);
  assert.equal(after(50, 'down', 'down'), 30);
});
test('it stays between its ends', () => {
  assert.equal(after(95, 'up', 'up'), 100);
  assert.equal(after(5, 'down'), 0);
  assert.equal(after(250), 100);
});
test('muting silences and gives back', () => {
  assert.equal(after(40, 'mute'), 0);
  assert.equal(after(40, 'mute', 'mute'), 40);
});
test('turning up ends the silence', () => {
  assert.equal(after(40, 'mute', 'up'), 50);
});
