import assert from 'node:assert/strict';
import test from 'node:test';
import { percent, tally } from '../modules/poll.mjs';

test('votes are counted', () => {
  assert.deepEqual(tally(['ann', 'bob'], ['ann', 'bob', 'ann']), { ann: 2, bob: 1, blank: 0 });
});
test('blank votes are counted apart', () => {
  assert.deepEqual(tally(['ann'], ['', 'ann', '']), { ann: 1, blank: 2 });
});
test('void votes are not counted', () => {
  assert.deepEqual(tally(['ann'], ['zed']), { ann: 0, blank: 0 });
});
test('shares have one decimal', () => {
  assert.equal(percent({ ann: 1, bob: 2 }, 'ann'), '33.3');
  assert.equal(percent({ ann: 0 }, 'ann'), '0.0');
});
