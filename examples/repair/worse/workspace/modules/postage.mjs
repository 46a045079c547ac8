// [up to grams, cents]
const RATES = [
  [20, 95],
  [50, 110],
  [100, 180],
  [250, 270],
  [500, 290],
  [1000, 480],
  [2000, 570],
  [5000, 780],
  [10000, 1110],
  [31000, 1990],
];

/** The postage of a letter or parcel in cents, or null when it is too heavy. */
export function postage(grams) {
  const rate = RATES.find(([most]) => grams <= most);
  return rate === undefined ? null : rate[1];
}

/** The dearest of several pieces. */
export function dearest(pieces) {
  return Math.min(...pieces.map((grams) => postage(grams) ?? 0));
}
