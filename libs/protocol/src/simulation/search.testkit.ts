import { Violation } from './referee.testkit.js';

/** A small world with every choice open: what may happen next, and what must hold where nothing is left to happen. */
export interface Model<S> {
  readonly initial: S;
  /** Equal for states that nothing can tell apart. */
  key(state: S): string;
  next(state: S): Iterable<readonly [what: string, state: S]>;
  /** True where everything that was asked for is finished; throws where it ended wrongly. @throws Violation */
  isEnd(state: S): boolean;
  /** True where the bounds of the model, and not the protocol, stopped it. */
  isCut(state: S): boolean;
}

export interface Searched {
  readonly states: number;
  readonly transitions: number;
  readonly ends: number;
  readonly complete: boolean;
  readonly violation: Violation | null;
  /** What happened on the shortest way to the violation. */
  readonly path: readonly string[];
}

interface Seen {
  readonly from: number;
  readonly what: string;
}

/** Breadth-first through every state; at the end each state must have a way to an end of the protocol. */
export function search<S>(model: Model<S>, maxStates: number): Searched {
  const ids = new Map<string, number>();
  const seen: Seen[] = [];
  const before: number[][] = [];
  const good: number[] = [];
  let frontier: { readonly id: number; readonly state: S }[] = [];
  let transitions = 0;
  let ends = 0;

  const visit = (state: S, from: number, what: string, into: typeof frontier): void => {
    const key = model.key(state);
    const known = ids.get(key);
    if (known !== undefined) {
      before[known]?.push(from);
      return;
    }
    const id = seen.length;
    ids.set(key, id);
    seen.push({ from, what });
    before.push(from < 0 ? [] : [from]);
    into.push({ id, state });
  };
  const result = (violation: Violation | null, at: number, complete: boolean): Searched => {
    const path: string[] = [];
    for (let id = at; id > 0; id = seen[id]?.from ?? 0) path.unshift(seen[id]?.what ?? '');
    return { states: seen.length, transitions, ends, complete, violation, path };
  };

  visit(model.initial, -1, '', frontier);
  while (frontier.length > 0) {
    const following: typeof frontier = [];
    for (const { id, state } of frontier) {
      let what = '';
      try {
        if (model.isEnd(state)) {
          ends++;
          good.push(id);
        } else if (model.isCut(state)) good.push(id);
        for (const step of model.next(state)) {
          what = step[0];
          transitions++;
          visit(step[1], id, what, following);
        }
      } catch (error) {
        const violation =
          error instanceof Violation ? error : new Violation('core_threw', String(error), { cause: error });
        const { path, ...rest } = result(violation, id, false);
        return { ...rest, path: [...path, `then, after ${what}: ${violation.message}`] };
      }
    }
    if (seen.length > maxStates) return result(null, 0, false);
    frontier = following;
  }
  const stuck = withoutWayTo(good, before);
  return stuck === null
    ? result(null, 0, true)
    : result(new Violation('never_ends', 'no end can be reached from here'), stuck, true);
}

function withoutWayTo(good: readonly number[], before: readonly (readonly number[])[]): number | null {
  const reaches = new Uint8Array(before.length);
  const queue = [...good];
  for (const id of queue) reaches[id] = 1;
  for (let id = queue.pop(); id !== undefined; id = queue.pop()) {
    for (const from of before[id] ?? []) {
      if (reaches[from] === 1) continue;
      reaches[from] = 1;
      queue.push(from);
    }
  }
  const stuck = reaches.indexOf(0);
  return stuck < 0 ? null : stuck;
}
