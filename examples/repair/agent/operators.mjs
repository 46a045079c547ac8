import { endsOperand, tokenize } from './tokens.mjs';

/**
 * The mutation operators. Each looks at the token at `i` and gives the edits it knows there, as
 * [first token, last token, replacement]; a replacement may use the source between tokens through `text(a, b)`.
 */
const swap = (...groups) => {
  const others = new Map(
    groups.flatMap((group) => group.map((word) => [word, group.filter((other) => other !== word)])),
  );
  return ({ tokens, i }) => (others.get(tokens[i].text) ?? []).map((other) => [i, i, other]);
};
const binary = (edits) => (at) =>
  at.tokens[at.i].kind === 'punctuator' && endsOperand(at.tokens[at.i - 1]) ? edits(at) : [];
const member = (edits) => (at) => (at.tokens[at.i - 1]?.text === '.' ? edits(at) : []);

export const OPERATORS = [
  {
    name: 'boundary comparison',
    about: 'Whether a limit itself is included is easy to get wrong.',
    edits: swap(['<', '<='], ['>', '>=']),
  },
  { name: 'reversed comparison', about: 'Two sides of an order were confused.', edits: swap(['<', '>'], ['<=', '>=']) },
  { name: 'equality test', about: 'Same and different were confused.', edits: swap(['===', '!==']) },
  {
    name: 'logical connective',
    about: 'All of several demands and any one of them were confused.',
    edits: swap(['&&', '||']),
  },
  {
    name: 'arithmetic operator',
    about: 'Numbers were combined in the wrong way.',
    edits: binary(swap(['+', '-'], ['*', '/', '%'])),
  },
  { name: 'integer literal', about: 'A small whole number that is written out was wrong.', edits: integerLiteral },
  { name: 'off by one', about: 'A position or length was counted from the wrong end.', edits: offByOne },
  {
    name: 'rounding',
    about: 'Fractions were dropped or kept on the wrong side.',
    edits: member(swap(['floor', 'ceil', 'round', 'trunc'])),
  },
  {
    name: 'minimum or maximum',
    about: 'The smaller and the larger of two were confused.',
    edits: member(swap(['min', 'max'])),
  },
  { name: 'step direction', about: 'A counter moved the wrong way.', edits: swap(['++', '--']) },
  {
    name: 'compound assignment',
    about: 'A running value was updated in the wrong sense.',
    edits: swap(['+=', '-='], ['*=', '/=']),
  },
  { name: 'negated condition', about: 'A branch was taken exactly when it should not be.', edits: negatedCondition },
  { name: 'argument order', about: 'Two values were handed over in the wrong order.', edits: argumentOrder },
  { name: 'operand order', about: 'The left and the right of a difference were confused.', edits: operandOrder },
  { name: 'boolean literal', about: 'A switch started in the wrong position.', edits: swap(['true', 'false']) },
  {
    name: 'method choice',
    about: 'A sibling of the right library function was called.',
    edits: member(
      swap(
        ['startsWith', 'endsWith'],
        ['indexOf', 'lastIndexOf'],
        ['push', 'unshift'],
        ['shift', 'pop'],
        ['some', 'every'],
        ['trimStart', 'trimEnd', 'trim'],
        ['padStart', 'padEnd'],
        ['toLowerCase', 'toUpperCase'],
        ['find', 'findLast'],
        ['keys', 'values'],
      ),
    ),
  },
  { name: 'default operator', about: 'An empty value and an absent one were confused.', edits: swap(['??', '||']) },
  { name: 'slice bound', about: 'The wrong end of a sequence was cut.', edits: member(sliceBound) },
  {
    name: 'loop exit',
    about: 'Leaving the whole and leaving one round were confused.',
    edits: swap(['break', 'continue']),
  },
];

/** @returns every edit of every operator: {operator, place, line, source}, in the order of the text */
export function candidates(source) {
  const tokens = tokenize(source);
  const text = (a, b) => source.slice(tokens[a].start, tokens[b].end);
  return tokens.flatMap((token, i) =>
    OPERATORS.flatMap(({ name, edits }) =>
      edits({ tokens, i, text }).map(([first, last, replacement]) => ({
        operator: name,
        place: token.place,
        line: source.slice(0, token.start).split('\n').length,
        source: source.slice(0, tokens[first].start) + replacement + source.slice(tokens[last].end),
      })),
    ),
  );
}

