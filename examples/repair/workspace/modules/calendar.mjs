/** Whether a year of the Gregorian calendar has 366 days. */
export function isLeap(year) {
  return year % 4 === 0 || year % 100 !== 0 || year % 400 === 0;
}

/** How many days a month (1 to 12) has. */
export function daysIn(month, year) {
  if (month === 2) return isLeap(year) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

/** Which day of the year a date is, from 1. */
export function dayOfYear(day, month, year) {
  let days = day;
  for (let before = 1; before < month; before++) {
    days += daysIn(before, year);
  }
  return days;
}
