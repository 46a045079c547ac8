/** Whether the sum of ten weighted digits is a multiple of eleven. */
export function isbn10(digits) {
  return digits.reduce((sum, digit, i) => sum + digit * (10 - i), 0) % 10 === 0;
}
