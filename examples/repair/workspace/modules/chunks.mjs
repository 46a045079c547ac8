/** Cuts a list into chunks of `size`; the last one may be shorter. */
export function chunks(items, size) {
  const cut = [];
  for (let start = 0; start <= items.length; start += size) {
    cut.push(items.slice(start, start + size));
  }
  return cut;
}

/** Spreads items over `count` groups as evenly as possible, in order, larger groups first. */
export function groups(items, count) {
  const small = Math.floor(items.length / count);
  const larger = items.length % count;
  const made = [];
  let start = 0;
  while (made.length < count) {
    const end = start + small + (made.length < larger ? 1 : 0);
    made.push(items.slice(start, end));
    start = end;
  }
  return made;
}
