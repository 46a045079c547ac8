import { posix } from 'node:path';
import type { Problems } from './errors.js';
import * as sections from './sections.js';
import { identifier, listOf, text } from './shapes.js';
import { Table } from './table.js';
import { locate, type TableNode } from './toml.js';
import type { Contract } from './types.js';

/** What the file says by itself; the workspace and the programs are not looked at yet. */
export type Draft = { contract: Contract; casesFile: string | null; workspacePath: string | null };

export function readSections(root: TableNode, problems: Problems): Draft {
  const top = new Table(root, 'the contract', problems);
  const id = top.need('id', identifier);
  const one = <T>(key: string, read: (table: Table) => T): T | null => {
    const [found] = top.tables(key, false).map((table) => closed(table, read));
    return found ?? null;
  };
  const empty = (name: string) => new Table({ ...root, entries: new Map() }, name, problems);
  const title = top.get('title', text, id);
  const instructions = top.need('instructions', text);
  const workspace = one('workspace', (table) => ({
    path: table.get('path', text, null),
    protected: table.get('protected', listOf(text, 'patterns, such as "test/**"'), []),
  }));
  const agent = one('agent', sections.readAgent);
  const criteria = top.tables('criteria', true).map((table) => closed(table, sections.readCriterion));
  const panel = one('panel', sections.readPanel);
  const budget = one('budget', sections.readBudget);
  const providers = one('providers', (table) =>
    Object.fromEntries(
      [...table.node.entries.keys()].flatMap((name) =>
        table.tables(name, false, `[providers.${name}]`).map((inner) => [name, closed(inner, sections.readProvider)]),
      ),
    ),
  );
  const learning = one('learning', (table) => sections.readLearning(table, id));
  const evaluation = one('evaluation', sections.readEvaluation);
  const casesFile = top.get('cases_file', text, null);
  if (casesFile !== null && top.has('cases')) {
    problems.add('invalid', locate(root, 'cases_file'), 'both `cases_file` and [[cases]]', 'keep one of the two');
  }
  const cases = readCases(top);
  if (!agent) problems.add('missing', root.at, 'no agent', 'add [agent] with `kind`');
  if (!top.has('criteria'))
    problems.add('missing', root.at, 'no criteria', 'add at least one [[criteria]] with `id` and `kind`');
  else if (criteria.length === 0) {
    problems.add(
      'invalid',
      locate(root, 'criteria'),
      'no criteria',
      'add at least one [[criteria]] with `id` and `kind`',
    );
  }
  if (!budget)
    problems.add('missing', root.at, 'no budget', 'add [budget] with at least one limit, such as `timeout = "10m"`');
  top.close();
  const contract: Contract = {
    id,
    title,
    instructions,
    workspace: {
      digest: null,
      files: 0,
      bytes: 0,
      protected: (workspace?.protected ?? []).map((pattern) => posix.normalize(pattern).replace(/\/$/, '')),
    },
    agent: agent ?? { kind: 'command', command: [] },
    criteria,
    panel,
    budget: budget ?? sections.readBudget(empty('[budget]')),
    providers: withRecorded(providers ?? {}),
    learning,
    cases,
    evaluation: evaluation ?? sections.readEvaluation(empty('[evaluation]')),
    programs: [],
  };
  return { contract, casesFile, workspacePath: workspace?.path ?? null };
}

/** A replay that records asks for the same model in the same way as the provider that it records, unless it says otherwise. */
function withRecorded(providers: Contract['providers']): Contract['providers'] {
  const resolved = Object.entries(providers).map(([name, provider]) => {
    const from = provider.record_from === null ? undefined : providers[provider.record_from];
    if (from === undefined) return [name, provider] as const;
    const model = provider.model ?? from.model;
    const temperature = provider.temperature ?? from.temperature;
    return [name, { ...provider, model, temperature, price: provider.price ?? from.price }] as const;
  });
  return Object.fromEntries(resolved);
}

function closed<T>(table: Table, read: (table: Table) => T): T {
  const value = read(table);
  table.close();
  return value;
}

export function readCases(top: Table): Contract['cases'] {
  return top.tables('cases', true).map((table) => closed(table, sections.readCase));
}
