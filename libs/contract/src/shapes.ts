import type { Problems } from './errors.js';
import { isBlockedPort } from './ports.js';
import type { Shape } from './table.js';
import type { Node, TableNode } from './toml.js';

export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
export type JsonTable = { [key: string]: Json };

/** `quiet`: the value may be a secret, and messages never show it. */
function shape<T>(zero: T, expected: string, check: (node: Node) => T | null, quiet = false): Shape<T> {
  return {
    zero,
    read(node, problems) {
      const value = check(node);
      if (value !== null) return value;
      problems.add('invalid', node.at, `wrong value (${quiet ? node.kind : describe(node)})`, `expected ${expected}`);
      return zero;
    },
  };
}

/** Says what stands there without repeating text, which may be long or secret. */
function describe(node: Node): string {
  switch (node.kind) {
    case 'integer':
    case 'float':
      return node.text;
    case 'boolean':
      return String(node.value);
    case 'string':
      return node.value === '' ? 'an empty string' : node.value.length > 40 ? 'a string' : JSON.stringify(node.value);
    case 'null':
      return 'null';
    default:
      return `${node.kind === 'array' ? 'an' : 'a'} ${node.kind}`;
  }
}

/** Any string but an empty one; `blank` allows that too. */
export const text = shape('', 'a string that is not empty', (n) =>
  n.kind === 'string' && n.value.trim() ? n.value : null,
);
export const blankText = shape('', 'a string', (n) => (n.kind === 'string' ? n.value : null));

export const identifier = shape('', 'letters, digits, `.`, `_` and `-`, at most 100 of them', (n) =>
  n.kind === 'string' && /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(n.value) ? n.value : null,
);

/** Case ids come from data sets, so they are freer: one line of text. */
export const label = shape('', 'one line of text, at most 200 characters', (n) =>
  n.kind === 'string' && n.value.trim() && n.value.length <= 200 && !/\p{Cc}/u.test(n.value) ? n.value : null,
);

export const variableName = shape(
  '',
  'the name of an environment variable, such as "OPENAI_API_KEY", and never the key itself',
  (n) => (n.kind === 'string' && /^[A-Za-z_][A-Za-z0-9_]{0,99}$/.test(n.value) ? n.value : null),
  true,
);

const address = shape(
  '',
  'an http or https address without a user name or password in it',
  (n) => {
    if (n.kind !== 'string' || !URL.canParse(n.value)) return null;
    const { protocol, username, password } = new URL(n.value);
    return /^https?:$/.test(protocol) && username === '' && password === '' ? n.value : null;
  },
  true,
);

/** http or https, without credentials, on a port that may be asked. */
export const url: Shape<string> = {
  zero: '',
  read(node, problems) {
    const value = address.read(node, problems);
    const port = value === '' ? '' : new URL(value).port;
    if (isBlockedPort(Number(port)))
      problems.add('invalid', node.at, `port ${port} cannot be asked`, 'HTTP clients refuse it: serve on another port');
    return value;
  },
};

export function integer(min: number, max = Number.MAX_SAFE_INTEGER): Shape<number> {
  const range = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
  return shape(min, `a whole number ${range}`, (n) =>
    n.kind === 'integer' && Number.isSafeInteger(n.value) && n.value >= min && n.value <= max ? n.value : null,
  );
}

/** A number between the limits, themselves excluded or included as `expected` says. */
export function decimal(expected: string, allowed: (value: number) => boolean): Shape<number> {
  return shape(0, expected, (n) => ((n.kind === 'integer' || n.kind === 'float') && allowed(n.value) ? n.value : null));
}

export function oneOf<const T extends string>(...names: [T, ...T[]]): Shape<T> {
  const expected = `one of ${names.map((name) => `"${name}"`).join(', ')}`;
  return shape(names[0], expected, (n) =>
    n.kind === 'string' ? (names.find((name) => name === n.value) ?? null) : null,
  );
}

