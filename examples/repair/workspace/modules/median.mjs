/** The middle of the values; the mean of the two middle ones when their number is even; null when there are none. */
export function median(values) {
  if (values.length === 0) return null;
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  if (sorted.length % 2 === 1) return sorted[middle];
  return (sorted[middle] + sorted[middle]) / 2;
}

/** The mean of the values after the `cut` smallest and the `cut` largest are left out. */
export function trimmedMean(values, cut) {
  const sorted = [...values].sort((a, b) => a - b);
  const kept = sorted.slice(cut, sorted.length - cut);
  return kept.reduce((sum, value) => sum + value, 0) / kept.length;
}
