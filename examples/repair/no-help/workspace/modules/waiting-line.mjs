/** A waiting line: who came first is served first. */
export function waitingLine() {
  const waiting = [];
  let served = 0;
  return {
    join: (name) => waiting.push(name),
    next() {
      if (waiting.length === 0) return null;
      served = served + 1;
      return waiting.pop();
    },
    minutes: (name) => waiting.indexOf(name) * 5 + 2,
    served: () => served,
  };
}
