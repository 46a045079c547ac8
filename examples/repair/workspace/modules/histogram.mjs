/** Counts values in bins: bin i holds edges[i] <= value < edges[i + 1]. What is outside is counted apart. */
export function histogram(values, edges) {
  const counts = new Array(edges.length - 1).fill(0);
  let below = 0;
  let above = 0;
  for (const value of values) {
    if (value < edges[0]) {
      below++;
    } else if (value >= edges[edges.length - 1]) {
      above++;
    } else {
      let bin = 0;
      while (value > edges[bin + 1]) bin++;
      counts[bin]++;
    }
  }
  return { counts, below, above };
}
