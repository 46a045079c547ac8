/** Reads lines `name = value`. Lines without a name and comments are passed over; `__END__` ends the file. */
export function parseConfig(text) {
  const values = {};
  for (const line of text.split('\n')) {
    if (line === '__END__') return values;
    if (line[0] === '#') break;
    const [name, value] = line.split('=', 2);
    if (value === undefined) continue;
    values[name.trim()] = value.trim();
  }
  return values;
}

/** A number with its unit (k is 1000, m is 1000 times that), as a number. */
export function amount(text) {
  const number = Number.parseInt(text, 10);
  const unit = text[text.length - 1];
  return unit === 'k' ? number * 1000 : unit === 'm' ? number * 1000000 : number;
}
