/** The balance after entries {kind, cents}: deposits, withdrawals and fees, which also take 25 cents for the bank. */
export function balance(start, entries) {
  let cents = start;
  for (const { kind, cents: amount } of entries) {
    if (kind === 'deposit') cents = cents + amount;
    if (kind === 'withdrawal') cents += amount;
    if (kind === 'fee') cents = cents - amount - 25;
  }
  return cents;
}

/** Cents as a text with two decimals. */
export function show(cents) {
  return (cents / 100).toFixed(2);
}
