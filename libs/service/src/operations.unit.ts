import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Variable, VARIABLES } from './config/variables.js';
import { createMetrics } from './observe/metrics.js';

const root = join(import.meta.dirname, '..', '..', '..');
const operations = readFileSync(join(root, 'docs', 'operations.md'), 'utf8');
const acls = JSON.parse(readFileSync(join(root, 'deploy', 'acls.json'), 'utf8')) as Record<
  string,
  { topic?: string; group?: string; operations: string[] }[]
>;

function variableRow([name, { meaning, otherwise, secret }]: [string, Variable]): string {
  const names = secret === true ? `\`${name}\`, \`${name}_FILE\`` : `\`${name}\``;
  return `| ${names} | ${meaning} | ${otherwise ?? '-'} |`;
}

const LETTERS: Readonly<Record<string, string>> = { READ: 'R', WRITE: 'W', DESCRIBE: 'D', DESCRIBE_CONFIGS: 'C' };

/** A row for each topic and group, a column for each principal. */
function aclRows(): string[] {
  const resources = new Map<string, string[]>();
  const principals = Object.values(acls);
  principals.forEach((rights, column) => {
    for (const { topic, group, operations: allowed } of rights) {
      const name = topic === undefined ? `group \`${group}\`` : `\`${topic}\``;
      const row = resources.get(name) ?? principals.map(() => '');
      row[column] = allowed.map((one) => LETTERS[one] ?? '?').join('');
      resources.set(name, row);
    }
  });
  return [...resources].map(([name, cells]) => `| ${[name, ...cells].join(' | ')} |`);
}

describe('docs/operations.md', () => {
  test('has every variable as the code reads it, and no other', () => {
    const rows = Object.entries(VARIABLES).map(variableRow);
    for (const row of rows) expect(operations).toContain(row);
    const named = new Set(operations.match(/TRUSS_[A-Z_]*[A-Z]/g));
    const known = new Set(Object.keys(VARIABLES).flatMap((name) => [name, `${name}_FILE`]));
    // Of other processes of this repository.
    const others = /^TRUSS_(STACK|DB|CONTEXT|EVENTS)/;
    expect([...named].filter((name) => !known.has(name) && !others.test(name))).toEqual([]);
  });

  test('has the rights of every principal as deploy/acls.json lists them', () => {
    expect(operations).toContain(`| topic or group | ${Object.keys(acls).join(' | ')} |`);
    for (const row of aclRows()) expect(operations).toContain(row);
  });

  test('speaks of every metric that a service has, and of no other', async () => {
    const text = await createMetrics({ now: () => 0, lag: () => ({ ledger: 0, consumers: [] }) }).text();
    const counted = new Set([...text.matchAll(/^# TYPE (truss_\w+)/gm)].map(([, name]) => name));
    const documented = new Set(operations.match(/truss_[a-z_]+[a-z]/g));
    expect([...documented].filter((name) => !counted.has(name.replace(/_(bucket|count|sum)$/, '')))).toEqual([]);
    expect([...counted].filter((name) => !documented.has(name ?? ''))).toEqual([]);
  });
});
