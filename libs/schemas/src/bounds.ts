import type { types, Type } from 'avsc';

/** Moves past one value and answers where the next begins. Throws RangeError where the bytes cannot hold it. */
type Step = (bytes: Uint8Array, at: number) => number;

/**
 * Checks that the bytes can hold what their lengths and counts claim. avsc checks that only after it has read all, so a few bytes that claim
 * an array of 2^40 would keep it busy for ever.
 */
export function boundsOf(type: Type): (bytes: Uint8Array, at: number) => void {
  const step = stepOf(type, new Map());
  return (bytes, at) => void step(bytes, at);
}

function stepOf(type: Type, known: Map<Type, Step>): Step {
  const before = known.get(type);
  if (before !== undefined) return before;
  // A type may hold itself.
  let step: Step = () => 0;
  known.set(type, (bytes, at) => step(bytes, at));
  step = makeStep(type, known);
  known.set(type, step);
  return step;
}

function makeStep(type: Type, known: Map<Type, Step>): Step {
  switch (type.typeName) {
    case 'null':
      return (_, at) => at;
    case 'boolean':
      return fixed(1);
    case 'float':
      return fixed(4);
    case 'double':
      return fixed(8);
    case 'fixed':
      return fixed((type as types.FixedType).size);
    case 'int':
    case 'long':
    case 'enum':
      return (bytes, at) => varint(bytes, at).next;
    case 'bytes':
    case 'string':
      return skipBytes;
    case 'array':
      return blocks(stepOf((type as types.ArrayType).itemsType, known));
    case 'map': {
      const value = stepOf((type as types.MapType).valuesType as Type, known);
      return blocks((bytes, at) => value(bytes, skipBytes(bytes, at)));
    }
    case 'union:wrapped':
    case 'union:unwrapped': {
      const branches = (type as types.WrappedUnionType).types.map((branch) => stepOf(branch, known));
      return (bytes, at) => {
        const { value, next } = varint(bytes, at);
        const branch = branches[value];
        if (branch === undefined) throw new RangeError(`a union has no branch ${value}`);
        return branch(bytes, next);
      };
    }
    case 'record':
    case 'error': {
      const fields = (type as types.RecordType).fields.map((field) => stepOf(field.type, known));
      return (bytes, at) => fields.reduce((next, field) => field(bytes, next), at);
    }
    default:
      if (type.typeName.startsWith('logical:')) return stepOf((type as types.LogicalType).underlyingType, known);
      throw new RangeError(`the Avro type ${type.typeName} is not known here`);
  }
}

function fixed(size: number): Step {
  return (bytes, at) => within(bytes, at + size);
}

function skipBytes(bytes: Uint8Array, at: number): number {
  const { value, next } = varint(bytes, at);
  if (value < 0) throw new RangeError('a length is negative');
  return within(bytes, next + value);
}

function blocks(item: Step): Step {
  return (bytes, start) => {
    let at = start;
    for (;;) {
      const { value, next } = varint(bytes, at);
      at = next;
      if (value === 0) return at;
      // A negative count is followed by the size of the block.
      const size = value < 0 ? varint(bytes, at) : null;
      at = size?.next ?? at;
      const end = size === null ? null : at + size.value;
      const count = Math.abs(value);
      // No item of ours is shorter than a byte.
      if (count > bytes.length - at) throw new RangeError(`${bytes.length - at} bytes hold no ${count} items`);
      for (let left = count; left > 0; left--) at = item(bytes, at);
      if (end !== null && end !== at) throw new RangeError('a block is not as long as it says');
    }
  };
}

function within(bytes: Uint8Array, at: number): number {
  if (at > bytes.length) throw new RangeError('the value is cut off');
  return at;
}

function varint(bytes: Uint8Array, start: number): { readonly value: number; readonly next: number } {
  let zigzag = 0;
  let scale = 1;
  for (let at = start; at < start + 10; at++) {
    const byte = bytes[at];
    if (byte === undefined) throw new RangeError('the value is cut off');
    zigzag += (byte & 0x7f) * scale;
    scale *= 128;
    if (byte < 128) return { value: zigzag % 2 === 0 ? zigzag / 2 : -(zigzag + 1) / 2, next: at + 1 };
  }
  throw new RangeError('a number has more than ten bytes');
}
