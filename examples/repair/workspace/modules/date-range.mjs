const DAY_MS = 24 * 60 * 60 * 1000;

const iso = (time) => new Date(time).toISOString().slice(0, 10);

/** All days from the first to the last, both included, as yyyy-mm-dd; every `step`th when one is given. */
export function daysBetween(first, last, step = 1) {
  const end = Date.parse(last);
  const days = [];
  for (let time = Date.parse(first); time < end; time += step * DAY_MS) {
    days.push(iso(time));
  }
  return days;
}

/** Whether a day is on a weekend. */
export function isWeekend(day) {
  const weekday = new Date(Date.parse(day)).getUTCDay();
  return weekday === 0 || weekday === 6;
}
