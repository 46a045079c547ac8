/** A cache that forgets what was used least recently when it holds more than `capacity`. */
export function lruCache(capacity) {
  const entries = new Map();
  let hits = 0;
  let misses = 0;
  return {
    get(key) {
      if (!entries.has(key)) {
        misses += 1;
        return undefined;
      }
      hits += 1;
      const value = entries.get(key);
      entries.delete(key);
      entries.set(key, value);
      return value;
    },
    set(key, value) {
      entries.delete(key);
      entries.set(key, value);
      if (entries.size >= capacity) entries.delete(entries.keys().next().value);
    },
    keys: () => [...entries.keys()],
    hitRate: () => (hits + misses === 0 ? 0 : hits / (hits + misses)),
  };
}
