import type { At, Problems } from './errors.js';
import { staysInside } from './files.js';
import { compileRegex } from './match.js';
import { nearest } from './table.js';
import { renderCase } from './template.js';
import { checkTemplates } from './template-rules.js';
import { locate, type TableNode } from './toml.js';
import type { Contract } from './types.js';

/** What must hold between the sections of a contract. Each breach is reported where it stands. */
export function checkRules(contract: Contract, root: TableNode, problems: Problems): void {
  checkDuplicates(contract, root, problems);
  checkPanel(contract, root, problems);
  checkProviders(contract, root, problems);
  checkProtected(contract, root, problems);
  checkTemplates(contract, root, problems);
  checkRendered(contract, root, problems);
}

function checkDuplicates(contract: Contract, root: TableNode, problems: Problems): void {
  const check = (what: string, names: string[], where: (index: number) => At) => {
    const seen = new Set<string>();
    for (const [index, name] of names.entries()) {
      if (seen.has(name))
        problems.add('duplicate', where(index), `${what} \`${name}\` is there twice`, 'give it another name');
      seen.add(name);
    }
  };
  const ids = (rows: { id: string }[]) => rows.map(({ id }) => id);
  check('the criterion id', ids(contract.criteria), (index) => locate(root, 'criteria', index, 'id'));
  check('the case id', ids(contract.cases), (index) => locate(root, 'cases', index, 'id'));
  const reviewers = contract.panel?.reviewers.map(({ name }) => name) ?? [];
  check('the reviewer', reviewers, (index) => locate(root, 'panel', 'reviewers', index, 'name'));
}

function checkPanel({ panel, criteria, learning }: Contract, root: TableNode, problems: Problems): void {
  if (panel) {
    const { quorum, reviewers } = panel;
    if (quorum <= reviewers.length) return;
    const what = `a quorum of ${quorum} from ${reviewers.length} reviewer${reviewers.length === 1 ? '' : 's'}`;
    problems.add('invalid', locate(root, 'panel', 'quorum'), what, 'lower `quorum` or add reviewers');
    return;
  }
  const advice = 'add [panel] with `quorum` and `reviewers`';
  for (const [index, { id, kind }] of criteria.entries()) {
    if (kind !== 'review') continue;
    problems.add(
      'no_panel',
      locate(root, 'criteria', index, 'kind'),
      `the review criterion \`${id}\` has no panel`,
      advice,
    );
  }
  if (learning?.gates.includes('panel')) {
    const without = `${advice}, or \`gates = ["verdict", "checks"]\``;
    problems.add('no_panel', locate(root, 'learning', 'gates'), 'the gate "panel" has no panel', without);
  }
}

function checkProviders({ agent, panel, learning, providers }: Contract, root: TableNode, problems: Problems): void {
  const names = Object.keys(providers);
  const check = (name: string, ...path: (string | number)[]) => {
    if (names.includes(name)) return;
    const near = nearest(name, names);
    const advice = near ? `did you mean \`${near}\`?` : `add [providers.${name}]`;
    problems.add('unknown_provider', locate(root, ...path), `unknown provider \`${name}\``, advice);
  };
  for (const [name, { file, record_from: from }] of Object.entries(providers)) {
    if (file !== null && !staysInside(file)) {
      const advice = "write its path relative to the contract's folder";
      problems.add('path', locate(root, 'providers', name, 'file'), `the recording \`${file}\` is elsewhere`, advice);
    }
    if (from === null) continue;
    check(from, 'providers', name, 'record_from');
    if (providers[from]?.kind !== 'replay') continue;
    const what = `\`${from}\` is a recording itself`;
    problems.add('invalid', locate(root, 'providers', name, 'record_from'), what, 'name a provider that is called');
  }
  if (agent.kind === 'llm') check(agent.provider, 'agent', 'provider');
  if (learning?.provider) check(learning.provider, 'learning', 'provider');
  for (const [index, reviewer] of (panel?.reviewers ?? []).entries()) {
    if ('provider' in reviewer) check(reviewer.provider, 'panel', 'reviewers', index, 'provider');
  }
}

function checkProtected({ workspace }: Contract, root: TableNode, problems: Problems): void {
  for (const [index, pattern] of workspace.protected.entries()) {
    if (staysInside(pattern) && !pattern.startsWith('!')) continue;
    const at = locate(root, 'workspace', 'protected', index);
    problems.add(
      'path',
      at,
      `the pattern \`${pattern}\` leaves the workspace`,
      'write it relative to the workspace, such as "test/**"',
    );
  }
}

/** What only shows with a case filled in: where files lie, and whether patterns compile. */
function checkRendered(contract: Contract, root: TableNode, problems: Problems): void {
  const checkFile = (file: string, of: string, ...path: (string | number)[]) => {
    if (staysInside(file) && !/(^|\/)\.?$/.test(file)) return;
    problems.add(
      'path',
      locate(root, ...path),
      `the file \`${file}\`${of} is not in the workspace`,
      'name a file, relative to it',
    );
  };
  const { agent } = contract;
  if (agent.kind === 'fixed') checkFile(agent.file, '', 'agent', 'answer');
  if (agent.kind === 'llm') checkFile(agent.answer_file, '', 'agent', 'answer');
  for (const row of contract.cases.length > 0 ? contract.cases : [null]) {
    const of = row ? ` (case \`${row.id}\`)` : '';
    for (const [index, criterion] of renderCase(contract, row).criteria.entries()) {
      if (criterion.kind !== 'match') continue;
      checkFile(criterion.file, of, 'criteria', index, 'file');
      if (!('regex' in criterion)) continue;
      try {
        compileRegex(criterion.regex);
      } catch (cause) {
        const reason = cause instanceof Error ? cause.message : String(cause);
        problems.add('invalid', locate(root, 'criteria', index, 'regex'), `bad \`regex\`${of}`, reason, cause);
      }
    }
  }
}
