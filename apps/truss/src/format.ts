const NANO = 1_000_000_000;

/** Nano-dollars as decimal USD: two digits at least, and as many more as it takes to say it exactly. */
export function usd(nano: number): string {
  const sign = nano < 0 ? '-' : '';
  const amount = Math.abs(nano);
  const fraction = String(amount % NANO)
    .padStart(9, '0')
    .replace(/0+$/, '')
    .padEnd(2, '0');
  return `${sign}$${whole(Math.floor(amount / NANO))}.${fraction}`;
}

/** An amount of a report, in USD. */
export function dollars(amount: number): string {
  return usd(Math.round(amount * NANO));
}

/** A whole number with its thousands apart. */
export function whole(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ',');
}

/** With a sign in front, but for zero. */
export function signed(value: number, show: (amount: number) => string = whole): string {
  if (value === 0) return show(0);
  return `${value < 0 ? '-' : '+'}${show(Math.abs(value))}`;
}

/** One decimal, so that a third reads as 33.3 %. */
export function percent(rate: number): string {
  const tenths = Math.round(rate * 1000) / 10;
  return `${Number.isInteger(tenths) ? tenths : tenths.toFixed(1)} %`;
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${whole(count)} ${count === 1 ? one : many}`;
}

/** A span of time as a person says it: two units at most. */
export function duration(ms: number): string {
  const seconds = ms / 1000;
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  const total = Math.round(seconds);
  if (total < 60) return `${total} s`;
  const minutes = Math.floor(total / 60);
  if (minutes < 60) return withRest(minutes, 'min', total % 60, 's');
  return withRest(Math.floor(minutes / 60), 'h', minutes % 60, 'min');
}

function withRest(big: number, bigUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${big} ${bigUnit}` : `${big} ${bigUnit} ${small} ${smallUnit}`;
}

export type Align = 'left' | 'right';

/** Rows as aligned columns, two spaces apart. Cells are plain text; `paint` colours one after it was padded. */
export function table(
  rows: readonly (readonly string[])[],
  align: readonly Align[] = [],
  paint: (cell: string, row: number, column: number) => string = (cell) => cell,
): string[] {
  const widths: number[] = [];
  for (const row of rows) row.forEach((cell, at) => (widths[at] = Math.max(widths[at] ?? 0, cell.length)));
  return rows.map((row, y) =>
    row
      .map((cell, x) => {
        const last = x === row.length - 1;
        const width = widths[x] ?? 0;
        const padded = align[x] === 'right' ? cell.padStart(width) : last ? cell : cell.padEnd(width);
        return paint(padded, y, x);
      })
      .join('  ')
      .trimEnd(),
  );
}

/** Text of others may hold anything: without line breaks and control characters it cannot move the cursor. */
export function oneLine(text: string, max = Number.POSITIVE_INFINITY): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must go
  const clean = text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]+/g, ' ').trim();
  return clean.length <= max ? clean : `${clean.slice(0, Math.max(0, max - 1))}…`;
}

/** An argument as a POSIX shell takes it. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/gu;

/** Columns that a plain text takes on a terminal: East Asian characters and emoji take two. */
export function columnsOf(text: string): number {
  return Array.from(text).length + (text.match(WIDE)?.length ?? 0);
}

/** Cuts a plain text to so many columns. */
export function fitColumns(text: string, columns: number): string {
  if (columnsOf(text) <= columns) return text;
  let cut = '';
  let used = 0;
  for (const character of text) {
    used += columnsOf(character);
    if (used > columns - 1) break;
    cut += character;
  }
  return `${cut}…`;
}
