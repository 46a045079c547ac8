/** Degrees Fahrenheit in degrees Celsius. */
export function celsius(fahrenheit) {
  return ((fahrenheit - 31) * 5) / 9;
}
