import type { At, Problems } from './errors.js';
import type { Node, TableNode } from './toml.js';

/** How one value is read: a fault is reported and `zero` stands in, so that reading goes on. */
export type Shape<T> = { zero: T; read: (node: Node, problems: Problems) => T };

const secret = /(^|[_-])(api_?key|key|token|secret|password|credentials?)$/i;

/** Reads a table key by key, and at the end refuses the keys that nobody asked for. */
export class Table {
  readonly #asked = new Set<string>();

  /** `name` as messages say it, such as `[budget]`. */
  constructor(
    readonly node: TableNode,
    readonly name: string,
    readonly problems: Problems,
  ) {}

  need<T>(key: string, shape: Shape<T>, advice = `add \`${key} = …\``): T {
    if (!this.has(key)) this.problems.add('missing', this.node.at, `no \`${key}\` in ${this.name}`, advice);
    return this.get(key, shape, shape.zero);
  }

  get<T, D>(key: string, shape: Shape<T>, fallback: D): T | D {
    this.#asked.add(key);
    const entry = this.node.entries.get(key);
    return entry ? shape.read(entry.node, this.problems) : fallback;
  }

  has(key: string): boolean {
    return this.node.entries.has(key);
  }

  /** The tables below a key: `[key]` (one), `[[key]]` (each), none when absent. */
  tables(key: string, many: boolean, label = many ? `[[${key}]]` : `[${key}]`): Table[] {
    this.#asked.add(key);
    const entry = this.node.entries.get(key);
    if (!entry) return [];
    const { node } = entry;
    const nodes = many && node.kind === 'array' ? node.items : [node];
    return nodes.flatMap((item) => {
      if (item.kind === 'table' && (node.kind === 'array') === many) return [new Table(item, label, this.problems)];
      this.problems.add(
        'invalid',
        item.at,
        `\`${key}\` is not ${many ? 'a list of tables' : 'a table'}`,
        `write it as ${label}`,
      );
      return [];
    });
  }

  close(): void {
    for (const [key, { at }] of this.node.entries) if (!this.#asked.has(key)) this.#refuse(key, at);
  }

  #refuse(key: string, at: At): void {
    const near = nearest(key, [...this.#asked]);
    if (!near && secret.test(key)) {
      const advice =
        'keys are never written in a contract; put it in an environment variable and name that with `api_key_env`';
      this.problems.add('secret_in_file', at, `a secret (\`${key}\`) in the file`, advice);
      return;
    }
    const advice = near
      ? `did you mean \`${near}\`?`
      : `${this.name} takes ${[...this.#asked].map((k) => `\`${k}\``).join(', ')}`;
    this.problems.add('unknown_key', at, `unknown key \`${key}\``, advice);
  }
}

/** The nearest of `names` by edit distance, if near enough to be a slip of the pen. */
export function nearest(word: string, names: string[]): string | null {
  const limit = Math.max(2, Math.floor(word.length / 3));
  const [best] = names
    .map((name) => ({ name, distance: editDistance(word.toLowerCase(), name.toLowerCase()) }))
    .toSorted((a, b) => a.distance - b.distance);
  return best && best.distance <= limit && best.distance < word.length ? best.name : null;
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (const [i, ca] of Array.from(a).entries()) {
    const next = [i + 1];
    for (const [j, cb] of Array.from(b).entries()) {
      const swap = (row[j] ?? 0) + (ca === cb ? 0 : 1);
      next.push(Math.min(swap, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
