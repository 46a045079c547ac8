/**
 * The order in which candidates are tried. Without lessons: one of each operator in turn, both orders random, so that
 * a long table of numbers does not drown the rest. With lessons: what they name comes first, whatever its length.
 */
export function order(candidates, preference, random) {
  const queues = new Map();
  for (const candidate of shuffle(candidates, random)) {
    queues.set(candidate.operator, [...(queues.get(candidate.operator) ?? []), candidate]);
  }
  const turns = shuffle([...queues.values()], random);
  const longest = Math.max(0, ...turns.map((queue) => queue.length));
  const inTurn = Array.from({ length: longest }, (_, round) => turns.flatMap((queue) => queue.slice(round, round + 1)));
  return inTurn.flat().sort((a, b) => preference(b) - preference(a));
}

function shuffle(items, random) {
  const shuffled = [...items];
  for (let last = shuffled.length - 1; last > 0; last -= 1) {
    const other = Math.floor(random() * (last + 1));
    [shuffled[last], shuffled[other]] = [shuffled[other], shuffled[last]];
  }
  return shuffled;
}

/** A small seeded generator (a Weyl sequence through a mixing function); uniform enough to shuffle with. */
export function seeded(seed) {
  let state = Math.abs(Math.trunc(seed)) % 2 ** 32;
  return () => {
    state = (state + 0x9e3779b9) % 2 ** 32;
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32;
  };
}
