import type { Type } from 'avsc';
import { SchemaError } from './errors.js';

/** How long an id stays unknown: somebody may register it, and until then nobody asks. */
const UNKNOWN_MS = 30_000;
/** Ids are a claim of whoever writes a record: what is remembered of them is bounded. */
const MOST_UNKNOWN = 10_000;

/**
 * Asks at most once for each id: calls for one that is being asked for share the answer, and an id that the registry does not know, or whose
 * schema is of no use, is remembered for a while. An id about which nobody could be asked is asked for again.
 * @param now milliseconds of a clock that does not go back
 */
export function createLookUp(ask: (id: number) => Promise<Type>, now: () => number): (id: number) => Promise<Type> {
  const asking = new Map<number, Promise<Type>>();
  const unknown = new Map<number, { readonly error: SchemaError; readonly until: number }>();

  async function fresh(id: number): Promise<Type> {
    try {
      return await ask(id);
    } catch (error) {
      if (error instanceof SchemaError && !error.retryable) {
        if (unknown.size >= MOST_UNKNOWN) for (const oldest of [...unknown.keys()].slice(0, 1)) unknown.delete(oldest);
        unknown.set(id, { error, until: now() + UNKNOWN_MS });
      }
      throw error;
    } finally {
      asking.delete(id);
    }
  }

  return async (id) => {
    const refused = unknown.get(id);
    if (refused !== undefined) {
      if (now() < refused.until) throw refused.error;
      unknown.delete(id);
    }
    const known = asking.get(id) ?? fresh(id);
    asking.set(id, known);
    return known;
  };
}
