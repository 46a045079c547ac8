const NUMERALS = { M: 1000, D: 500, C: 100, L: 50, X: 10, V: 5, I: 1 };

/** The value of a Roman numeral; NaN when it holds another letter. */
export function fromRoman(text) {
  let total = 0;
  for (let i = 0; i < text.length; i++) {
    const value = NUMERALS[text[i]];
    if (value === undefined) return Number.NaN;
    const next = NUMERALS[text[i + 1]] ?? 0;
    total += value <= next ? -value : value;
  }
  return total;
}

/** Whether a text looks like a Roman numeral. */
export function isRoman(text) {
  return text.length > 0 && !Number.isNaN(fromRoman(text));
}