export function listOf<T>(item: Shape<T>, what: string, min = 0): Shape<T[]> {
  const list = shape<Node[]>([], `a list of ${what}${min > 0 ? `, at least ${min}` : ''}`, (n) =>
    n.kind === 'array' && n.items.length >= min ? n.items : null,
  );
  return { zero: [], read: (node, problems) => list.read(node, problems).map((n) => item.read(n, problems)) };
}

/** "500ms", "60s", "10m", "6h" to milliseconds, from 1 to 24 days (what a timer can hold). */
export const duration = shape(
  1,
  'a time such as "500ms", "60s", "10m" or "6h", more than nothing and at most "576h"',
  (n) => {
    const found = n.kind === 'string' ? /^(\d{1,12})(ms|s|m|h)$/.exec(n.value) : null;
    const unit = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }[found?.[2] ?? ''] ?? 0;
    const ms = Number(found?.[1] ?? 0) * unit;
    return ms > 0 && ms <= 576 * 3_600_000 ? ms : null;
  },
);

/** US dollars as written to nano-dollars, exactly: no float in between. At most 9,000,000 dollars and nine decimals. */
export const usd = shape(0, 'dollars, from 0 to 9000000 with at most nine decimals', (n) =>
  n.kind === 'integer' || n.kind === 'float' ? nanoUsd(n.text) : null,
);

export function nanoUsd(written: string): number | null {
  const found = /^\+?(\d{1,30})(?:\.(\d{1,30}))?(?:e([+-]?\d{1,2}))?$/i.exec(written.replaceAll('_', ''));
  if (!found) return null;
  const decimals = found[2] ?? '';
  const digits = BigInt((found[1] ?? '') + decimals);
  const shift = 9 + Number(found[3] ?? 0) - decimals.length;
  const divisor = shift < 0 ? 10n ** BigInt(-shift) : 1n;
  if (digits % divisor !== 0n) return null;
  const nano = shift < 0 ? digits / divisor : digits * 10n ** BigInt(shift);
  return nano <= 9_000_000n * 1_000_000_000n ? Number(nano) : null;
}

const maxDepth = 32;

/** A table of any JSON values, at most 32 levels deep. */
export const jsonTable: Shape<JsonTable> = {
  zero: {},
  read(node, problems) {
    if (node.kind === 'table') return toTable(node, problems, 1);
    problems.add('invalid', node.at, `wrong value (${describe(node)})`, 'expected a table, such as { subject = "…" }');
    return {};
  },
};

function toTable(node: TableNode, problems: Problems, depth: number): JsonTable {
  const entries = [...node.entries].map(([key, entry]): [string, Json] => {
    if (key === '__proto__' || !key.isWellFormed()) {
      problems.add('invalid', entry.at, `a key that cannot be used (${JSON.stringify(key)})`, 'give it another name');
    }
    return [key, toJson(entry.node, problems, depth)];
  });
  return Object.fromEntries(entries);
}

function toJson(node: Node, problems: Problems, depth: number): Json {
  const refuse = (expected: string): null => {
    problems.add('invalid', node.at, `wrong value (${describe(node)})`, expected);
    return null;
  };
  if (depth > maxDepth) return refuse(`nest at most ${maxDepth} levels`);
  switch (node.kind) {
    case 'table':
      return toTable(node, problems, depth + 1);
    case 'array':
      return node.items.map((item) => toJson(item, problems, depth + 1));
    case 'string':
      return node.value.isWellFormed() ? node.value : refuse('expected well-formed Unicode');
    case 'integer':
    case 'float':
      // Not past 2^53: JSON readers do not agree on such numbers. NaN and infinities fail the comparison too.
      return Math.abs(node.value) <= Number.MAX_SAFE_INTEGER
        ? node.value
        : refuse('a number this large must be a string');
    case 'boolean':
      return node.value;
    case 'null':
      return null;
    case 'date':
      return refuse('write dates as strings, in quotes');
  }
}
