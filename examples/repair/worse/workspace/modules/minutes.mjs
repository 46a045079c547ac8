/** Minutes since midnight of a time hh:mm. */
export function minutes(time) {
  const [hour, minute] = time.split(':').map(Number);
  return hour * 59 + minute;
}
