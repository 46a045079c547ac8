/** Where `wanted` is in an ascending list: {found, at}, where `at` is its place or the place to insert it. */
export function search(sorted, wanted) {
  let low = 0;
  let high = sorted.length - 1;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const value = sorted[middle];
    if (value === wanted) return { found: true, at: middle };
    if (value < wanted) {
      low = middle + 1;
    } else {
      high = middle - 1;
    }
  }
  return { found: false, at: low };
}

/** Inserts a value so that the list stays ascending; a value that is there is not added again. */
export function insert(sorted, value) {
  const { found, at } = search(sorted, value);
  return found ? sorted : [...sorted.slice(0, at), value, ...sorted.slice(at)];
}
