import { canonicalJson, type EvalRunId, type JsonObject } from '#lib/ledger';
import {
  type NextViews,
  VIEWS_FORMAT,
  type ViewChange,
  type ViewDifference,
  type ViewName,
  type Views,
  ViewsError,
  type WriteAnswer,
} from './port.js';
import { type EvaluationRow, type LedgerRow, type LessonRow } from './rows.js';

interface Held {
  position: number;
  started: number;
  /** JSON by view and key. */
  readonly rows: Map<string, string>;
}
type Version = Map<EvalRunId, Held>;

/** Views that end with the process: what the port says, in as few words as can be. */
export class MemoryViews implements Views {
  #live: Version = new Map();
  #version = '0';
  #building: { readonly name: string; readonly rows: Version } | null = null;
  #names = 0;
  /** While set, every call fails with it. */
  broken: ViewsError | null = null;

  /** As a store that came back empty. */
  empty(): void {
    this.#live = new Map();
  }

  async write(change: ViewChange): Promise<WriteAnswer> {
    this.#check();
    const answer = put(this.#live, change);
    const next = this.#building === null ? answer : put(this.#building.rows, change);
    return next === 'gap' ? 'gap' : answer;
  }

  async list({ after, limit = 100 }: { after?: EvalRunId; limit?: number } = {}): Promise<EvaluationRow[]> {
    this.#check();
    const order = [...this.#live].toSorted(
      ([a, { started: x }], [b, { started: y }]) => y - x || (a < b ? 1 : a > b ? -1 : 0),
    );
    const from = after === undefined ? 0 : order.findIndex(([id]) => id === after) + 1;
    if (after !== undefined && from === 0) return [];
    return order.slice(from, from + limit).map(([, held]) => JSON.parse(held.rows.get('evaluation ') ?? 'null'));
  }
  async evaluation(evaluation: EvalRunId): Promise<EvaluationRow | null> {
    return (await this.#rows<EvaluationRow>(evaluation, 'evaluation'))[0] ?? null;
  }
  async report(evaluation: EvalRunId): Promise<JsonObject | null> {
    return (await this.#rows<JsonObject>(evaluation, 'report'))[0] ?? null;
  }
  ledgers(evaluation: EvalRunId): Promise<LedgerRow[]> {
    return this.#rows<LedgerRow>(evaluation, 'ledger');
  }
  lessons(evaluation: EvalRunId): Promise<LessonRow[]> {
    return this.#rows<LessonRow>(evaluation, 'lesson');
  }
  async status() {
    this.#check();
    const building = this.#building?.name ?? null;
    return { format: VIEWS_FORMAT, version: this.#version, evaluations: this.#live.size, building };
  }

  async next(): Promise<NextViews> {
    this.#check();
    const mine = { name: `memory-${++this.#names}`, rows: new Map() as Version };
    this.#building = mine;
    const live = () => this.#live;
    const check = () => {
      this.#check();
      if (this.#building !== mine) throw new ViewsError('rebuild_displaced', 'another rebuild began');
    };
    return {
      version: mine.name,
      write: async (change) => {
        check();
        return put(mine.rows, change);
      },
      async *differences() {
        for (const [evaluation, next] of mine.rows) yield* compared(evaluation, live().get(evaluation), next);
        for (const evaluation of live().keys()) {
          if (!mine.rows.has(evaluation)) yield { kind: 'extra', evaluation };
        }
      },
      show: async () => {
        check();
        this.#live = mine.rows;
        this.#version = mine.name;
        this.#building = null;
      },
      discard: async () => {
        if (this.#building === mine) this.#building = null;
      },
    };
  }

  async #rows<T>(evaluation: EvalRunId, view: ViewName): Promise<T[]> {
    this.#check();
    const held = this.#live.get(evaluation)?.rows ?? new Map<string, string>();
    const keys = [...held.keys()].filter((key) => key.startsWith(`${view} `)).toSorted();
    return keys.map((key) => JSON.parse(held.get(key) as string));
  }

  #check(): void {
    if (this.broken !== null) throw this.broken;
  }
}

function put(version: Version, { evaluation, base, position, started, rows }: ViewChange): WriteAnswer {
  const held = version.get(evaluation) ?? { position: -1, started, rows: new Map() };
  if (base !== null && held.position < base) return 'gap';
  if (held.position >= position) return 'stale';
  held.position = position;
  for (const { view, key, row } of rows) held.rows.set(`${view} ${key}`, canonicalJson(row));
  version.set(evaluation, held);
  return 'written';
}

function* compared(evaluation: EvalRunId, live: Held | undefined, next: Held): Generator<ViewDifference> {
  if (live === undefined) yield { kind: 'missing', evaluation };
  else if (live.position !== next.position) yield { kind: 'position', evaluation };
  else {
    for (const name of new Set([...live.rows.keys(), ...next.rows.keys()])) {
      if (live.rows.get(name) === next.rows.get(name)) continue;
      const [view = '', key = ''] = name.split(' ');
      yield { kind: 'differs', evaluation, view: view as ViewName, key };
    }
  }
}
