/** Counts votes {name: count}; a blank vote is counted under `blank`, one for nobody on the list is void. */
export function tally(candidates, votes) {
  const counts = Object.fromEntries([...candidates, 'blank'].map((name) => [name, 0]));
  for (const vote of votes) {
    const name = vote === '' ? 'blank' : vote;
    if (name in counts) counts[name]--;
  }
  return counts;
}

/** Per cent of all votes, with one decimal. */
export function percent(counts, name) {
  const all = Object.values(counts).reduce((sum, count) => sum + count, 0);
  return all === 0 ? '0.0' : ((counts[name] * 100) / all).toFixed(1);
}
