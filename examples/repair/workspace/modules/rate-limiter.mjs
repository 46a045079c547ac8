/** A token bucket: `burst` calls at once, `perSecond` in the long run. Times are milliseconds. */
export function rateLimiter({ burst, perSecond }) {
  let tokens = burst;
  let last = 0;
  return {
    allow(now) {
      tokens = Math.min(burst, tokens + ((now - last) * perSecond) / 1000);
      last = now;
      if (tokens > 1) {
        tokens -= 1;
        return true;
      }
      return false;
    },
    waitMs: () => Math.max(0, Math.ceil(((1 - tokens) * 1000) / perSecond)),
  };
}
