import type { z } from 'zod';

export type Fits = (value: unknown) => boolean;

/**
 * A test made from a schema: true only for what the schema accepts and gives back as it is. It says nothing of why, and takes a fifth of the time, which
 * counts where every entry of a log is read; whoever needs a reason asks the schema. For what it does not know of zod the schema itself is asked.
 */
export function fitsOf(schema: z.core.$ZodType): Fits {
  const def = (schema as z.core.$ZodTypes)._zod.def;
  const checks = checksOf(def.checks ?? []);
  if (checks === null) return bySchema(schema);
  switch (def.type) {
    case 'string':
      return both((value) => typeof value === 'string', checks);
    case 'number': {
      const isInt = 'format' in def && def.format === 'safeint';
      if ('format' in def && !isInt) return bySchema(schema);
      return both(isInt ? Number.isSafeInteger : Number.isFinite, checks);
    }
    case 'boolean':
      return both((value) => typeof value === 'boolean', checks);
    case 'literal':
      return both(oneOf(def.values), checks);
    case 'enum':
      return both(oneOf(Object.values(def.entries)), checks);
    case 'optional': {
      // Asked of an object's field only, which is not there or fits.
      const inner = fitsOf(def.innerType);
      return both((value) => value === undefined || inner(value), checks);
    }
    case 'nullable': {
      const inner = fitsOf(def.innerType);
      return both((value) => value === null || inner(value), checks);
    }
    case 'array': {
      const element = fitsOf(def.element);
      return both((value) => Array.isArray(value) && every(value, element), checks);
    }
    case 'union': {
      const options = def.options.map(fitsOf);
      return both((value) => options.some((fits) => fits(value)), checks);
    }
    case 'object':
      return def.catchall?._zod.def.type === 'never' ? both(objectOf(def.shape), checks) : bySchema(schema);
    case 'pipe':
      // Our transforms only give a text its brand.
      return def.out._zod.def.type === 'transform' ? both(fitsOf(def.in), checks) : bySchema(schema);
    default:
      return bySchema(schema);
  }
}

function bySchema(schema: z.core.$ZodType): Fits {
  const asked = schema as z.ZodType;
  return (value) => asked.safeParse(value).success;
}

function both(fits: Fits, checks: readonly Fits[]): Fits {
  const [check, ...others] = checks;
  if (check === undefined) return fits;
  if (others.length === 0) return (value) => fits(value) && check(value);
  return (value) => fits(value) && checks.every((one) => one(value));
}

/** Tests of what has its type already; `null` where one is not known. */
function checksOf(checks: readonly z.core.$ZodCheck<never>[]): Fits[] | null {
  const tests: Fits[] = [];
  for (const check of checks) {
    const test = checkOf((check as z.core.$ZodChecks)._zod.def);
    if (test === null) return null;
    tests.push(test);
  }
  return tests;
}

function checkOf(def: z.core.$ZodChecks['_zod']['def']): Fits | null {
  if (def.check === 'string_format' && 'pattern' in def && def.pattern instanceof RegExp && def.format === 'regex') {
    const { pattern } = def;
    return pattern.global || pattern.sticky ? null : (value) => pattern.test(value as string);
  }
  if (def.check === 'greater_than' && typeof def.value === 'number' && def.inclusive) {
    const { value: least } = def;
    return (value) => (value as number) >= least;
  }
  if (def.check === 'min_length') {
    const { minimum } = def;
    return (value) => (value as { readonly length: number }).length >= minimum;
  }
  return null;
}

function oneOf(values: readonly unknown[]): Fits {
  const [only] = values;
  return values.length === 1 ? (value) => value === only : (value) => values.includes(value);
}

function every(items: readonly unknown[], fits: Fits): boolean {
  for (let index = 0; index < items.length; index++) if (!fits(items[index])) return false;
  return true;
}

function objectOf(shape: Readonly<Record<string, z.core.$ZodType>>): Fits {
  const names = Object.keys(shape);
  const tests = names.map((name) => fitsOf(shape[name] as z.core.$ZodType));
  return (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
    const object = value as Readonly<Record<string, unknown>>;
    let present = 0;
    for (let index = 0; index < names.length; index++) {
      const name = names[index] as string;
      const item = object[name];
      if (!(tests[index] as Fits)(item)) return false;
      if (item !== undefined) present++;
    }
    return Object.keys(object).length === present;
  };
}
