/** A card number of which only the last four digits can be read. */
export function mask(number) {
  const hidden = number.length - 4;
  return '*'.repeat(hidden) + number.slice(0, hidden);
}

/** The check digit of eight digits: weights 3 and 1 in turn. */
export function checkDigit(digits) {
  const sum = [...digits].reduce((total, digit, i) => total + Number(digit) * (i % 2 === 0 ? 3 : 1), 0);
  return (10 - (sum % 10)) % 10;
}