function integerLiteral({ tokens, i }) {
  const { kind, text } = tokens[i];
  if (kind !== 'number' || !/^\d+$/.test(text)) return [];
  const value = Number(text);
  return [value + 1, value - 1].filter((other) => other >= 0).map((other) => [i, i, String(other)]);
}

/** Takes a written `+ 1` or `- 1` away, or puts one behind an operand where positions and lengths are used. */
function offByOne({ tokens, i }) {
  const { kind, text, place } = tokens[i];
  if (['+', '-'].includes(text) && tokens[i + 1]?.text === '1' && endsOperand(tokens[i - 1])) return [[i, i + 1, '']];
  const length = kind === 'word' && ['length', 'size'].includes(text) && tokens[i - 1]?.text === '.';
  const position = kind === 'word' && endsOperand(tokens[i]) && ['an index', 'a call argument'].includes(place);
  const followed = ['.', '(', '[', '=>', '?.', '+', '-', '++', '--'].includes(tokens[i + 1]?.text);
  if (!(length || position) || followed) return [];
  return [' + 1', ' - 1'].map((step) => [i, i, text + step]);
}

function negatedCondition({ tokens, i, text }) {
  if (tokens[i].text === '!') return [[i, i, '']];
  if (tokens[i].text !== '(' || !['if', 'while'].includes(tokens[i - 1]?.text)) return [];
  const close = tokens[i].pair;
  return [[i + 1, close - 1, `!(${text(i + 1, close - 1)})`]];
}

function argumentOrder({ tokens, i, text }) {
  if (tokens[i].text !== '(' || !endsOperand(tokens[i - 1]) || ['{', '=>'].includes(tokens[tokens[i].pair + 1]?.text))
    return [];
  const [first, second] = listItems(tokens, i);
  if (second === undefined) return [];
  return [[first[0], second[1], `${text(...second)}, ${text(...first)}`]];
}

function operandOrder({ tokens, i }) {
  const [left, right] = [tokens[i - 1], tokens[i + 1]];
  if (tokens[i].text !== '-' || left?.kind !== 'word' || right?.kind !== 'word') return [];
  const start = memberStart(tokens, i - 1);
  const end = memberEnd(tokens, i + 1);
  const join = (from, to) =>
    tokens
      .slice(from, to + 1)
      .map(({ text }) => text)
      .join('');
  return [[start, end, `${join(i + 1, end)} - ${join(start, i - 1)}`]];
}

function sliceBound({ tokens, i, text }) {
  if (!['slice', 'substring'].includes(tokens[i].text) || tokens[i + 1]?.text !== '(') return [];
  const [first, second] = listItems(tokens, i + 1);
  if (first === undefined) return [];
  if (second !== undefined)
    return [
      [first[0], second[1], text(...first)],
      [first[0], second[1], text(...second)],
    ];
  return [
    [...first, `0, ${text(...first)}`],
    [...first, `${text(...first)} + 1`],
  ];
}

/** The items between the bracket at `open` and its pair, as [first token, last token]. */
function listItems(tokens, open) {
  const items = [];
  let first = open + 1;
  for (let i = first; i <= tokens[open].pair; i += 1) {
    if (tokens[i].text === ',' || i === tokens[open].pair) {
      if (i > first) items.push([first, i - 1]);
      first = i + 1;
    } else if ('([{'.includes(tokens[i].text)) i = tokens[i].pair;
  }
  return items;
}

function memberStart(tokens, i) {
  return tokens[i - 1]?.text === '.' && tokens[i - 2]?.kind === 'word' ? memberStart(tokens, i - 2) : i;
}

function memberEnd(tokens, i) {
  return tokens[i + 1]?.text === '.' && tokens[i + 2]?.kind === 'word' ? memberEnd(tokens, i + 2) : i;
}
