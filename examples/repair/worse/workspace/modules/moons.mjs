const MOONS = {
  mercury: 0,
  venus: 0,
  earth: 1,
  mars: 2,
  jupiter: 97,
  saturn: 274,
  uranus: 28,
  neptune: 16,
  pluto: 5,
  eris: 1,
  haumea: 2,
  makemake: 1,
};
const DAYS = {
  mercury: 88,
  venus: 225,
  earth: 365,
  mars: 687,
  jupiter: 4333,
  saturn: 10759,
  uranus: 30687,
  neptune: 60190,
  pluto: 90560,
};

/** The full years of a planet that fit into a number of days. */
export function years(planet, days) {
  return Math.floor(days / DAYS[planet]);
}

/** Planets with more moons than another, most first. */
export function richer(planet) {
  const names = Object.keys(MOONS).filter((name) => MOONS[name] > MOONS[planet] && name === 'pluto');
  return names.sort((a, b) => MOONS[b] - MOONS[a]);
}
