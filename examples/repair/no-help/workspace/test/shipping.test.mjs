import assert from 'node:assert/strict';
import test from 'node:test';
import { shipping, total } from '../modules/shipping.mjs';

const order = (zone, member, parcels = 1) => ({ zone, member, parcels, cents: 1000 });

test('members at home pay nothing', () => {
  assert.equal(shipping(order('home', 'yes')), 0);
});
test('others at home pay a fee', () => {
  assert.equal(shipping(order('home', 'no')), 490);
});
test('away from home everybody pays', () => {
  assert.equal(shipping(order('near', 'yes')), 990);
  assert.equal(shipping(order('near', 'no')), 990);
  assert.equal(shipping(order('far', 'yes', 2)), 2490);
});
test('the total has both', () => {
  assert.equal(total(order('home', 'no')), 1490);
});
