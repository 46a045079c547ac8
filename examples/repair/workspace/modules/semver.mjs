const parse = (version) => version.split('.').map(Number);

/** Negative, zero or positive, as the first version is older than, the same as or newer than the second. */
export function compare(a, b) {
  const [left, right] = [parse(a), parse(b)];
  for (let part = 0; part < 3; part++) {
    if (left[part] !== right[part]) return left[part] - right[part];
  }
  return 0;
}

/** Whether a version is in a caret range: at least the base, and the leftmost number that is not zero unchanged. */
export function inCaret(version, base) {
  const [major, minor] = parse(base);
  const below = major > 0 ? `${major + 1}.0.0` : `0.${minor + 1}.0`;
  return compare(version, base) > 0 && compare(version, below) < 0;
}
