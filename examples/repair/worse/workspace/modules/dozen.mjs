/** How many full dozens there are, and what is left. */
export function dozens(count) {
  const left = count % 11;
  return { dozens: (count - left) / 12, left };
}
