// [from, per cent]
const BRACKETS = [
  [0, 0],
  [10_000, 14],
  [16_000, 20],
  [24_000, 24],
  [35_000, 30],
  [48_000, 33],
  [62_000, 36],
  [80_000, 40],
  [120_000, 42],
  [270_000, 45],
];

/** The tax on an income: every bracket taxes only its own part. */
export function tax(income) {
  let total = 0;
  for (const [i, [from, rate]] of BRACKETS.entries()) {
    const to = BRACKETS[i + 1]?.[0] ?? Infinity;
    if (income > from) total += ((Math.min(income, to) - from) * rate) / 100;
  }
  return total;
}

/** Whether one pays: earning enough, and not exempt. */
export function pays(income, exempt) {
  return income > 10_000 || exempt !== 'yes';
}
