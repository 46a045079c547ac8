import { parse, TomlError } from 'smol-toml';
import { type AST, parseTOML } from 'toml-eslint-parser';
import { type At, errorAt } from './errors.js';

/** A value with its place in the file. `text` of a number is as written, for exact decimals. */
export type Node =
  | TableNode
  | { kind: 'array'; at: At; items: Node[] }
  | { kind: 'string'; at: At; value: string }
  | { kind: 'integer' | 'float'; at: At; value: number; text: string }
  | { kind: 'boolean'; at: At; value: boolean }
  | { kind: 'null' | 'date'; at: At };

export type TableNode = { kind: 'table'; at: At; entries: Map<string, { at: At; node: Node }> };

/**
 * Parses TOML into nodes that know where they stand.
 * smol-toml judges the syntax (strict, clear messages); toml-eslint-parser gives the positions.
 * @throws ContractError `syntax`
 */
export function parseToml(text: string, file: string): TableNode {
  try {
    parse(text, { unsafeKeyBehaviour: 'throw' });
  } catch (cause) {
    if (!(cause instanceof TomlError)) throw cause;
    const what = cause.message.split('\n')[0]?.replace(/^Invalid TOML document: /, '') ?? '';
    throw errorAt(
      'syntax',
      { file, line: cause.line, column: cause.column },
      'TOML syntax error',
      `${what}; correct the line`,
      cause,
    );
  }
  const place = (node: { loc: AST.SourceLocation }): At => ({
    file,
    line: node.loc.start.line,
    column: node.loc.start.column + 1,
  });
  const [top] = parseTOML(text).body;
  const root: TableNode = { kind: 'table', at: { file, line: 1, column: 1 }, entries: new Map() };
  for (const item of top.body) {
    if (item.type === 'TOMLKeyValue') insert(root, item, place);
    else {
      const table = descend(root, item.resolvedKey, place(item));
      for (const pair of item.body) insert(table, pair, place);
    }
  }
  return root;
}

type Place = (node: { loc: AST.SourceLocation }) => At;

function insert(table: TableNode, pair: AST.TOMLKeyValue, place: Place): void {
  const names = pair.key.keys.map(nameOf);
  const last = names.pop();
  const key = pair.key.keys.at(-1);
  if (last === undefined || !key) return;
  const inner = descend(table, names, place(pair.key));
  inner.entries.set(last, { at: place(key), node: toNode(pair.value, place) });
}

/** Walks to the table at `path`, making what is not there yet; a number is an index of an array of tables. */
function descend(from: TableNode, path: (string | number)[], at: At): TableNode {
  let table = from;
  for (const [depth, step] of path.entries()) {
    if (typeof step === 'number') continue;
    const index = path[depth + 1];
    let entry = table.entries.get(step);
    if (!entry) {
      const node: Node = typeof index === 'number' ? { kind: 'array', at, items: [] } : emptyTable(at);
      entry = { at, node };
      table.entries.set(step, entry);
    }
    let next = entry.node;
    if (next.kind === 'array' && typeof index === 'number') {
      next.items[index] ??= emptyTable(at);
      next = next.items[index];
    }
    if (next.kind !== 'table') throw new Error(`not a table: ${step}`);
    table = next;
  }
  return table;
}

function emptyTable(at: At): TableNode {
  return { kind: 'table', at, entries: new Map() };
}

function nameOf(key: AST.TOMLBare | AST.TOMLQuoted): string {
  return key.type === 'TOMLBare' ? key.name : key.value;
}

function toNode(content: AST.TOMLContentNode, place: Place): Node {
  const at = place(content);
  switch (content.type) {
    case 'TOMLArray':
      return { kind: 'array', at, items: content.elements.map((element) => toNode(element, place)) };
    case 'TOMLInlineTable': {
      const table = emptyTable(at);
      for (const pair of content.body) insert(table, pair, place);
      return table;
    }
    case 'TOMLValue':
      switch (content.kind) {
        case 'string':
          return { kind: 'string', at, value: content.value };
        case 'integer':
        case 'float':
          return { kind: content.kind, at, value: content.value, text: content.number };
        case 'boolean':
          return { kind: 'boolean', at, value: content.value };
        default:
          return { kind: 'date', at };
      }
  }
}

/** Where the value at `path` stands, or the nearest thing around it that is in the file. */
export function locate(root: TableNode, ...path: (string | number)[]): At {
  let node: Node = root;
  for (const step of path) {
    const next: Node | undefined =
      node.kind === 'table'
        ? node.entries.get(String(step))?.node
        : node.kind === 'array'
          ? node.items[Number(step)]
          : undefined;
    if (!next) break;
    node = next;
  }
  return node.at;
}

/** A JSON value (a row of a cases file) as nodes that all stand at one place. */
export function jsonNode(value: unknown, at: At): Node {
  switch (typeof value) {
    case 'string':
      return { kind: 'string', at, value };
    case 'number':
      return { kind: Number.isInteger(value) ? 'integer' : 'float', at, value, text: String(value) };
    case 'boolean':
      return { kind: 'boolean', at, value };
    default:
      if (value === null || typeof value !== 'object') return { kind: 'null', at };
      if (Array.isArray(value)) return { kind: 'array', at, items: value.map((item) => jsonNode(item, at)) };
      return {
        kind: 'table',
        at,
        entries: new Map(Object.entries(value).map(([key, item]) => [key, { at, node: jsonNode(item, at) }])),
      };
  }
}
