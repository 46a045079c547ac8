import type { Type } from 'avsc';
import type { AvroObject, AvroSchema } from './bridge.js';
import { typeOf } from './schema-files.js';

/**
 * What keeps `reader` from reading all that was written with `writer` (Avro's BACKWARD), and what this system asks beyond it: a name or the
 * place of a word in a list may not change, because that is what other languages' classes and stored bytes are made of. Empty: nothing.
 */
export function incompatibilities(reader: AvroSchema, writer: AvroSchema): readonly string[] {
  const found = limits(reader, writer);
  try {
    const type: Type = typeOf(reader);
    type.createResolver(typeOf(writer));
  } catch (error) {
    found.push(error instanceof Error ? error.message : String(error));
  }
  return found;
}

/** Avro resolves by name and with defaults, and avsc says nothing of these, which make older readers or stored values fail later. */
function limits(reader: AvroSchema, writer: AvroSchema): string[] {
  const [now, before] = [namedIn(reader), namedIn(writer)];
  const found: string[] = [];
  for (const [name, old] of before) {
    const kept = now.get(name);
    if (kept === undefined) {
      found.push(`${name} is gone or has another name`);
      continue;
    }
    const missing = (old.symbols ?? []).filter((symbol) => !(kept.symbols ?? []).includes(symbol));
    if (missing.length > 0) found.push(`${name} lost ${missing.join(', ')}`);
    for (const field of kept.fields ?? []) {
      const was = old.fields?.find((one) => one.name === field.name);
      if (was === undefined && field.default === undefined)
        found.push(`${name}.${field.name} is new and has no default`);
      if (was !== undefined && jsonForm(was) !== jsonForm(field))
        found.push(`${name}.${field.name} has another JSON form`);
    }
    if (jsonForm(old) !== jsonForm(kept)) found.push(`${name} has another JSON form`);
  }
  return found;
}

function jsonForm(part: {
  readonly json?: string;
  readonly jsonKind?: string;
  readonly jsonName?: string;
  readonly jsonAbsent?: boolean;
}): string {
  return JSON.stringify([part.json, part.jsonKind, part.jsonName, part.jsonAbsent]);
}

function namedIn(schema: AvroSchema, found = new Map<string, AvroObject>()): Map<string, AvroObject> {
  if (typeof schema === 'string') return found;
  if (Array.isArray(schema)) {
    for (const branch of schema as readonly AvroSchema[]) namedIn(branch, found);
    return found;
  }
  const { name, type, fields = [], items, values } = schema as AvroObject;
  if (name !== undefined) found.set(name, schema as AvroObject);
  for (const inner of [...fields.map((field) => field.type), type, items, values]) {
    if (inner !== undefined) namedIn(inner, found);
  }
  return found;
}
