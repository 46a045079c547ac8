/** Splits cents among people; the first pays what cannot be shared. */
export function splitBill(cents, people) {
  const share = Math.ceil(cents / people);
  const rest = cents - share * people;
  return Array.from({ length: people }, (_, i) => (i === 0 ? share + rest : share));
}

/** A tip of some per cent, on top of the bill. */
export function withTip(cents, percent) {
  return (cents * (100 + percent)) / 100;
}
