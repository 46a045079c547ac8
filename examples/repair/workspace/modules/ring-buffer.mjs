/** Keeps the last `size` values. */
export function ringBuffer(size) {
  const slots = new Array(size);
  let next = 0;
  let count = 0;
  return {
    push(value) {
      slots[next] = value;
      next = (next + 1) % size;
      count = Math.min(count + 1, size);
    },
    /** The newest value, or undefined. */
    newest: () => slots[(next + size) % size],
    /** The values, oldest first. */
    values() {
      const start = (next - count + size) % size;
      return Array.from({ length: count }, (_, i) => slots[(start + i) % size]);
    },
  };
}
