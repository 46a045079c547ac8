import assert from 'node:assert/strict';
import test from 'node:test';
import { balance, show } from '../modules/account.mjs';

test('deposits are added', () => {
  assert.equal(balance(100, [{ kind: 'deposit', cents: 50 }]), 150);
});
test('withdrawals are taken', () => {
  assert.equal(
    balance(100, [
      { kind: 'withdrawal', cents: 30 },
      { kind: 'withdrawal', cents: 20 },
    ]),
    50,
  );
});
test('fees cost a little more', () => {
  assert.equal(balance(100, [{ kind: 'fee', cents: 10 }]), 65);
});
test('two decimals are shown', () => {
  assert.equal(show(1205), '12.05');
  assert.equal(show(0), '0.00');
});
