import { canonicalJson } from '#lib/ledger';
import type { Json } from './shapes.js';
import type { Agent, Case, Contract, Criterion, RenderedCase } from './types.js';

export type Root = 'inputs' | 'expected';

/** `{{ name }}` or `{{ root.key }}`. What has another form is text. */
const placeholder = /\{\{\s*([A-Za-z_][\w-]*)(?:\.([\w-]+))?\s*\}\}/g;

export type Placeholder = { written: string; root: string; key: string | null };

export function placeholders(template: string): Placeholder[] {
  return [...template.matchAll(placeholder)].map(([written, root = '', key]) => ({ written, root, key: key ?? null }));
}

/**
 * Fills in the case: `{{inputs.x}}` everywhere, `{{expected.x}}` in criteria only. A string is inserted as it is, any other value as
 * JSON; what was inserted is never looked at again. In `regex` a value stands for itself, not for a pattern. Every placeholder was
 * checked at load; one that is not of the case stays as text.
 */
export function renderCase(contract: Contract, row: Case | null): RenderedCase {
  const forAgent = (template: string) => fill(template, row, ['inputs'], asText);
  return {
    instructions: forAgent(contract.instructions),
    agent: renderAgent(contract.agent, forAgent),
    criteria: contract.criteria.map((criterion) => renderCriterion(criterion, row)),
  };
}

function renderAgent(agent: Agent, forAgent: (template: string) => string): Agent {
  return agent.kind === 'fixed' ? { ...agent, answer: forAgent(agent.answer) } : agent;
}

function renderCriterion(criterion: Criterion, row: Case | null): Criterion {
  const all = (template: string) => fill(template, row, ['inputs', 'expected'], asText);
  switch (criterion.kind) {
    case 'command':
      return { ...criterion, run: criterion.run.map(all) };
    case 'review':
      return { ...criterion, question: all(criterion.question) };
    case 'match': {
      const file = all(criterion.file);
      if ('equals' in criterion) return { ...criterion, file, equals: all(criterion.equals) };
      if ('regex' in criterion) {
        return { ...criterion, file, regex: fill(criterion.regex, row, ['inputs', 'expected'], asLiteral) };
      }
      return { ...criterion, file };
    }
  }
}

function fill(template: string, row: Case | null, roots: Root[], write: (value: Json) => string): string {
  return template.replace(placeholder, (written: string, name: string, key: string | undefined) => {
    const root = roots.find((one) => one === name);
    const values = root && row?.[root];
    const value = values && key !== undefined && Object.hasOwn(values, key) ? values[key] : undefined;
    return value === undefined ? written : write(value);
  });
}

function asText(value: Json): string {
  return typeof value === 'string' ? value : canonicalJson(value);
}

/** The value as a piece of a pattern that matches just it, inside a character class too. */
function asLiteral(value: Json): string {
  return asText(value).replace(
    /[\\^$.*+?()[\]{}|/&~!#%,:;<=>@`'"\s-]/g,
    (char) => `\\u{${char.charCodeAt(0).toString(16)}}`,
  );
}
