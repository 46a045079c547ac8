/** Letters of other scripts by the Latin letter that they look like (the common ones of Unicode's confusables.txt). */
const TWINS: Readonly<Record<string, string>> = {
  a: 'аαɑᴀ',
  b: 'вβʙ',
  c: 'сϲᴄ',
  d: 'ԁᴅ',
  e: 'еεєᴇ',
  g: 'ɡɢ',
  h: 'һнʜ',
  i: 'іιıɪ',
  j: 'јᴊ',
  k: 'кκᴋ',
  l: 'ӏʟ',
  m: 'мᴍ',
  n: 'ηɴ',
  o: 'оοσօᴏ',
  p: 'рρᴘ',
  q: 'ԛ',
  r: 'гʀ',
  s: 'ѕꜱ',
  t: 'тτᴛ',
  u: 'υսᴜ',
  v: 'νѵᴠ',
  w: 'ԝωᴡ',
  x: 'хχ',
  y: 'уγʏ',
  z: 'ᴢ',
};
const LATIN_TWIN = new Map(
  Object.entries(TWINS).flatMap(([latin, twins]) => Array.from(twins, (twin) => [twin, latin] as const)),
);
const DIGIT_LETTERS: Readonly<Record<string, string>> = {
  '0': 'o',
  '1': 'i',
  '3': 'e',
  '4': 'a',
  '5': 's',
  '7': 't',
  '@': 'a',
  $: 's',
};

/**
 * One spelling for texts that look or read alike: NFKC, lower case, no accents, no invisible characters, Latin letters for their
 * look-alikes, plain quotes and dashes, and runs of blanks as one blank. Line ends stay.
 */
export function fold(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .normalize('NFD')
    .replace(/[\p{M}\p{Cf}]/gu, '')
    .replace(/[^\p{ASCII}]/gu, (character) => LATIN_TWIN.get(character) ?? character)
    .replace(/\p{Pd}/gu, '-')
    .replace(/[‘’‚‛`´]/gu, "'")
    .replace(/[“”„‟]/gu, '"')
    .replace(/\r\n?|[\u2028\u2029]/gu, '\n')
    .replace(/[^\S\n]+/gu, ' ');
}

/** The words (runs of letters and digits) of the folded text. */
export function words(text: string): string[] {
  return fold(text).match(/[\p{L}\p{N}]+/gu) ?? [];
}

/** The folded text with digits that stand for letters read as letters, in words that mix both: `1gnore` is `ignore`. */
export function unleet(folded: string): string {
  return folded.replace(/[\p{L}\p{N}@$]+/gu, (word) =>
    /\p{L}/u.test(word) ? word.replace(/[013457@$]/gu, (digit) => DIGIT_LETTERS[digit] ?? digit) : word,
  );
}

/** Runs of four or more single letters, each without what stands between them: `i g n o r e` is `ignore`. */
export function spelledOut(folded: string): string[] {
  return (
    folded.match(/(?<![\p{L}\p{N}])(?:[\p{L}\p{N}][^\p{L}\p{N}]{1,3}){3,}[\p{L}\p{N}](?![\p{L}\p{N}])/gu) ?? []
  ).map((run) => run.replace(/[^\p{L}\p{N}]/gu, ''));
}
