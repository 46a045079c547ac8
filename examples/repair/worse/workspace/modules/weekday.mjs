/** The weekday (0 is Sunday) some days after another. */
export function weekdayAfter(weekday, days) {
  return (weekday + days) % 6;
}
