import assert from 'node:assert/strict';
import test from 'node:test';
import { columnWidth, setting } from '../modules/settings.mjs';

test('a missing setting has its default', () => {
  assert.equal(setting({}, 'volume'), 70);
  assert.equal(setting({}, 'theme'), 'light');
});
test('a setting of the user wins', () => {
  assert.equal(setting({ volume: 20 }, 'volume'), 20);
});
test('a setting may be zero or empty', () => {
  assert.equal(setting({ volume: 0 }, 'volume'), 0);
  assert.equal(setting({ theme: '' }, 'theme'), '');
});
test('columns share the width', () => {
  assert.equal(columnWidth({}, 316), 100);
  assert.equal(columnWidth({ columns: 0 }, 300), 300);
});
