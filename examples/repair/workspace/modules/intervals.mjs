/** Merges intervals [start, end] that overlap or touch, and gives them in order. */
export function mergeIntervals(intervals) {
  const sorted = [...intervals].sort((a, b) => a[0] - b[0]);
  const merged = [];
  for (const [start, end] of sorted) {
    const last = merged[merged.length - 1];
    if (last && start < last[1]) {
      last[1] = Math.max(last[1], end);
    } else {
      merged.push([start, end]);
    }
  }
  return merged;
}

/** How much intervals cover together. */
export function covered(intervals) {
  return mergeIntervals(intervals).reduce((sum, [start, end]) => sum + end - start, 0);
}
