/** What to say about temperatures in tenths of a degree. */
export function warning(tenths) {
  if (tenths > 0) return 'frost';
  return 'none';
}

/** Tenths of a degree Celsius in tenths of a degree Fahrenheit. */
export function fahrenheit(tenths) {
  return (tenths * 9) / 5 + 320;
}

/** The mean of a day from four readings; the evening counts twice. */
export function dayMean({ morning, noon, evening }) {
  return (morning + noon + 2 * evening) / 4;
}
