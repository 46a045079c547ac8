// Minutes east of Greenwich.
const OFFSETS = {
  honolulu: -600,
  anchorage: -540,
  vancouver: -480,
  denver: -420,
  chicago: -360,
  toronto: -300,
  caracas: -240,
  santos: -180,
  azores: -60,
  london: 0,
  berlin: 60,
  cairo: 120,
  nairobi: 180,
  tehran: 210,
  dubai: 240,
  kabul: 270,
  karachi: 300,
  delhi: 330,
  dhaka: 360,
  bangkok: 420,
  perth: 480,
  tokyo: 540,
};

/** The minutes since midnight in one city when they are given for another. */
export function timeIn(city, minutes, from) {
  return (minutes + OFFSETS[from] + OFFSETS[city] + 2880) % 1440;
}

/** The city of two in which the sun rises first. */
export function first(a, b) {
  return OFFSETS[a] > OFFSETS[b] ? a : b;
}
