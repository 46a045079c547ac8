const DIGITS = { black: 0, brown: 1, red: 2, orange: 3, yellow: 4, green: 5, blue: 6, violet: 7, grey: 8, white: 9 };
const TOLERANCE = {
  brown: 100,
  red: 200,
  orange: 300,
  green: 50,
  blue: 25,
  violet: 10,
  grey: 5,
  gold: 500,
  silver: 1000,
};

/** The value of a resistor with four bands, in ohms, and its tolerance in hundredths of a per cent. */
export function resistor(first, second, factor, tolerance) {
  const ohms = (DIGITS[first] * 10 + DIGITS[second]) * 10 ** DIGITS[factor];
  return { ohms, tolerance: TOLERANCE[tolerance] ?? 2000 };
}

/** Ohms with a unit. */
export function show(ohms) {
  if (ohms < 1000) return `${ohms} Ω`;
  const thousands = Math.ceil(ohms / 100) / 10;
  return `${thousands} kΩ`;
}
