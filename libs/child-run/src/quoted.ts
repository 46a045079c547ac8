import { quotedJson } from '#lib/lessons';

/** What a model is shown of a run: the JSON text of it takes no more bytes than this in a request, escapes included. */
export const MAX_DATA_BYTES = 32 * 1024;
const MAX_ITEMS = 256;

/**
 * Data between two fixed lines, which nothing in it can write: it is one line of JSON without `<` and `>`. Whatever is too long is cut, and says so.
 */
export function delimited(name: string, value: unknown): string {
  return `<${name}>\n${fitted(value)}\n</${name}>`;
}

function fitted(value: unknown): string {
  for (let size = MAX_DATA_BYTES; ; size = Math.floor(size / 2)) {
    const text = quotedJson(cut(value, size, Math.min(MAX_ITEMS, size)));
    if (Buffer.byteLength(JSON.stringify(text)) <= MAX_DATA_BYTES) return text;
  }
}

function cut(value: unknown, characters: number, items: number): unknown {
  if (typeof value === 'string') {
    const rest = value.length - characters;
    return rest <= 0 ? value : `${value.slice(0, characters).toWellFormed()} [${rest} more characters]`;
  }
  if (Array.isArray(value)) {
    const rest = value.length - items;
    const shown = value.slice(0, items).map((item: unknown) => cut(item, characters, items));
    return rest <= 0 ? shown : [...shown, `[${rest} more]`];
  }
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, cut(item, characters, items)]));
}
