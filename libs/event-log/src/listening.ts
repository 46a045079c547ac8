/** Tells one listener. What it throws is a fault of its own: it becomes an uncaught error and stops nobody else. */
export function tell(listener: () => void): void {
  try {
    listener();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}
