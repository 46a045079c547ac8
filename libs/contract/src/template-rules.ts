import type { Problems } from './errors.js';
import { nearest } from './table.js';
import { type Placeholder, placeholders, type Root } from './template.js';
import { locate, type TableNode } from './toml.js';
import type { Case, Contract } from './types.js';

type Site = { path: (string | number)[]; template: string; roots: Root[] };

/** Every text of a contract in which placeholders are filled, or could be expected to be (then `roots` is empty). */
function sites(contract: Contract): Site[] {
  const { agent, panel } = contract;
  const each = (roots: Root[], texts: string[], ...path: (string | number)[]) =>
    texts.map((template, index) => ({ path: [...path, index], template, roots }));
  const found: Site[] = [
    { path: ['title'], template: contract.title, roots: [] },
    { path: ['instructions'], template: contract.instructions, roots: ['inputs'] },
  ];
  if (agent.kind === 'fixed') found.push({ path: ['agent', 'answer_text'], template: agent.answer, roots: ['inputs'] });
  if (agent.kind === 'command') found.push(...each([], agent.command, 'agent', 'command'));
  for (const [index, reviewer] of (panel?.reviewers ?? []).entries()) {
    const path = ['panel', 'reviewers', index];
    found.push({ path: [...path, 'instructions'], template: reviewer.instructions ?? '', roots: [] });
    if ('command' in reviewer) found.push(...each([], reviewer.command, ...path, 'command'));
  }
  const both: Root[] = ['inputs', 'expected'];
  for (const [index, criterion] of contract.criteria.entries()) {
    if (criterion.kind === 'command') found.push(...each(both, criterion.run, 'criteria', index, 'run'));
    for (const key of ['question', 'file', 'equals', 'regex'] as const) {
      const template = key in criterion ? Reflect.get(criterion, key) : undefined;
      if (typeof template === 'string') found.push({ path: ['criteria', index, key], template, roots: both });
    }
  }
  return found;
}

export function checkTemplates(contract: Contract, root: TableNode, problems: Problems): void {
  for (const site of sites(contract)) {
    for (const placeholder of placeholders(site.template)) {
      const fault = faultOf(placeholder, site.roots, contract.cases);
      if (fault) problems.add('template', locate(root, ...site.path), `the placeholder ${placeholder.written}`, fault);
    }
  }
}

/** `null` when the placeholder is filled for every case, or is no placeholder of ours, such as another tool's `{{ matrix.os }}`. */
function faultOf({ root, key, written }: Placeholder, roots: Root[], cases: Case[]): string | null {
  const [first] = cases;
  if (key === null) {
    const known = first && (['inputs', 'expected'] as const).find((name) => Object.hasOwn(first[name], root));
    if (known) return `did you mean {{${known}.${root}}}?`;
    return root === 'inputs' || root === 'expected' ? `say which value, such as {{${root}.name}}` : null;
  }
  if (root !== 'inputs' && root !== 'expected') {
    const near = nearest(root, ['inputs', 'expected']);
    return near ? `did you mean {{${near}.${key}}}?` : null;
  }
  if (roots.length === 0) return 'nothing is filled in here; use it in the instructions or in criteria';
  if (!roots.includes(root)) return 'expected values are for criteria only: the agent must not see them';
  if (!first) return 'the contract has no cases; add [[cases]] or `cases_file`';
  const without = cases.find((row) => !Object.hasOwn(row[root], key));
  if (!without) return null;
  const near = nearest(key, Object.keys(without[root]));
  const advice = near ? `did you mean ${written.replace(key, near)}?` : `add it to \`${root}\` of the case`;
  return `the case \`${without.id}\` has no such value; ${advice}`;
}
