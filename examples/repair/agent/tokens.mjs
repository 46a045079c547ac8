/**
 * A small JavaScript tokenizer: enough to say where an edit may go, not a parser. Strings, template literals and
 * regular expressions are one opaque token each.
 */
const TOKEN =
  /(?<space>\s+|\/\/.*|\/\*[\s\S]*?\*\/)|(?<string>'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`(?:\\.|[^`\\])*`)|(?<number>\d[\d_]*(?:\.\d+)?(?:e[+-]?\d+)?)|(?<word>[A-Za-z_$#][\w$]*)|(?<punctuator>\.\.\.|[=!]==|[=!<>]=|=>|\+\+|--|\*\*|&&|\|\||\?\?|\?\.(?!\d)|[-+*/%]=|[^\s\w])/y;
const REGEXP = /\/(?:\\.|\[(?:\\.|[^\]\\])*\]|[^/\\[\n])+\/[a-z]*/y;
const KEYWORDS = new Set(
  'break case catch class const continue do else export for from function if import in let new of return switch throw try typeof while yield await'.split(
    ' ',
  ),
);

/** Words, numbers and closing brackets end an operand; what follows one is a binary operator, an index or a call. */
export const endsOperand = (token) =>
  token !== undefined &&
  ((token.kind === 'word' && !KEYWORDS.has(token.text)) ||
    token.kind === 'number' ||
    token.kind === 'string' ||
    token.text === ')' ||
    token.text === ']');

/** @returns tokens {kind, text, start, end, place, pair}: `place` is a name of PLACES, `pair` the index of the matching bracket */
export function tokenize(source) {
  const tokens = [];
  for (let at = 0; at < source.length; ) {
    const pattern =
      source[at] === '/' && !/^\/[/*]/.test(source.slice(at, at + 2)) && !endsOperand(tokens.at(-1)) ? REGEXP : TOKEN;
    pattern.lastIndex = at;
    const match = pattern.exec(source);
    if (match === null) throw new SyntaxError(`cannot read the source at offset ${at}`);
    const end = at + match[0].length;
    const kind = pattern === REGEXP ? 'regexp' : Object.entries(match.groups).find(([, text]) => text !== undefined)[0];
    if (kind !== 'space') tokens.push({ kind, text: match[0], start: at, end });
    at = end;
  }
  pairBrackets(tokens);
  placeTokens(tokens);
  return tokens;
}

function pairBrackets(tokens) {
  const open = [];
  for (const [index, token] of tokens.entries()) {
    if (token.kind !== 'punctuator') continue;
    if ('([{'.includes(token.text)) open.push(index);
    if (')]}'.includes(token.text)) {
      token.pair = open.pop();
      if (token.pair === undefined) throw new SyntaxError('a bracket is not opened');
      tokens[token.pair].pair = index;
    }
  }
}

/** The kinds of place that a lesson may name. */
export const PLACES = [
  'a loop header',
  'an if condition',
  'an index',
  'a call argument',
  'a parameter list',
  'a literal table',
  'a return value',
  'an assignment',
  'a statement',
];

function placeTokens(tokens) {
  const frames = [{ block: true, place: 'a statement' }];
  for (const [index, token] of tokens.entries()) {
    const frame = frames.at(-1);
    token.place = frame.place;
    if (token.kind === 'punctuator' && ')]}'.includes(token.text)) {
      frames.pop();
      if (token.text === '}' && frames.at(-1).block) frames.at(-1).place = 'a statement';
    } else if (token.kind === 'punctuator' && '([{'.includes(token.text)) {
      frames.push(opened(tokens, index, frame.place));
    } else if (frame.block) {
      if (token.text === ';') frame.place = 'a statement';
      if (token.text === 'return') frame.place = 'a return value';
      if (/^[-+*/%]?=$/.test(token.text)) frame.place = 'an assignment';
    }
  }
}

function opened(tokens, index, outer) {
  const { text, pair } = tokens[index];
  const before = tokens[index - 1];
  if (text === '{') {
    const literal = before !== undefined && ['(', '=', ',', ':', '[', 'return', '?', '??'].includes(before.text);
    return literal ? { block: false, place: 'a literal table' } : { block: true, place: 'a statement' };
  }
  if (text === '[') return { block: false, place: endsOperand(before) ? 'an index' : 'a literal table' };
  if (before?.text === 'for' || before?.text === 'while') return { block: false, place: 'a loop header' };
  if (before?.text === 'if') return { block: false, place: 'an if condition' };
  if (['{', '=>'].includes(tokens[pair + 1]?.text)) return { block: false, place: 'a parameter list' };
  return { block: false, place: endsOperand(before) ? 'a call argument' : outer };
}
