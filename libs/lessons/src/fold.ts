/** Letters of other scripts that look like a Latin one, and its Latin twin (the common ones of Unicode's confusables.txt). */
const LOOKALIKES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    а: 'a',
    α: 'a',
    ɑ: 'a',
    в: 'b',
    β: 'b',
    с: 'c',
    ϲ: 'c',
    ԁ: 'd',
    е: 'e',
    ε: 'e',
    є: 'e',
    ɡ: 'g',
    һ: 'h',
    н: 'h',
    η: 'n',
    і: 'i',
    ι: 'i',
    ı: 'i',
    ј: 'j',
    к: 'k',
    κ: 'k',
    ӏ: 'l',
    м: 'm',
    ν: 'v',
    о: 'o',
    ο: 'o',
    σ: 'o',
    օ: 'o',
    р: 'p',
    ρ: 'p',
    ԛ: 'q',
    г: 'r',
    ѕ: 's',
    т: 't',
    τ: 't',
    υ: 'u',
    ս: 'u',
    ѵ: 'v',
    ԝ: 'w',
    ω: 'w',
    х: 'x',
    χ: 'x',
    у: 'y',
    γ: 'y',
    ᴀ: 'a',
    ʙ: 'b',
    ᴄ: 'c',
    ᴅ: 'd',
    ᴇ: 'e',
    ɢ: 'g',
    ʜ: 'h',
    ɪ: 'i',
    ᴊ: 'j',
    ᴋ: 'k',
    ʟ: 'l',
    ᴍ: 'm',
    ɴ: 'n',
    ᴏ: 'o',
    ᴘ: 'p',
    ʀ: 'r',
    ꜱ: 's',
    ᴛ: 't',
    ᴜ: 'u',
    ᴠ: 'v',
    ᴡ: 'w',
    ʏ: 'y',
    ᴢ: 'z',
  }),
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
    .replace(/[^\p{ASCII}]/gu, (character) => LOOKALIKES.get(character) ?? character)
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
