import type { ActionPorts } from './actions.js';

type Secrets = ActionPorts['secrets'];

/** Anything shorter is no key but a word such as "none", which text may well contain. */
const MIN_LENGTH = 16;

/** Takes the values of keys, as they are and as a URL writes them, out of text. */
export type Redact = (text: string) => string;

/** Where there is no secret, nothing is searched for one. */
const unchanged: Redact = (text) => text;

export function redactorOf(secrets: Secrets): Redact {
  const forms = secrets
    .filter(({ value }) => value.length >= MIN_LENGTH)
    .flatMap(({ name, value }) =>
      [...new Set([value, encodeURIComponent(value)])].map((form) => [form, `[redacted ${name}]`] as const),
    );
  if (forms.length === 0) return unchanged;
  return (text) => forms.reduce((clean, [form, mark]) => clean.replaceAll(form, mark), text);
}

/** Bytes that hold no secret come back as they are, whatever they are. */
export function redactBytes(bytes: Buffer, redact: Redact): Buffer {
  const text = bytes.toString('latin1');
  const clean = redact(text);
  return clean === text ? bytes : Buffer.from(clean, 'latin1');
}

/** The same value with every text in it redacted, names of keys included. */
export function redactAll<T>(value: T, redact: Redact): T {
  return redact === unchanged ? value : (walk(value, redact) as T);
}

function walk(value: unknown, redact: Redact): unknown {
  if (typeof value === 'string') return redact(value);
  if (Array.isArray(value)) return value.map((item: unknown) => walk(item, redact));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [redact(key), walk(item, redact)]));
}
