import type { EvalRunId } from '#lib/ledger';
import { type NextViews, type ViewDifference, ViewsError } from '../port.js';
import * as scripts from './scripts.js';
import type { ViewStore } from './store.js';

const PAGE = 100;

/** All rows of one evaluation in one version: its hashes, each as field, value, field, value. */
type Whole = readonly [evaluation: readonly string[], ledger: readonly string[], lesson: readonly string[]];

export async function createNext(store: ViewStore, version: string): Promise<NextViews> {
  for (const left of (await store.run(scripts.BEGIN, [version])) as string[]) await forget(store, left);
  return {
    version,
    async write(change) {
      const answer = await store.write(change, version);
      if (answer === 'displaced') throw displaced();
      return answer;
    },
    async *differences() {
      const built = new Set<EvalRunId>();
      for await (const evaluation of names(store, version)) {
        built.add(evaluation);
        const [live, next] = (await store.run(scripts.BOTH, [version, evaluation])) as [Whole, Whole];
        yield* compared(evaluation, live, next);
      }
      for await (const evaluation of names(store, '')) if (!built.has(evaluation)) yield { kind: 'extra', evaluation };
    },
    async show() {
      const before = (await store.run(scripts.SHOW, [version])) as string | null;
      if (before === null) throw displaced();
      await forget(store, before);
    },
    async discard() {
      await store.run(scripts.DISCARD, [version]);
      await forget(store, version);
    },
  };
}

function displaced(): ViewsError {
  return new ViewsError('rebuild_displaced', 'another rebuild began after this one: let that one finish');
}

async function forget(store: ViewStore, version: string): Promise<void> {
  let left: number;
  do left = (await store.run(scripts.FORGET, [version, PAGE])) as number;
  while (left > 0);
}

async function* names(store: ViewStore, version: string): AsyncGenerator<EvalRunId> {
  for (let first = 0; ; first += PAGE) {
    const page = (await store.run(scripts.NAMES, [version, first, first + PAGE - 1])) as EvalRunId[];
    yield* page;
    if (page.length < PAGE) return;
  }
}

function* compared(evaluation: EvalRunId, live: Whole, next: Whole): Generator<ViewDifference> {
  const [seen, built] = [live, next].map(([first]) => fieldsOf(first).get('position'));
  if (seen === undefined) yield { kind: 'missing', evaluation };
  else if (seen !== built) yield { kind: 'position', evaluation };
  else {
    for (const [at, hash] of (['evaluation', 'ledger', 'lesson'] as const).entries()) {
      const [before, after] = [fieldsOf(live[at] ?? []), fieldsOf(next[at] ?? [])];
      for (const field of new Set([...before.keys(), ...after.keys()])) {
        if (before.get(field) === after.get(field)) continue;
        if (hash !== 'evaluation') yield { kind: 'differs', evaluation, view: hash, key: field };
        else yield { kind: 'differs', evaluation, view: field === 'report' ? 'report' : 'evaluation', key: '' };
      }
    }
  }
}

function fieldsOf(flat: readonly string[]): Map<string, string> {
  const fields = new Map<string, string>();
  for (let at = 0; at + 1 < flat.length; at += 2) fields.set(flat[at] as string, flat[at + 1] as string);
  return fields;
}
