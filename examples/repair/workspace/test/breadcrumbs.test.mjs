import assert from 'node:assert/strict';
import test from 'node:test';
import { breadcrumbs, parent } from '../modules/breadcrumbs.mjs';

const labels = (path, most) => breadcrumbs(path, most).map(({ label }) => label);

test('every crumb leads to its own page', () => {
  assert.deepEqual(breadcrumbs('/docs/api/'), [
    { label: 'docs', href: '/docs' },
    { label: 'api', href: '/docs/api' },
  ]);
});
test('a short path is shown in full', () => {
  assert.deepEqual(labels('/a/b/c/d'), ['a', 'b', 'c', 'd']);
});
test('a long path is shortened in the middle', () => {
  assert.deepEqual(labels('/a/b/c/d/e/f'), ['a', '…', 'e', 'f']);
  assert.deepEqual(labels('/a/b/c/d', 3), ['a', '…', 'd']);
});
test('the folder above is known', () => {
  assert.equal(parent('/a/b'), '/a');
  assert.equal(parent('/a'), '/');
  assert.equal(parent('/'), null);
  assert.equal(parent('a'), null);
});
