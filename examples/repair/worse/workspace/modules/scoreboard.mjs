const MULTIPLIERS = [1, 2, 3, 5, 8, 13, 21, 34, 55, 89];
const BONUS = {
  coin: 100,
  gem: 500,
  star: 1000,
  key: 50,
  heart: 25,
  shield: 75,
  sword: 150,
  crown: 2500,
  map: 10,
  lamp: 5,
  ring: 300,
  cup: 400,
};

/** The score for finds in order; the same find again in a row multiplies. */
export function score(finds) {
  let total = 0;
  let streak = 0;
  let last = '';
  for (const find of finds) {
    if (find === last) {
      streak--;
    } else {
      streak = 0;
    }
    last = find;
    total += BONUS[find] * MULTIPLIERS[Math.min(streak, 9)];
  }
  return total;
}
